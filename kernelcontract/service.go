package kernelcontract

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// KernelID is the plugin id of the kernel's own services: only they may set a path.
const KernelID = "kernel"

// MaxGroupLevels bounds the levels of a command-line group.
const MaxGroupLevels = 2

// Service groups methods of a plugin. It is plain data and must not be copied after its first Def.
type Service struct {
	ID      string     // plugin/service, required
	Summary string     // one line, required
	Group   []string   // command-line group; nil: the service in kebab case
	Aliases [][]string // further group paths
	Methods []Method   // in the order that every surface shows

	once sync.Once
	def  *ServiceDef
	err  error
}

// ServiceDef is a normalized Service, read-only.
type ServiceDef struct {
	PluginID, Name string
	Summary        string
	Group          []string
	Aliases        [][]string
	Methods        []*MethodDef

	defined []Method
}

// ID returns plugin/service.
func (s *ServiceDef) ID() string { return s.PluginID + "/" + s.Name }

// Method returns the method of that name, nil when there is none.
func (s *ServiceDef) Method(name string) *MethodDef {
	for _, m := range s.Methods {
		if m.Method == name {
			return m
		}
	}
	return nil
}

// Defines reports whether m is the very definition behind the i-th method.
func (s *ServiceDef) Defines(i int, m Method) bool { return s.defined[i] == m }

// Problem is one thing that is wrong with a definition.
type Problem struct {
	Service string // plugin/service
	Method  string // "" when the service itself is meant
	Field   string // the definition's or the input's field, "" when the whole is meant
	Message string
}

// String returns "service.method field: message".
func (p Problem) String() string {
	s := p.Service
	if p.Method != "" {
		s += "." + p.Method
	}
	if p.Field != "" {
		s += " " + p.Field
	}
	return s + ": " + p.Message
}

// DefinitionError lists every problem of a service.
type DefinitionError struct{ Problems []Problem }

