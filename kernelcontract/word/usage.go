package word

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// Option is a flag that words have beside their fields.
type Option struct {
	Flag        string // without dashes
	Short       string // one letter, "" for none
	Placeholder string // "" for a switch
	Description string
}

// options describes the conditional flags in their documented order.
var options = []Option{
	{Flag: OptionYes, Description: "Do it without asking"},
	{Flag: OptionSelf, Description: "The current thread"},
	{Flag: OptionSince, Placeholder: "<cursor>", Description: "Go on after this cursor"},
	{Flag: OptionTimeout, Placeholder: "<seconds>", Description: "Give up after so many seconds"},
	{Flag: OptionQuiet, Description: "No progress on standard error"},
	{Flag: OptionOutput, Placeholder: "<path>", Description: "Write the file there"},
	{Flag: OptionInput, Placeholder: "<json|@file|->", Description: "The whole input as JSON; other flags override it"},
}

// OptionsOf describes the flags that w has beside its fields, in their documented order.
func OptionsOf(w *Word) []Option {
	var out []Option
	for _, o := range options {
		if w.Has(o.Flag) {
			out = append(out, o)
		}
	}
	return out
}

// GlobalOptions describes the flags that every word has.
func GlobalOptions() []Option {
	return []Option{
		{Flag: "json", Description: "Print the result as JSON, a stream as one line an item"},
		{Flag: "server", Placeholder: "<url>", Description: "The server to call (default: $BB_SERVER_URL, else http://127.0.0.1:38886)"},
		{Flag: "insecure", Description: "Send the token over plain HTTP to another machine"},
		{Flag: "no-color", Description: "No colours"},
		{Flag: "help", Short: "h", Description: "Show this help"},
		{Flag: "version", Description: "Show the version of bb"},
	}
}

// UsageLine returns the word's usage: "bb hello greet <name> [--salutation <string>]". Positionals come by index, then
// required flags, then optional ones in schema order, then the word's options except --input.
func UsageLine(w *Word) string {
	parts := append([]string{"bb"}, w.Path()...)
	for _, f := range w.Positionals() {
		if !f.Hidden {
			parts = append(parts, f.Placeholder)
		}
	}
	for _, required := range []bool{true, false} {
		for i := range w.Fields {
			f := &w.Fields[i]
			if f.Position == nil && !f.Hidden && f.Required == required {
				parts = append(parts, usageFlag(f))
			}
		}
	}
	for _, o := range OptionsOf(w) {
		if o.Flag != OptionInput {
			parts = append(parts, "["+withValue("--"+o.Flag, o.Placeholder)+"]")
		}
	}
	return strings.Join(parts, " ")
}

func usageFlag(f *Field) string {
	name := "--" + f.Flag
	if f.Negatable {
		name = "--[no-]" + f.Flag
	}
	s := withValue(name, f.Placeholder)
	if !f.Required {
		s = "[" + s + "]"
	}
	if f.Repeats() {
		s += "…"
	}
	return s
}

func withValue(flag, placeholder string) string {
	if placeholder == "" {
		return flag
	}
	return flag + " " + placeholder
}

// Row is a line of help: how something is written, and what it does.
type Row struct{ Form, Text string }

// FlagRows returns the help of the word's positionals, flags and options, in the order of its usage. Hidden fields
// are left out, and so is --input, which every word with fields has. No row has a line break.
func FlagRows(w *Word) []Row {
	var rows []Row
	for _, f := range w.Positionals() {
		if !f.Hidden {
			rows = append(rows, Row{f.Placeholder, fieldText(f)})
		}
	}
	for _, required := range []bool{true, false} {
		for i := range w.Fields {
			f := &w.Fields[i]
			if f.Position == nil && !f.Hidden && f.Required == required {
				rows = append(rows, Row{flagForm(f), fieldText(f)})
			}
		}
	}
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Secret {
			rows = append(rows, Row{"standard input", fieldText(f)})
		}
	}
	for _, o := range OptionsOf(w) {
		if o.Flag != OptionInput {
			rows = append(rows, OptionRow(o))
		}
	}
	return rows
}

