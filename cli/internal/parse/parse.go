// Package parse tokenises the command line of one word. The grammar is built for that word alone, so that thousands of
// others cost nothing.
package parse

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// Line is the command line of a word, taken apart.
type Line struct {
	Words []string            // positional words in order
	Flags map[string][]string // texts by the input's field
	Input *string             // --input

	Server, Since, Output string
	Timeout               time.Duration // 0: none
	JSON, NoColor         bool
	Insecure, Help        bool
	Yes, Self, Quiet      bool
}

// MaxTimeout bounds --timeout: beyond it a duration overflows.
const MaxTimeout = 365 * 24 * time.Hour

// Parse takes the arguments after the word's path apart. The failure is InvalidInput and suggests what may have been
// meant.
func Parse(w *word.Word, args []string) (*Line, *kernelcontract.Error) {
	args, words, err := prepare(w, args)
	if err != nil {
		return nil, err
	}
	g := newGrammar(w, words)
	texts, failure := g.run(args)
	if failure != nil {
		return nil, failure
	}
	return lineOf(w, texts)
}

// Usage returns a failure of the command line itself.
func Usage(format string, args ...any) *kernelcontract.Error {
	return kernelcontract.InvalidInput.Errorf(format, args...)
}

// unknown returns the failure of a flag that the word does not have.
func unknown(w *word.Word, name string) *kernelcontract.Error {
	message := "unknown flag --" + name
	var near []string
	for _, n := range word.Nearest(name, word.FlagNames(w)) {
		near = append(near, "--"+n)
	}
	switch {
	case name == "token":
		message += ": a token never travels on the command line; set BB_TOKEN or run `bb login`"
	case len(near) > 0:
		message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	e := Usage("%s", message)
	e.Issues = []kernelcontract.Issue{{Path: []any{"--" + name}, Code: schema.IssueUnrecognizedKey, Message: message}}
	return e
}

// literal marks an argument that begins with a dash and yet is a value. No argument of a program holds a NUL.
const literal = "\x00"

// prepare checks the long flags, marks negative numbers as values, and counts what may be a positional word.
func prepare(w *word.Word, args []string) (prepared []string, words int, failure *kernelcontract.Error) {
	names := word.FlagNames(w)
	prepared = make([]string, 0, len(args))
	for i, a := range args {
		switch {
		case a == "--":
			return append(prepared, args[i:]...), words + len(args) - i - 1, nil
		case strings.HasPrefix(a, "--"):
			name, _, _ := strings.Cut(a[2:], "=")
			if !slices.Contains(names, name) {
				return nil, 0, unknown(w, name)
			}
		case isNegative(a):
			a = literal + a
			words++
		case len(a) > 1 && a[0] == '-':
		default:
			words++
		}
		prepared = append(prepared, a)
	}
	return prepared, words, nil
}

// isNegative reports whether an argument is a negative number: short flags are letters.
func isNegative(a string) bool {
	return len(a) > 1 && a[0] == '-' && (a[1] >= '0' && a[1] <= '9' || a[1] == '.')
}

// value collects the texts of a flag that takes one, or a positional word.
type value struct{ texts []string }

// Decode takes one text: kong calls it each time that the flag is met.
func (v *value) Decode(ctx *kong.DecodeContext) error {
	t := ctx.Scan.Peek()
	text, isText := t.Value.(string)
	switch {
	case t.IsEOL() || !isText,
		t.Type == kong.UntypedToken && len(text) > 1 && text[0] == '-':
		return fmt.Errorf("needs a value; one that begins with a dash is given as --flag=value")
	case t.Type == kong.ShortFlagTailToken:
		text = strings.TrimPrefix(text, "=")
	}
	ctx.Scan.Pop()
	v.texts = append(v.texts, strings.TrimPrefix(text, literal))
	return nil
}

// toggle collects the texts of a switch: true, or what follows the equals sign.
type toggle struct{ texts []string }

// IsBool tells kong that the flag needs no value.
func (v *toggle) IsBool() bool { return true }

// Decode takes the value behind an equals sign only.
func (v *toggle) Decode(ctx *kong.DecodeContext) error {
	text := "true"
	if t := ctx.Scan.Peek(); t.Type == kong.FlagValueToken {
		text = fmt.Sprint(ctx.Scan.Pop().Value)
	}
	v.texts = append(v.texts, text)
	return nil
}

// negation is a toggle that takes no value at all.
type negation struct{ toggle }

// Decode refuses a value behind an equals sign.
func (v *negation) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		return fmt.Errorf("takes no value")
	}
	return v.toggle.Decode(ctx)
}

var (
	_ kong.MapperValue     = (*value)(nil)
	_ kong.BoolMapperValue = (*toggle)(nil)
	_ kong.BoolMapperValue = (*negation)(nil)
)

// The kinds of flag.
var (
	valueType    = reflect.TypeFor[value]()
	toggleType   = reflect.TypeFor[toggle]()
	negationType = reflect.TypeFor[negation]()
)

// grammar is kong's view of a word: a struct with one member a flag, and one a positional word that may come, so that
// flags may stand between them.
type grammar struct {
	fields []reflect.StructField
	names  []string // of the flag behind each member, "" for a positional
}

