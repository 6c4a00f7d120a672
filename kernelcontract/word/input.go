package word

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Values is what a command line says, before it means anything.
type Values struct {
	// Words are the positional words in order.
	Words []string
	// Flags holds the texts of the flags that were given, by the field's name, in the order given. A switch gives
	// "true" or "false".
	Flags map[string][]string
	// Whole is the text of --input, nil when it was not given.
	Whole *string
	// Self is the thread that --self stands for, "" when it was not given.
	Self string
	// Secret asks for the value of a secret field; nil refuses.
	Secret func(f *Field) (string, error)
	// Read returns the content of a file, or of standard input for "-"; nil refuses both.
	Read func(name string) ([]byte, error)
	// Env looks up a variable; nil finds none.
	Env func(name string) (string, bool)
}

// Input turns what the command line says into the method's input: a JSON object with the fields that were given, in
// schema order. Defaults and ambient fields are left to the server. A failure is an *kernelcontract.Error with code
// InvalidInput and one issue a problem.
func Input(w *Word, v Values) (json.RawMessage, error) {
	c := coercion{v: v}
	whole := c.whole()
	texts := c.positionals(w, whole)
	members := whole
	for i := range w.Fields {
		f := &w.Fields[i]
		given, ok := c.given(f, texts, whole)
		if !ok {
			if f.Required && jsontext.Find(whole, f.Name) < 0 && f.Position == nil {
				label := f.Label()
				if f.Secret {
					label = f.Name
				}
				c.issue(f, schema.IssueRequired, "%s is required", label)
			}
			continue
		}
		if given == nil {
			continue // a problem that is listed already
		}
		raw, err := c.value(f, given)
		if err != nil {
			c.issues = append(c.issues, issueOf(f, err))
			continue
		}
		members = set(members, f.Name, raw)
	}
	if err := kernelcontract.InvalidIssues(c.issues); err != nil {
		// The labels are in the messages: a path in front of them would say it twice.
		err.Message = c.issues[0].Message
		if n := len(c.issues) - 1; n > 0 {
			err.Message = fmt.Sprintf("%s (and %d more)", err.Message, n)
		}
		return nil, err
	}
	return encodeObject(members), nil
}

type coercion struct {
	v      Values
	issues []schema.Issue
	stdin  string // the label that has read standard input
}

// problem is why a text is not a value of its field.
type problem struct {
	code    schema.IssueCode
	message string
}

func (p *problem) Error() string { return p.message }

func invalidType(format string, args ...any) error {
	return &problem{schema.IssueInvalidType, fmt.Sprintf(format, args...)}
}

func invalidValue(format string, args ...any) error {
	return &problem{schema.IssueInvalidValue, fmt.Sprintf(format, args...)}
}

func issueOf(f *Field, err error) schema.Issue {
	code := schema.IssueInvalidValue
	if p, ok := err.(*problem); ok {
		code = p.code
	}
	return schema.Issue{Path: []any{f.Name}, Code: code, Message: f.Label() + ": " + err.Error()}
}

func (c *coercion) issue(f *Field, code schema.IssueCode, format string, args ...any) {
	c.issues = append(c.issues, schema.Issue{Path: []any{f.Name}, Code: code, Message: fmt.Sprintf(format, args...)})
}

// whole returns the members of --input.
func (c *coercion) whole() []jsontext.Member {
	if c.v.Whole == nil {
		return nil
	}
	fail := func(format string, args ...any) []jsontext.Member {
		c.issues = append(c.issues, schema.Issue{Code: schema.IssueInvalidJSON, Message: "--input: " + fmt.Sprintf(format, args...)})
		return nil
	}
	text := []byte(*c.v.Whole)
	if read, err := c.content(*c.v.Whole, true, true, "--input"); err != nil {
		return fail("%s", err)
	} else if read != nil {
		text = read
	}
	members, err := decodeObject(text)
	if err != nil {
		return fail("%s", err)
	}
	return members
}

// positionals assigns the words to the positional fields: required ones are served first, optional ones from the left with
// what is left over, a variadic one gets the rest.
func (c *coercion) positionals(w *Word, whole []jsontext.Member) map[string][]string {
	fields := w.Positionals()
	needed := 0
	optional := func(f *Field) bool {
		return !f.Required || jsontext.Find(whole, f.Name) >= 0
	}
	for _, f := range fields {
		if !optional(f) {
			needed++
		}
	}
	words := c.v.Words
	spare := len(words) - needed
	out := map[string][]string{}
	for _, f := range fields {
		switch {
		case f.Ambient == kernelcontract.ThreadID && c.v.Self != "":
			continue
		case optional(f) && spare <= 0:
			continue
		case len(words) == 0:
			c.issue(f, schema.IssueRequired, "%s is missing", f.Label())
			continue
		}
		n := 1
		if f.Variadic {
			n = len(words)
		}
		if optional(f) {
			spare -= n
		} else {
			spare -= n - 1
		}
		out[f.Name], words = words[:n], words[n:]
	}
	if len(words) > 0 {
		c.issues = append(c.issues, schema.Issue{Code: schema.IssueUnrecognizedKey, Message: fmt.Sprintf("unexpected word %q", words[0])})
	}
	return out
}

