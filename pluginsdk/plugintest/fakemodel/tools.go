package fakemodel

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
)

// A Role is what a script wants of a tool.
type Role string

// The roles.
const (
	RoleShell Role = "shell" // runs a command
	RoleEdit  Role = "edit"  // writes a file
	RolePlan  Role = "plan"  // keeps a plan or a list of things to do
	RoleAgent Role = "agent" // starts a sub-agent
	RoleNamed Role = "named" // is the one that the script names
)

// Kinds of tools that are called in another way than by name with JSON arguments.
const (
	// KindFunction is a tool with a schema, which takes JSON.
	KindFunction = "function"
	// KindCustom is a tool of OpenAI Responses that takes a text.
	KindCustom = "custom"
	// KindLocalShell is the built-in shell of OpenAI Responses.
	KindLocalShell = "local_shell"
)

// A Tool is one that a request offers.
type Tool struct {
	// Name is the name to call it by.
	Name string
	// Namespace groups tools in OpenAI Responses; usually "".
	Namespace string
	// Kind is KindFunction, KindCustom, KindLocalShell, or the type of a tool that Anthropic defines.
	Kind string
	// Description is what the agent says about it.
	Description string
	// Schema is the JSON Schema of its arguments; nil when Kind implies them.
	Schema json.RawMessage
}

// A Call is a call of a tool.
type Call struct {
	// Tool is called. A call of one that is not offered needs Name and Kind only.
	Tool Tool
	// Arguments are JSON, for KindCustom a text, for KindLocalShell a JSON list of words.
	Arguments string
}

// Choose picks the tool for a role by the schemas that the tools have, and fills in its arguments. The argument is what
// the script says behind the word: a command, a file with an optional text, steps, a script. It reports false when no
// tool fits.
func Choose(role Role, argument string, tools []Tool) (Call, bool) {
	fitting := fits(role)
	var best Call
	var score int
	for _, tool := range tools {
		var s schema
		_ = json.Unmarshal(tool.Schema, &s) // not an object: a tool without parameters
		if n, arguments := fitting(tool, s, argument); n > score {
			best, score = Call{Tool: tool, Arguments: arguments}, n
		}
	}
	return best, score > 0
}

// fits returns how well a tool fits a role, 0 for not at all, and the arguments to call it with.
func fits(role Role) func(Tool, schema, string) (int, string) {
	switch role {
	case RoleShell:
		return fitShell
	case RoleEdit:
		return fitEdit
	case RolePlan:
		return fitPlan
	case RoleAgent:
		return fitAgent
	case RoleNamed:
		return fitNamed
	}
	return func(Tool, schema, string) (int, string) { return 0, "" }
}

func fitShell(t Tool, s schema, command string) (int, string) {
	switch {
	case t.Kind == KindLocalShell:
		return 3, encode(shellWords(command))
	case strings.HasPrefix(t.Kind, "bash_"):
		return 3, encode(object{"command": command})
	case t.Kind != KindFunction || s.has("prompt"):
		return 0, ""
	}
	name, property := s.first("command", "cmd", "script")
	score := 1
	if nameHas(t, "shell", "bash", "exec", "terminal", "command") {
		score = 2
	}
	switch {
	case !s.needs(name) || property["enum"] != nil:
		return 0, ""
	case property.is("array"):
		return score, encode(s.filled(object{name: shellWords(command)}))
	case property.is("string"):
		return score, encode(s.filled(object{name: command}))
	}
	return 0, ""
}

// shellWords are the words that have the system's shell run a command.
func shellWords(command string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/c", command}
	}
	return []string{"sh", "-c", command}
}

// DefaultEdit is what EDIT writes into a file when the script gives no text.
const DefaultEdit = "edited by the fake model"

func fitEdit(t Tool, s schema, argument string) (int, string) {
	file, text := editOf(argument)
	if t.Kind == KindCustom {
		if nameHas(t, "patch") {
			return 5, patch(file, text)
		}
		return 0, ""
	}
	if strings.HasPrefix(t.Kind, "text_editor_") {
		return 3, encode(object{"command": "create", "path": file, "file_text": text + "\n"})
	}
	if t.Kind != KindFunction {
		return 0, ""
	}
	if name, property := s.first("patch", "patchText", "patch_text", "input"); property.is("string") && nameHas(t, "patch") {
		return 4, encode(s.filled(object{name: patch(file, text)}))
	}
	path, property := s.first("filePath", "file_path", "path", "file", "filename")
	if !property.is("string") {
		return 0, ""
	}
	if body, property := s.first("content", "contents", "file_text"); property.is("string") {
		arguments := object{path: file, body: text + "\n"}
		if commands, _ := s.property("command")["enum"].([]any); slices.Contains(commands, any("create")) {
			arguments["command"] = "create"
		}
		return 3, encode(s.filled(arguments))
	}
	before, _ := s.first("oldString", "old_string", "old_str")
	after, _ := s.first("newString", "new_string", "new_str")
	if before == "" || after == "" {
		return 0, ""
	}
	return 2, encode(s.filled(object{path: file, before: "", after: text + "\n"}))
}

// editOf splits what EDIT is given.
func editOf(argument string) (file, text string) {
	file, text, _ = strings.Cut(argument, " ")
	if text = strings.TrimSpace(text); text == "" {
		text = DefaultEdit
	}
	return file, text
}

// patch is a patch that adds a file, in the format of apply_patch.
func patch(file, text string) string {
	return "*** Begin Patch\n*** Add File: " + file + "\n+" + text + "\n*** End Patch\n"
}

