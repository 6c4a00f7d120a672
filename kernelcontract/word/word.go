package word

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Word is a method on the command line. It is plain data that rides in the contract manifest; treat it as read-only.
type Word struct {
	Ref  string              `json:"ref"`  // plugin/service.method
	Kind kernelcontract.Kind `json:"kind"` // query, mutation or stream
	// Groups are the paths under which the word is mounted; usage shows the first. An empty path is the top level.
	Groups  [][]string `json:"groups"`
	Name    string     `json:"name"`
	Aliases []string   `json:"aliases,omitempty"`
	Summary string     `json:"summary"`
	Fields  []Field    `json:"fields"` // in schema order
	// Options names the flags beyond the fields that the word has because its method can act on them: OptionYes and
	// its siblings, in their documented order.
	Options     []string                  `json:"options,omitempty"`
	Hidden      bool                      `json:"hidden,omitempty"`  // kept out of `bb --help` and the skill
	Offline     bool                      `json:"offline,omitempty"` // can run without a server
	Destructive bool                      `json:"destructive,omitempty"`
	Resumable   bool                      `json:"resumable,omitempty"`
	Blocking    bool                      `json:"blocking,omitempty"`
	Bytes       bool                      `json:"bytes,omitempty"` // the result is a file
	FlagAlias   *kernelcontract.FlagAlias `json:"flagAlias,omitempty"`
}

// The flags that a word has only when its method can act on them.
const (
	OptionYes     = "yes"     // destructive: skip the confirmation
	OptionSelf    = "self"    // a field filled with the caller's thread: name that thread
	OptionSince   = "since"   // resumable: go on after a cursor
	OptionTimeout = "timeout" // blocking or a stream, without a timeoutMs field: the client's own deadline
	OptionQuiet   = "quiet"   // blocking or a stream: no progress
	OptionOutput  = "output"  // the result is a file: where to write it
	OptionInput   = "input"   // any field: the whole input as JSON
)

// HostFlag is the flag of a field that is filled with the caller's host; it also takes a host's name.
const HostFlag = "host"

// Form says how a text becomes a JSON value.
type Form string

// The forms of a value.
const (
	Text    Form = "string"
	Choice  Form = "enum" // one of Field.Choices
	Integer Form = "integer"
	Number  Form = "number"
	Boolean Form = "boolean"
	Map     Form = "map"  // key=value, repeated
	JSON    Form = "json" // JSON text, @file or - for standard input
)

// Field is one field of the input on the command line: a positional or a flag.
type Field struct {
	Name string `json:"name"` // of the input's field
	Form Form   `json:"form"` // of each element when List
	// List says that the value is an array of scalars: the flag repeats.
	List bool `json:"list,omitempty"`
	// Position is the index of a positional; nil: a flag.
	Position *int     `json:"position,omitempty"`
	Variadic bool     `json:"variadic,omitempty"` // takes all the words that are left
	Flag     string   `json:"flag,omitempty"`     // long name without dashes; "" for a positional
	Short    string   `json:"short,omitempty"`
	Aliases  []string `json:"aliases,omitempty"`
	// Negatable says that --no-<flag> exists.
	Negatable   bool              `json:"negatable,omitempty"`
	Placeholder string            `json:"placeholder,omitempty"` // as usage shows it: <string>, <a|b>, key=value, <name>
	Choices     []json.RawMessage `json:"choices,omitempty"`
	Default     json.RawMessage   `json:"default,omitempty"`
	Description string            `json:"description,omitempty"` // one line
	Bounds      string            `json:"bounds,omitempty"`      // of a number, for help
	// Required says that the command line must give the field: the schema wants it and no context fills it.
	Required bool `json:"required,omitempty"`
	Nullable bool `json:"nullable,omitempty"`
	// Loose says that a text that is not JSON is taken as a string; the method's schema decides what it means.
	Loose    bool `json:"loose,omitempty"`
	Duration bool `json:"duration,omitempty"` // also takes 90s for PT1M30S
	Base64   bool `json:"base64,omitempty"`   // a file's content is encoded
	Hidden   bool `json:"hidden,omitempty"`
	// Secret says that the value never stands on the command line: it is read from standard input or asked for. A
	// required text whose flag is both hidden and read from standard input is one.
	Secret  bool                      `json:"secret,omitempty"`
	File    bool                      `json:"file,omitempty"`    // @path reads the value
	Stdin   bool                      `json:"stdin,omitempty"`   // - reads the value
	Env     string                    `json:"env,omitempty"`     // variable that gives the value when the word does not
	Ambient kernelcontract.ContextKey `json:"ambient,omitempty"` // filled from the caller's context when absent
}