// given returns the texts of a field: from its words or its flag, else --self, else its variable.
func (c *coercion) given(f *Field, texts map[string][]string, whole []jsontext.Member) ([]string, bool) {
	if f.Position != nil {
		if t, ok := texts[f.Name]; ok {
			return t, true
		}
	} else if f.Secret {
		return c.secret(f, whole)
	} else if t, ok := c.v.Flags[f.Name]; ok {
		if f.Ambient == kernelcontract.ThreadID && c.v.Self != "" {
			c.issue(f, schema.IssueInvalidValue, "--self and %s name a thread twice: give one", f.Label())
		}
		return t, true
	}
	if f.Ambient == kernelcontract.ThreadID && c.v.Self != "" {
		return []string{c.v.Self}, true
	}
	if f.Env != "" && c.v.Env != nil && jsontext.Find(whole, f.Name) < 0 {
		if t, ok := c.v.Env(f.Env); ok && t != "" {
			return []string{t}, true
		}
	}
	return nil, false
}

// secret asks for a value that --input does not hold.
func (c *coercion) secret(f *Field, whole []jsontext.Member) ([]string, bool) {
	if c.v.Secret == nil || jsontext.Find(whole, f.Name) >= 0 {
		return nil, false
	}
	if len(c.issues) > 0 {
		return nil, true // the call fails anyway: do not ask
	}
	if c.stdin != "" {
		c.issue(f, schema.IssueInvalidValue, "%s: standard input is read by %s already", f.Name, c.stdin)
		return nil, true
	}
	text, err := c.v.Secret(f)
	if err != nil {
		c.issue(f, schema.IssueRequired, "%s: %s", f.Name, err)
		return nil, true
	}
	return []string{text}, true
}

// value turns the texts of a field into its JSON value.
func (c *coercion) value(f *Field, texts []string) (json.RawMessage, error) {
	if f.Form == Map && !f.List {
		return c.stringMap(f, texts)
	}
	if f.List {
		return c.list(f, texts)
	}
	if f.Variadic {
		texts = []string{strings.Join(texts, " ")}
	}
	if len(texts) > 1 {
		return nil, invalidValue("is given %d times, but takes one value", len(texts))
	}
	if f.Nullable && f.Form != Text && texts[0] == "null" && !(f.Form == Choice && hasStringChoice(f)) {
		return json.RawMessage("null"), nil
	}
	return c.scalar(f, texts[0])
}

func hasStringChoice(f *Field) bool {
	for _, v := range f.Choices {
		if v[0] == '"' {
			return true
		}
	}
	return false
}

// list turns repeated texts into an array. Unless the elements are strings, a single text may be the array as JSON, or
// null for a nullable one.
func (c *coercion) list(f *Field, texts []string) (json.RawMessage, error) {
	bare := f.Form == Text || f.Form == Choice && hasStringChoice(f)
	if len(texts) == 1 && !bare && (f.Position == nil || !f.Loose) {
		t := strings.TrimSpace(texts[0])
		if t == "null" && f.Nullable {
			return json.RawMessage("null"), nil
		}
		if strings.HasPrefix(t, "[") {
			return compact([]byte(t))
		}
	}
	elements := make([][]byte, len(texts))
	for i, t := range texts {
		raw, err := c.scalar(f, t)
		if err != nil {
			return nil, err
		}
		elements[i] = raw
	}
	return json.RawMessage("[" + string(bytes.Join(elements, []byte(","))) + "]"), nil
}

func (c *coercion) stringMap(f *Field, texts []string) (json.RawMessage, error) {
	if len(texts) == 1 && texts[0] == "null" && f.Nullable {
		return json.RawMessage("null"), nil
	}
	var members []jsontext.Member
	for _, t := range texts {
		key, value, ok := strings.Cut(t, "=")
		if !ok || key == "" {
			return nil, invalidValue("%q is not key=value", t)
		}
		if jsontext.Find(members, key) >= 0 {
			return nil, &problem{schema.IssueDuplicateKey, fmt.Sprintf("the key %q is given twice", key)}
		}
		raw, err := encodeString(value)
		if err != nil {
			return nil, err
		}
		if !utf8.ValidString(key) {
			return nil, invalidValue("the key %q is not UTF-8", key)
		}
		members = append(members, jsontext.Member{Name: key, Raw: raw})
	}
	return encodeObject(members), nil
}