func newGrammar(w *word.Word, words int) *grammar {
	g := &grammar{}
	for i := range w.Fields {
		f := &w.Fields[i]
		if f.Position != nil || f.Secret {
			continue
		}
		kind := valueType
		if f.Form == word.Boolean && !f.List {
			kind = toggleType
		}
		g.flag(f.Flag, f.Short, f.Aliases, kind)
		if f.Negatable {
			g.flag("no-"+f.Flag, "", nil, negationType)
		}
	}
	for _, o := range append(word.OptionsOf(w), word.GlobalOptions()...) {
		kind := valueType
		if o.Placeholder == "" {
			kind = toggleType
		}
		g.flag(o.Flag, o.Short, nil, kind)
	}
	for range words {
		g.add(valueType, `arg:"" optional:"" name:"w`+strconv.Itoa(len(g.fields))+`"`, "")
	}
	return g
}

func (g *grammar) flag(name, short string, aliases []string, kind reflect.Type) {
	tag := `name:` + strconv.Quote(name)
	if short != "" {
		tag += ` short:` + strconv.Quote(short)
	}
	if len(aliases) > 0 {
		tag += ` aliases:` + strconv.Quote(strings.Join(aliases, ","))
	}
	g.add(kind, tag, name)
}

func (g *grammar) add(t reflect.Type, tag, name string) {
	g.fields = append(g.fields, reflect.StructField{Name: "F" + strconv.Itoa(len(g.fields)), Type: t, Tag: reflect.StructTag(tag)})
	g.names = append(g.names, name)
}

// run returns the texts by flag name, those of the positionals under "".
func (g *grammar) run(args []string) (map[string][]string, *kernelcontract.Error) {
	target := reflect.New(reflect.StructOf(g.fields))
	k, err := kong.New(target.Interface(), kong.NoDefaultHelp(), kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
	if err != nil { // a manifest with names that clash
		return nil, kernelcontract.Internal.Errorf("the server's word cannot be parsed: %s", err.Error())
	}
	ctx, err := kong.Trace(k, args)
	if err == nil {
		err = ctx.Error
	}
	if err == nil {
		_, err = ctx.Apply()
	}
	if err != nil {
		return nil, Usage("%s", strings.ReplaceAll(err.Error(), literal, ""))
	}
	texts := map[string][]string{}
	for i, name := range g.names {
		var got []string
		switch v := target.Elem().Field(i).Addr().Interface().(type) {
		case *value:
			got = v.texts
		case *toggle:
			got = v.texts
		case *negation:
			got = v.texts
		}
		if got != nil {
			texts[name] = append(texts[name], got...)
		}
	}
	return texts, nil
}

// lineOf sorts the texts into fields and options.
func lineOf(w *word.Word, texts map[string][]string) (*Line, *kernelcontract.Error) {
	l := &Line{Words: texts[""], Flags: map[string][]string{}}
	for i := range w.Fields {
		f := &w.Fields[i]
		if f.Position != nil {
			continue
		}
		got := slices.Clone(texts[f.Flag])
		if f.Negatable {
			for range texts["no-"+f.Flag] {
				got = append(got, "false")
			}
		}
		if got != nil {
			l.Flags[f.Name] = got
		}
	}
	var failure *kernelcontract.Error
	one := func(name string) *string {
		got := texts[name]
		if len(got) > 1 && failure == nil {
			failure = Usage("--%s is given %d times, but takes one value", name, len(got))
		}
		if got == nil {
			return nil
		}
		return &got[0]
	}
	text := func(name string) (s string) {
		if p := one(name); p != nil {
			s = *p
			if s == "" && failure == nil {
				failure = Usage("--%s needs a value", name)
			}
		}
		return s
	}
	toggle := func(name string) bool {
		p := one(name)
		if p == nil {
			return false
		}
		b, err := strconv.ParseBool(*p)
		if err != nil && failure == nil {
			failure = Usage("--%s: %q is not true or false", name, *p)
		}
		return b
	}
	l.JSON, l.NoColor, l.Insecure, l.Server = toggle("json"), toggle("no-color"), toggle("insecure"), text("server")
	l.Help = toggle("help")
	toggle("version") // is answered before, unless it is no switch
	if w.Has(word.OptionInput) {
		l.Input = one(word.OptionInput)
	}
	if w.Has(word.OptionYes) {
		l.Yes = toggle(word.OptionYes)
	}
	if w.Has(word.OptionSelf) {
		l.Self = toggle(word.OptionSelf)
	}
	if w.Has(word.OptionQuiet) {
		l.Quiet = toggle(word.OptionQuiet)
	}
	if w.Has(word.OptionSince) {
		l.Since = text(word.OptionSince)
	}
	if w.Has(word.OptionOutput) {
		l.Output = text(word.OptionOutput)
	}
	if w.Has(word.OptionTimeout) {
		if s := text(word.OptionTimeout); s != "" && failure == nil {
			l.Timeout, failure = seconds(s)
		}
	}
	if failure != nil {
		return nil, failure
	}
	return l, nil
}

func seconds(s string) (time.Duration, *kernelcontract.Error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n <= 0 || n > MaxTimeout.Seconds() {
		return 0, Usage("--timeout: %q is not a number of seconds above 0", s)
	}
	return max(time.Duration(n*float64(time.Second)), 1), nil
}