// timeoutField is the field whose presence says that the method has a deadline of its own.
const timeoutField = "timeoutMs"

// Of derives the word of method d of service s; it returns nil for a method that has none. It derives the method's
// schemas; their error, or one that says why a field cannot be a word, names the method.
func Of(d *kernelcontract.MethodDef, s *kernelcontract.ServiceDef) (*Word, error) {
	if !hasWord(d) {
		return nil, nil
	}
	in, err := d.Input()
	if err != nil {
		return nil, fmt.Errorf("%s: input: %w", d.Ref(), err)
	}
	out, err := d.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: output: %w", d.Ref(), err)
	}
	w := &Word{
		Ref: d.Ref(), Kind: d.Kind, Groups: groupsOf(d, s), Name: d.CLI.Name, Aliases: d.CLI.Aliases, Summary: d.Summary,
		Fields: make([]Field, 0, len(in.Properties)),
		Hidden: d.CLI.Hidden, Offline: d.CLI.Offline, Destructive: d.Destructive, Resumable: d.Resumable, Blocking: d.Wait > 0,
		Bytes: out.IsBytes(), FlagAlias: d.CLI.FlagAlias,
	}
	b := fieldBuilder{def: d, root: in}
	for i := range in.Properties {
		f, err := b.field(&in.Properties[i])
		if err != nil {
			return nil, err
		}
		w.Fields = append(w.Fields, f)
	}
	w.Options = optionsOf(w)
	return w, nil
}

// hasWord reports whether the method appears on the command line.
func hasWord(d *kernelcontract.MethodDef) bool {
	return d.Expose.CLI && d.Kind != kernelcontract.KindCustom
}

// groupsOf returns the method's own group, else those of the service.
func groupsOf(d *kernelcontract.MethodDef, s *kernelcontract.ServiceDef) [][]string {
	if d.CLI.Group != nil {
		return [][]string{d.CLI.Group}
	}
	return append([][]string{s.Group}, s.Aliases...)
}

func optionsOf(w *Word) []string {
	field := func(match func(*Field) bool) bool {
		return slices.ContainsFunc(w.Fields, func(f Field) bool { return match(&f) })
	}
	waits := w.Blocking || w.Kind == kernelcontract.KindStream
	var options []string
	for _, o := range []struct {
		name string
		has  bool
	}{
		{OptionYes, w.Destructive},
		{OptionSelf, field(func(f *Field) bool { return f.Ambient == kernelcontract.ThreadID })},
		{OptionSince, w.Resumable},
		{OptionTimeout, waits && !field(func(f *Field) bool { return f.Name == timeoutField })},
		{OptionQuiet, waits},
		{OptionOutput, w.Bytes},
		{OptionInput, len(w.Fields) > 0},
	} {
		if o.has {
			options = append(options, o.name)
		}
	}
	return options
}

// Has reports whether the word has the option.
func (w *Word) Has(option string) bool { return slices.Contains(w.Options, option) }

// Path returns the words that run it, without bb: the first group and the name. It is never empty.
func (w *Word) Path() []string {
	var group []string
	if len(w.Groups) > 0 {
		group = w.Groups[0]
	}
	return append(slices.Clone(group), w.Name)
}

// Field returns the field of that name, nil when there is none.
func (w *Word) Field(name string) *Field {
	for i := range w.Fields {
		if w.Fields[i].Name == name {
			return &w.Fields[i]
		}
	}
	return nil
}