// scalar turns one text into one value.
func (c *coercion) scalar(f *Field, text string) (json.RawMessage, error) {
	file, stdin := f.ReadsFile()
	if f.Secret {
		return encodeString(text)
	}
	read, err := c.content(text, file, stdin, f.Label())
	if err != nil {
		return nil, err
	}
	switch {
	case read != nil && f.Base64:
		return encodeString(base64.StdEncoding.EncodeToString(read))
	case read != nil && f.Form == Text:
		text = string(read)
	case read != nil:
		text = strings.TrimSpace(string(read))
	}
	switch f.Form {
	case Text:
		if f.Duration {
			return duration(text)
		}
		return encodeString(text)
	case Choice:
		return choice(f, text)
	case Integer:
		if !jsontext.IsNumber(text) {
			return nil, invalidType("%q is not an integer", text)
		}
		return json.RawMessage(text), nil
	case Number:
		if !jsontext.IsNumber(text) {
			return nil, invalidType("%q is not a number", text)
		}
		return json.RawMessage(text), nil
	case Boolean:
		switch text {
		case "true", "1", "yes":
			return json.RawMessage("true"), nil
		case "false", "0", "no":
			return json.RawMessage("false"), nil
		}
		return nil, invalidType("%q is not true or false", text)
	}
	return jsonText(f, text)
}

// jsonText reads JSON. A loose field takes what is not JSON as a string.
func jsonText(f *Field, text string) (json.RawMessage, error) {
	t := strings.TrimSpace(text)
	structured := strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")
	raw, err := compact([]byte(t))
	switch {
	case err == nil && (structured || !f.Loose || f.Position == nil):
		return raw, nil
	case f.Loose:
		return encodeString(text)
	}
	return nil, err
}

// content returns what a text points to: a file for @path, standard input for -, nil when the text is the value.
func (c *coercion) content(text string, file, stdin bool, label string) ([]byte, error) {
	path, isPath := strings.CutPrefix(text, "@")
	switch {
	case stdin && text == "-":
		if c.stdin != "" {
			return nil, invalidValue("standard input is read by %s already", c.stdin)
		}
		c.stdin = label
		path = "-"
	case file && isPath:
	default:
		return nil, nil
	}
	if c.v.Read == nil {
		return nil, invalidValue("%s cannot be read here", text)
	}
	content, err := c.v.Read(path)
	if err != nil {
		return nil, invalidValue("%s", err)
	}
	if content == nil {
		content = []byte{}
	}
	return content, nil
}

func choice(f *Field, text string) (json.RawMessage, error) {
	texts := ChoiceTexts(f)
	for i, t := range texts {
		if t == text {
			return f.Choices[i], nil
		}
	}
	msg := fmt.Sprintf("%q is not one of %s", text, strings.Join(texts, ", "))
	if near := Nearest(text, texts); len(near) > 0 {
		msg += fmt.Sprintf("; did you mean %s?", near[0])
	}
	return nil, &problem{schema.IssueInvalidValue, msg}
}

// duration takes an ISO 8601 duration, or the short form 90s that Go and people write.
func duration(text string) (json.RawMessage, error) {
	if _, err := schema.ParseDuration(text); err == nil {
		return encodeString(text)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, &problem{schema.IssueInvalidFormat, fmt.Sprintf("%q is not a duration: write it like 90s or PT1M30S", text)}
	}
	return encodeString(schema.Duration(d).String())
}

func encodeString(s string) (json.RawMessage, error) {
	if !utf8.ValidString(s) {
		return nil, invalidValue("%q is not UTF-8", s)
	}
	return jsontext.Marshal(s)
}

func compact(text []byte) (json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, &problem{schema.IssueInvalidJSON, "is not UTF-8"}
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return nil, &problem{schema.IssueInvalidJSON, fmt.Sprintf("is not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))}
	}
	if b.Len() == 0 {
		return nil, &problem{schema.IssueInvalidJSON, "is not JSON: it is empty"}
	}
	return b.Bytes(), nil
}

// set replaces the member of that name, or appends one; members is not changed.
func set(members []jsontext.Member, name string, raw json.RawMessage) []jsontext.Member {
	out := append(make([]jsontext.Member, 0, len(members)+1), members...)
	if i := jsontext.Find(out, name); i >= 0 {
		out[i].Raw = raw
		return out
	}
	return append(out, jsontext.Member{Name: name, Raw: raw})
}

func encodeObject(members []jsontext.Member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := encodeString(m.Name) // names are UTF-8: they come from a schema, a decoder or a check
		b = append(append(append(b, name...), ':'), m.Raw...)
	}
	return append(b, '}')
}

// decodeObject reads one JSON object, keeping order and numbers and refusing a name that is given twice.
func decodeObject(text []byte) ([]jsontext.Member, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("is not UTF-8")
	}
	members, err := jsontext.Members(text)
	switch {
	case errors.Is(err, jsontext.ErrNotObject):
		return nil, errors.New("is not a JSON object")
	case errors.Is(err, jsontext.ErrTrailing):
		return nil, errors.New("has more than one JSON value")
	case err != nil:
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	for i := range members {
		if jsontext.Find(members, members[i].Name) < i {
			return nil, fmt.Errorf("the key %q is given twice", members[i].Name)
		}
		if members[i].Raw, err = compact(members[i].Raw); err != nil {
			return nil, err
		}
	}
	return members, nil
}