// editCommand writes a file with a shell. Codex understands apply_patch as a command, says so in its instructions, and
// asks about the file instead of the command.
func editCommand(argument string, patches bool) string {
	file, text := editOf(argument)
	if patches {
		return "apply_patch <<'EOF'\n" + patch(file, text) + "EOF"
	}
	if runtime.GOOS == "windows" {
		return `echo ` + text + `> "` + file + `"`
	}
	return "printf '%s\\n' " + quoted(text) + " > " + quoted(file)
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fitPlan(t Tool, s schema, argument string) (int, string) {
	name, property := s.first("plan", "todos")
	if t.Kind != KindFunction || !property.is("array") {
		return 0, ""
	}
	if argument == "" {
		argument = "look around; do the work"
	}
	item := property.sub("items")
	var steps []any
	for text := range strings.SplitSeq(argument, ";") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		step := object{}
		for _, key := range []string{"step", "content", "title", "text", "activeForm"} {
			if item.has(key) {
				step[key] = text
			}
		}
		if item.has("status") {
			step["status"] = "pending"
			if len(steps) == 0 {
				step["status"] = "in_progress"
			}
		}
		steps = append(steps, item.filled(step))
	}
	return 1, encode(s.filled(object{name: steps}))
}

func fitAgent(t Tool, s schema, argument string) (int, string) {
	name, property := s.first("prompt", "message")
	kind, kindProperty := s.first("subagent_type", "agent_type", "agent")
	if t.Kind != KindFunction || !property.is("string") || kind == "" && !nameHas(t, "agent", "task") {
		return 0, ""
	}
	if argument == "" {
		argument = "SAY the sub-agent was here"
	}
	arguments := object{name: argument}
	if s.needs(kind) && kindProperty["enum"] == nil {
		arguments[kind] = "general"
		if strings.Contains(t.Description+kindProperty.text("description"), "general-purpose") {
			arguments[kind] = "general-purpose"
		}
	}
	if kind == "subagent_type" {
		return 2, encode(s.filled(arguments))
	}
	return 1, encode(s.filled(arguments))
}

// fitNamed finds a tool by the end of its name, since agents put something of their own in front of the names of tools that
// they are given.
func fitNamed(t Tool, s schema, argument string) (int, string) {
	name, arguments, _ := strings.Cut(argument, " ")
	switch {
	case t.Kind != KindFunction || !strings.HasSuffix(t.Name, name):
		return 0, ""
	case strings.TrimSpace(arguments) == "":
		arguments = encode(s.filled(object{}))
	}
	if t.Name == name {
		return 2, arguments
	}
	return 1, arguments
}

func nameHas(t Tool, parts ...string) bool {
	name := strings.ToLower(t.Name)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// A schema is a JSON Schema as it was decoded. Whatever an agent sends, reading it never fails.
type schema map[string]any

func (s schema) text(key string) string {
	text, _ := s[key].(string)
	return text
}

func (s schema) sub(key string) schema {
	sub, _ := s[key].(map[string]any)
	return sub
}

func (s schema) property(name string) schema { return s.sub("properties").sub(name) }

func (s schema) has(name string) bool { return s.sub("properties")[name] != nil }

// first is the first property that the schema has.
func (s schema) first(names ...string) (string, schema) {
	for _, name := range names {
		if s.has(name) {
			return name, s.property(name)
		}
	}
	return "", nil
}

// needs reports whether the property must be given. A schema that names no required properties may mean all.
func (s schema) needs(name string) bool {
	required, _ := s["required"].([]any)
	return s.has(name) && (len(required) == 0 || slices.Contains(required, any(name)))
}

// is reports whether the type is, or may be, the one of that name.
func (s schema) is(name string) bool {
	if alternatives, _ := s["type"].([]any); slices.Contains(alternatives, any(name)) {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, alternative := range list {
			if sub, _ := alternative.(map[string]any); sub["type"] == name {
				return true
			}
		}
	}
	return s["type"] == name
}

// maxDepth bounds how deep required properties are filled in; tools of agents have two levels.
const maxDepth = 8

// filled adds the required properties that are missing, with values that the schema accepts where it can be seen.
func (s schema) filled(values object) object { return s.filledTo(values, maxDepth) }

func (s schema) filledTo(values object, depth int) object {
	required, _ := s["required"].([]any)
	for _, r := range required {
		name, _ := r.(string)
		if values[name] == nil && s.has(name) {
			values[name] = s.property(name).value(name, depth)
		}
	}
	return values
}

// requiredTimeout is given where a tool wants a time limit: enough for a command of a test in milliseconds, and no harm
// in seconds.
const requiredTimeout = 10_000

func (s schema) value(name string, depth int) any {
	enum, _ := s["enum"].([]any)
	switch {
	case s["const"] != nil:
		return s["const"]
	case s["default"] != nil:
		return s["default"]
	case len(enum) > 0:
		return enum[0]
	case s.is("string"):
		return "fake"
	case s.is("number"), s.is("integer"):
		if strings.Contains(strings.ToLower(name), "timeout") {
			return requiredTimeout
		}
		if s["minimum"] != nil {
			return s["minimum"]
		}
		return 1
	case s.is("boolean"):
		return false
	case s.is("array"):
		return []any{}
	case s.is("object") && depth > 0:
		return s.filledTo(object{}, depth-1)
	case s.is("object"):
		return object{}
	}
	return nil
}

// An object is a JSON object.
type object = map[string]any

// encode is for values of strings, numbers, lists and objects, which always have a JSON form.
func encode(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