// Positionals returns the positional fields by index.
func (w *Word) Positionals() []*Field {
	var out []*Field
	for i := range w.Fields {
		if w.Fields[i].Position != nil {
			out = append(out, &w.Fields[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *Field) int { return *a.Position - *b.Position })
	return out
}

// Repeats reports whether the flag may be given more than once.
func (f *Field) Repeats() bool { return f.List || f.Form == Map }

// ReadsFile reports whether @path and - stand for content that is read: always for JSON, else as declared.
func (f *Field) ReadsFile() (file, stdin bool) {
	structured := f.Form == JSON && !f.List
	return structured || f.File, structured || f.Stdin
}

// Label names the field as the command line does: <name> or --flag.
func (f *Field) Label() string {
	if f.Position != nil {
		return f.Placeholder
	}
	return "--" + f.Flag
}

// fieldBuilder turns the properties of one input into fields.
type fieldBuilder struct {
	def      *kernelcontract.MethodDef
	root     *schema.Schema
	hostFlag bool // a field has taken --host
}

func (b *fieldBuilder) field(p *schema.Property) (Field, error) {
	d := b.def
	flag := d.CLI.Flags[p.Name]
	s := b.root.Resolve(p.Schema)
	if s == nil {
		return Field{}, fmt.Errorf("%s: %s: its schema is missing", d.Ref(), p.Name)
	}
	f := Field{
		Name: p.Name, Short: flag.Short, Aliases: flag.Aliases, Default: s.Default, Required: p.Required, Nullable: s.Nullable,
		Description: oneLine(s.Description), Hidden: flag.Hidden, File: flag.File, Stdin: flag.Stdin, Env: flag.Env,
		Ambient: d.Ambient[p.Name],
	}
	if flag.Description != "" {
		f.Description = oneLine(flag.Description)
	}
	if f.Ambient != "" {
		f.Required = false
	}
	b.shape(&f, s)
	if f.Form == Boolean && !f.List {
		f.Negatable = f.Nullable || string(f.Default) == "true"
	}
	f.Secret = f.Form == Text && !f.List && f.Required && f.Hidden && f.Stdin
	position, variadic := positionOf(d.CLI.Args, p.Name)
	if position < 0 {
		f.Flag = kernelcontract.FlagName(p.Name, flag)
		if f.Ambient == kernelcontract.HostID && !b.hostFlag {
			f.Flag, b.hostFlag = HostFlag, true
		}
		f.Placeholder = flagPlaceholder(&f, s, flag)
		return f, nil
	}
	f.Position, f.Short, f.Aliases, f.Negatable = &position, "", nil, false
	last := position == len(d.CLI.Args)-1
	switch {
	case s.Type == schema.Array && last:
		f.Variadic, f.List = true, true
		if f.Form == JSON && !b.isScalarList(s) {
			f.Loose = true // words that are not JSON stay strings
		}
	case s.Type == schema.Array:
		f.List, f.Form = false, JSON
	case variadic && f.Form == Text:
		f.Variadic = true
	case variadic:
		return Field{}, fmt.Errorf("%s: CLI.Args: %q cannot be variadic: only an array or a string takes several words", d.Ref(), p.Name)
	}
	f.Placeholder = positionalPlaceholder(&f, flag)
	return f, nil
}

// positionOf finds a field among the positionals; the index is -1 when it is none.
func positionOf(args []string, field string) (index int, variadic bool) {
	for i, arg := range args {
		name, dots := strings.CutSuffix(arg, "...")
		if name == field {
			return i, dots
		}
	}
	return -1, false
}

// shape sets what the schema says of the value: form, list, choices, bounds.
func (b *fieldBuilder) shape(f *Field, s *schema.Schema) {
	if s.Type == schema.Array {
		if b.isScalarList(s) {
			b.shape(f, b.root.Resolve(s.Items))
			f.List = true
			f.Nullable = s.Nullable
			return
		}
		f.Form = JSON
		return
	}
	if choices := choicesOf(b.root, s); choices != nil {
		f.Form, f.Choices = Choice, choices
		return
	}
	switch s.Type {
	case schema.String:
		f.Form = Text
		f.Duration = s.Format == "duration"
		f.Base64 = s.ContentEncoding == "base64"
	case schema.Integer:
		f.Form, f.Bounds = Integer, boundsOf(s)
	case schema.Number:
		f.Form, f.Bounds = Number, boundsOf(s)
	case schema.Boolean:
		f.Form = Boolean
	default:
		if isStringMap(b.root, s) {
			f.Form = Map
			return
		}
		f.Form = JSON
		f.Loose = takesString(b.root, s)
	}
}

// isScalarList reports whether s is an array whose elements are scalars.
func (b *fieldBuilder) isScalarList(s *schema.Schema) bool {
	items := b.root.Resolve(s.Items)
	if items == nil {
		return false
	}
	if choicesOf(b.root, items) != nil {
		return true
	}
	switch items.Type {
	case schema.String, schema.Integer, schema.Number, schema.Boolean:
		return true
	}
	return false
}

// choicesOf returns the constants that s consists of, nil when it is something else. A null among them is nullability,
// not a choice.
func choicesOf(root, s *schema.Schema) []json.RawMessage {
	var out []json.RawMessage
	add := func(v json.RawMessage) {
		if string(v) != "null" {
			out = append(out, v)
		}
	}
	switch {
	case s.Const != nil:
		add(s.Const)
	case len(s.Enum) > 0:
		for _, v := range s.Enum {
			add(v)
		}
	case len(s.OneOf) > 0:
		for _, branch := range s.OneOf {
			r := root.Resolve(branch)
			if r == nil || r.Const == nil {
				return nil
			}
			add(r.Const)
		}
	}
	for _, v := range out {
		if len(v) == 0 || v[0] == '{' || v[0] == '[' {
			return nil
		}
	}
	return out
}

func isStringMap(root, s *schema.Schema) bool {
	if s.Type != schema.Object || s.Values == nil || len(s.Properties) > 0 {
		return false
	}
	v := root.Resolve(s.Values)
	return v != nil && v.Type == schema.String && !v.Nullable && v.ContentEncoding == ""
}

// takesString reports whether a string can be a value of the union s.
func takesString(root, s *schema.Schema) bool {
	for _, branch := range s.OneOf {
		if r := root.Resolve(branch); r != nil && (r.Type == schema.String || r.Type == schema.Any && len(r.OneOf) == 0) {
			return true
		}
	}
	return false
}

// typeBounds are the ends of the 64-bit integers: bounds that say only which Go type there is.
var typeBounds = []json.Number{"-9223372036854775808", "9223372036854775807", "18446744073709551615"}

func boundsOf(s *schema.Schema) string {
	var parts []string
	for _, b := range []struct {
		sign  string
		bound json.Number
	}{{"≥ ", s.Minimum}, {"> ", s.ExclusiveMinimum}, {"≤ ", s.Maximum}, {"< ", s.ExclusiveMaximum}, {"a multiple of ", s.MultipleOf}} {
		if b.bound != "" && !slices.Contains(typeBounds, b.bound) {
			parts = append(parts, b.sign+b.bound.String())
		}
	}
	return strings.Join(parts, ", ")
}

func flagPlaceholder(f *Field, s *schema.Schema, flag kernelcontract.Flag) string {
	switch {
	case f.Form == Boolean && !f.List:
		return ""
	case flag.Placeholder != "":
		return "<" + flag.Placeholder + ">"
	case f.Form == Map:
		return "key=value"
	case f.Form == Choice:
		return "<" + strings.Join(ChoiceTexts(f), "|") + ">"
	case flag.Format != "":
		return "<" + flag.Format + ">"
	case f.List:
		return "<value>"
	case f.Flag == HostFlag:
		return "<id|name>"
	case f.Base64:
		return "<base64>"
	case f.Form == Text && s.Format != "":
		return "<" + s.Format + ">"
	}
	return "<" + string(f.Form) + ">"
}

func positionalPlaceholder(f *Field, flag kernelcontract.Flag) string {
	name := flag.Placeholder
	if name == "" {
		name = flag.Name
	}
	if name == "" {
		name = kernelcontract.Kebab(f.Name)
	}
	if f.Variadic {
		name += "…"
	}
	if f.Required {
		return "<" + name + ">"
	}
	return "[" + name + "]"
}

// ChoiceTexts returns the choices of a field as the command line takes them.
func ChoiceTexts(f *Field) []string {
	out := make([]string, len(f.Choices))
	for i, c := range f.Choices {
		out[i] = textOf(c)
	}
	return out
}

// textOf returns a scalar as the command line shows it: a string bare, everything else as JSON.
func textOf(v json.RawMessage) string {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// oneLine folds a text into one line, for help.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