// Error returns the problems, one a line.
func (e *DefinitionError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Def checks and normalizes the service, once. The error is a *DefinitionError with every problem by service, method
// and field. Names and fields are checked here; schemas and examples on their first use (docs/spec/definitions.md).
func (s *Service) Def() (*ServiceDef, error) {
	s.once.Do(func() {
		c := &checker{service: s.ID}
		def := c.normalize(s)
		if len(c.problems) > 0 {
			s.err = &DefinitionError{Problems: c.problems}
			return
		}
		s.def = def
	})
	return s.def, s.err
}

// checker collects the problems of one service.
type checker struct {
	service  string
	at       string // "Methods[3]." while the method at hand has no usable name
	problems []Problem
}

func (c *checker) add(method, field, format string, args ...any) {
	c.problems = append(c.problems, Problem{Service: c.service, Method: method, Field: c.at + field, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) normalize(s *Service) *ServiceDef {
	pluginID, name, ok := strings.Cut(s.ID, "/")
	if !ok || !servicePart.MatchString(pluginID) || !servicePart.MatchString(name) {
		c.add("", "ID", "%q is not plugin/service with parts that match %s", s.ID, servicePart)
	}
	c.summary("", s.Summary)
	def := &ServiceDef{PluginID: pluginID, Name: name, Summary: s.Summary, Group: s.Group, Aliases: s.Aliases, defined: s.Methods}
	if s.Group == nil {
		def.Group = []string{Kebab(name)}
	}
	c.group("", "Group", def.Group)
	for i, alias := range s.Aliases {
		if len(alias) == 0 {
			c.add("", fmt.Sprintf("Aliases[%d]", i), "names no group")
		}
		c.group("", fmt.Sprintf("Aliases[%d]", i), alias)
	}
	if len(s.Methods) == 0 {
		c.add("", "Methods", "lists no method")
	}
	words := map[string]string{} // "group word" to the method that has it
	names := map[string]bool{}
	for i, m := range s.Methods {
		if isNilMethod(m) {
			c.add("", fmt.Sprintf("Methods[%d]", i), "is nil: list the definition itself, from a variable that is set before this one")
			continue
		}
		md := m.define()
		c.method(def, &md, i)
		if md.Method == "" {
			continue
		}
		if names[md.Method] {
			c.add(md.Method, "Ref", "names a method that the service has already")
			continue
		}
		names[md.Method] = true
		if md.Expose.CLI {
			c.words(&md, def.Group, words)
		}
		def.Methods = append(def.Methods, &md)
	}
	return def
}

// isNilMethod also finds a nil pointer inside the interface: a variable that is not set yet.
func isNilMethod(m Method) bool {
	if m == nil {
		return true
	}
	v := reflect.ValueOf(m)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func (c *checker) words(d *MethodDef, group []string, taken map[string]string) {
	if d.CLI.Group != nil {
		group = d.CLI.Group
	}
	own := map[string]bool{}
	for _, w := range append([]string{d.CLI.Name}, d.CLI.Aliases...) {
		path := strings.Join(append(slices.Clone(group), w), " ")
		if own[path] {
			continue // reported as an alias that is named twice
		}
		own[path] = true
		if other, ok := taken[path]; ok {
			c.add(d.Method, "CLI", "the word %q is taken by the method %s", path, other)
			continue
		}
		taken[path] = d.Method
	}
}

func (c *checker) summary(method, s string) {
	switch {
	case strings.TrimSpace(s) == "":
		c.add(method, "Summary", "is required: one line that says what it is for")
	case strings.ContainsAny(s, "\r\n"):
		c.add(method, "Summary", "must be one line; put the rest into Description")
	}
}

func (c *checker) group(method, field string, group []string) {
	if len(group) > MaxGroupLevels {
		c.add(method, field, "has %d levels, at most %d are allowed", len(group), MaxGroupLevels)
	}
	for _, g := range group {
		c.word(method, field, g)
	}
}

func (c *checker) word(method, field, w string) {
	if !wordName.MatchString(w) {
		c.add(method, field, "%q is not a word: it must match %s", w, wordName)
	}
}

func (c *checker) method(s *ServiceDef, d *MethodDef, i int) {
	pluginID, service, method, ok := SplitRef(d.ref)
	if !ok {
		pluginID, service, method = s.PluginID, s.Name, ""
		c.at = fmt.Sprintf("Methods[%d].", i)
		defer func() { c.at = "" }()
		c.add("", "Ref", "%q is not plugin/service.method with a method that matches %s", d.ref, methodPart)
	} else if pluginID+"/"+service != s.ID() {
		c.add(method, "Ref", "%q belongs to another service than %s", d.ref, s.ID())
	}
	d.PluginID, d.Service, d.Method = pluginID, service, method
	for _, p := range d.problems {
		c.add(method, p.Field, "%s", p.Message)
	}
	c.summary(method, d.Summary)
	c.access(d)
	c.path(d)
	fields := c.fields(d)
	c.cli(d, fields)
	c.tool(d)
	c.ambient(d, fields)
	c.errors(d)
	if d.Wait < 0 {
		c.add(method, "Wait", "must not be negative, is %s", d.Wait)
	}
}

// inputFields are the fields of an input by name, with their order.
type inputFields struct {
	list   []schema.Field
	byName map[string]*schema.Field
}

func (f inputFields) has(name string) bool { return f.byName[name] != nil }

func (c *checker) fields(d *MethodDef) inputFields {
	list, err := d.Fields()
	var te *schema.TypeError
	if errors.As(err, &te) {
		for _, p := range te.Problems {
			field := "input"
			if p.Path != "" {
				field += "." + p.Path
			}
			c.add(d.Method, field, "%s", p.Message)
		}
	}
	fields := inputFields{list: list, byName: make(map[string]*schema.Field, len(list))}
	for i := range list {
		fields.byName[list[i].Name] = &list[i]
	}
	return fields
}

func (c *checker) access(d *MethodDef) {
	switch d.Access.Auth {
	case "":
		d.Access.Auth = AuthOperator
	case AuthOperator, AuthMachine, AuthNone:
	default:
		c.add(d.Method, "Access.Auth", "%q is not operator, machine or none", d.Access.Auth)
	}
	for _, k := range d.Access.Actors {
		if !slices.Contains([]ActorKind{User, Agent, Plugin, System}, k) {
			c.add(d.Method, "Access.Actors", "%q is not user, agent, plugin or system", k)
		}
	}
}

func (c *checker) path(d *MethodDef) {
	switch {
	case d.Kind == KindCustom && d.PluginID != KernelID:
		c.add(d.Method, "Path", "only the kernel's services may have raw endpoints: use a query, a mutation or a stream")
	case d.Kind == KindCustom && !strings.HasPrefix(d.Path, "/internal/") && !strings.HasPrefix(d.Path, "/local/"):
		c.add(d.Method, "Path", "%q must begin with /internal/ or /local/", d.Path)
	}
}

func (c *checker) cli(d *MethodDef, fields inputFields) {
	if d.Kind == KindCustom {
		return
	}
	if d.CLI.Name == "" {
		d.CLI.Name = Kebab(d.Method)
	}
	if d.CLI.Name != "" { // "" only beside a ref that is reported
		c.word(d.Method, "CLI.Name", d.CLI.Name)
	}
	seen := map[string]bool{d.CLI.Name: true}
	for _, a := range d.CLI.Aliases {
		c.word(d.Method, "CLI.Aliases", a)
		if seen[a] {
			c.add(d.Method, "CLI.Aliases", "%q is named twice", a)
		}
		seen[a] = true
	}
	if d.CLI.Group != nil {
		c.group(d.Method, "CLI.Group", d.CLI.Group)
	}
	positional := map[string]bool{}
	for i, arg := range d.CLI.Args {
		name, variadic := strings.CutSuffix(arg, "...")
		switch {
		case !fields.has(name):
			c.add(d.Method, "CLI.Args", "the input has no field %q", name)
		case positional[name]:
			c.add(d.Method, "CLI.Args", "%q is named twice", name)
		}
		if variadic && i != len(d.CLI.Args)-1 {
			c.add(d.Method, "CLI.Args", "%q is variadic and not last", arg)
		}
		positional[name] = true
	}
	c.flags(d, fields, positional)
	if a := d.CLI.FlagAlias; a != nil {
		c.group(d.Method, "CLI.FlagAlias.Group", a.Group)
		c.word(d.Method, "CLI.FlagAlias.Name", a.Name)
		c.word(d.Method, "CLI.FlagAlias.Flag", a.Flag)
	}
}

func (c *checker) flags(d *MethodDef, fields inputFields, positional map[string]bool) {
	owner := map[string]string{}
	claim := func(flag, field string) {
		if other, taken := owner[flag]; taken && other != field {
			c.add(d.Method, "CLI.Flags."+field, "the flag %s is that of the field %q too", flag, other)
			return
		}
		owner[flag] = field
	}
	for _, f := range fields.list {
		if positional[f.Name] {
			continue // a positional has no flag
		}
		name := FlagName(f.Name, d.CLI.Flags[f.Name])
		claim("--"+name, f.Name)
		if negatable(f) {
			claim("--no-"+name, f.Name)
		}
	}
	for _, f := range sortedKeys(d.CLI.Flags) {
		flag := d.CLI.Flags[f]
		field := "CLI.Flags." + f
		if !fields.has(f) {
			c.add(d.Method, field, "the input has no such field")
			continue
		}
		if positional[f] && (flag.Short != "" || len(flag.Aliases) > 0) {
			c.add(d.Method, field, "a positional has no flag: take it out of CLI.Args, or leave out Short and Aliases")
			continue
		}
		if flag.Name != "" {
			c.word(d.Method, field, flag.Name)
		}
		for _, a := range flag.Aliases {
			c.word(d.Method, field, a)
			if slices.Contains(reservedFlags, a) {
				c.add(d.Method, field, "the alias --%s is reserved", a)
			}
			claim("--"+a, f)
		}
		if flag.Short != "" {
			if len(flag.Short) != 1 || !isLetter(flag.Short[0]) || flag.Short == "h" {
				c.add(d.Method, field, "the short flag %q must be one letter, not h", flag.Short)
			}
			claim("-"+flag.Short, f)
		}
	}
}

// negatable reports whether a field's flag has a --no- form: a boolean that is true by default or nullable.
func negatable(f schema.Field) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	isBool := t.Kind() == reflect.Bool || t == reflect.TypeFor[schema.Null[bool]]()
	return isBool && (f.Nullable || f.Default == "true")
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// destructiveTool ends the description of a tool that destroys something.
const destructiveTool = "\n\nDestructive: confirm with the user first."

func (c *checker) tool(d *MethodDef) {
	if d.Tool == nil {
		return
	}
	t := *d.Tool
	if t.Name == "" {
		t.Name = ToolName(d.PluginID, d.Service, d.Method)
	}
	if !toolChars.MatchString(t.Name) {
		c.add(d.Method, "Tool.Name", "%q must match %s", t.Name, toolChars)
	}
	if len(t.Instructions) > MaxInstructions {
		c.add(d.Method, "Tool.Instructions", "has %d bytes, at most %d are allowed", len(t.Instructions), MaxInstructions)
	}
	p := t.Presentation
	for _, part := range []struct{ name, value string }{{"Pending", p.Pending}, {"Completed", p.Completed}, {"Icon", p.Icon}, {"Intent", p.Intent}} {
		if part.value == "" {
			c.add(d.Method, "Tool.Presentation."+part.name, "is required")
		}
	}
	if t.Description == "" {
		t.Description = d.Summary
		if d.Description != "" {
			t.Description += "\n\n" + d.Description
		}
	}
	if d.Destructive && !strings.HasSuffix(t.Description, destructiveTool) { // a description that came through a contract has it
		t.Description += destructiveTool
	}
	d.Tool = &t
}

func (c *checker) ambient(d *MethodDef, fields inputFields) {
	for _, f := range sortedKeys(d.Ambient) {
		if !fields.has(f) {
			c.add(d.Method, "Ambient."+f, "the input has no such field")
		}
		if !slices.Contains(ContextKeys(), d.Ambient[f]) {
			c.add(d.Method, "Ambient."+f, "%q is not a value of the context", d.Ambient[f])
		}
	}
	if d.Destructive && len(d.Ambient) > 0 {
		c.add(d.Method, "Ambient", "a destructive method must be told what to destroy: no field may be filled from the context")
	}
}

func (c *checker) errors(d *MethodDef) {
	for _, code := range sortedKeys(d.Errors) {
		field := "Errors." + string(code)
		if !codeName.MatchString(string(code)) {
			c.add(d.Method, field, "the code must match %s", codeName)
		}
		if _, kernel := code.Row(); kernel {
			c.add(d.Method, field, "is a code of the kernel: return it without declaring it")
		}
		if _, ok := d.Errors[code].Like.Row(); !ok {
			c.add(d.Method, field, "Like is %q and must name a code of the kernel", d.Errors[code].Like)
		}
	}
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