// OptionRow returns the help of an option.
func OptionRow(o Option) Row {
	form := withValue("--"+o.Flag, o.Placeholder)
	if o.Short != "" {
		form = "-" + o.Short + ", " + form
	}
	return Row{form, o.Description}
}

func flagForm(f *Field) string {
	var names []string
	if f.Short != "" {
		names = append(names, "-"+f.Short)
	}
	if f.Negatable {
		names = append(names, "--[no-]"+f.Flag)
	} else {
		names = append(names, "--"+f.Flag)
	}
	for _, a := range f.Aliases {
		names = append(names, "--"+a)
	}
	return withValue(strings.Join(names, ", "), f.Placeholder)
}

func fieldText(f *Field) string {
	var notes []string
	note := func(s string) { notes = append(notes, "("+s+")") }
	if f.Required && f.Position == nil && !f.Secret {
		note("required")
	}
	if f.Position != nil && f.Form == Choice {
		note(strings.Join(ChoiceTexts(f), "|"))
	}
	if f.Bounds != "" {
		note(f.Bounds)
	}
	if f.Position == nil && f.Repeats() {
		note("repeatable")
	}
	file, stdin := f.ReadsFile()
	switch {
	case f.Secret:
		note("asked for on a terminal")
	case f.Hidden:
	case file && stdin:
		note("@file and - read it")
	case file:
		note("@file reads it")
	case stdin:
		note("- reads standard input")
	}
	if f.Env != "" {
		note("env: " + f.Env)
	}
	switch {
	case f.Ambient != "":
		note("default: " + f.Ambient.Current())
	case f.Default != nil && string(f.Default) != "null":
		note("default: " + textOf(f.Default))
	}
	return strings.TrimSpace(strings.Join(append([]string{f.Description}, notes...), " "))
}

// Help returns the usage line and the flags, without blank lines: the block that docs and the command line share.
func Help(w *Word) string {
	var b strings.Builder
	b.WriteString("Usage: " + UsageLine(w) + "\n")
	for i, r := range FlagRows(w) {
		head := "       "
		if i == 0 {
			head = "Flags: "
		}
		b.WriteString(strings.TrimRight(head+r.Form+"   "+r.Text, " ") + "\n")
	}
	return b.String()
}

// CommandLine returns the command that calls w with the input, quoted for a POSIX shell: what the defaults say is left
// out, and what words cannot say is given as --input.
func CommandLine(w *Word, input json.RawMessage) string {
	args, ok := Words(w, withoutDefaults(w, input))
	if !ok {
		args, ok = Words(w, input)
	}
	if !ok {
		args = []string{"--" + OptionInput, string(input)}
	}
	parts := append([]string{"bb"}, w.Path()...)
	for _, a := range args {
		parts = append(parts, quote(a))
	}
	return strings.Join(parts, " ")
}

// withoutDefaults drops the members that the server fills in alike.
func withoutDefaults(w *Word, input json.RawMessage) json.RawMessage {
	members, err := decodeObject(input)
	if err != nil {
		return input
	}
	out := []byte{'{'}
	for _, m := range members {
		if f := w.Field(m.Name); f != nil && f.Default != nil && f.Ambient == "" && jsontext.Equal(f.Default, m.Raw) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(m.Name) // a string always encodes
		out = append(append(append(out, name...), ':'), m.Raw...)
	}
	return append(out, '}')
}

// quote quotes a word for a POSIX shell when it must be.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r) || r > 0x9f
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// FlagNames returns every long flag that the word takes, without dashes: its fields' with aliases and negations, its
// options, and the global ones. Hidden fields are among them.
func FlagNames(w *Word) []string {
	var names []string
	for i := range w.Fields {
		f := &w.Fields[i]
		if f.Position != nil || f.Secret {
			continue
		}
		names = append(append(names, f.Flag), f.Aliases...)
		if f.Negatable {
			names = append(names, "no-"+f.Flag)
		}
	}
	names = append(names, w.Options...)
	for _, o := range GlobalOptions() {
		names = append(names, o.Flag)
	}
	return slices.Compact(names)
}
