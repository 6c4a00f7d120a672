package cli

import (
	"context"
	"embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// completeWord is the hidden word that completion scripts call: `bb __complete -- WORDS… CURRENT` prints a line for each
// candidate, name and description parted by a tab.
const completeWord = "__complete"

//go:embed completion
var scripts embed.FS

// shells lists the shells with a completion script.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// completion answers `bb completion`.
func (a *app) completion(input json.RawMessage) int {
	var in struct {
		Shell string `json:"shell"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return a.fail(asFailure("the input", err), false)
	}
	script, err := scripts.ReadFile("completion/" + in.Shell)
	if err != nil {
		return a.fail(asFailure("the script", err), false)
	}
	if _, err := a.cached(); err != nil {
		a.err.print("bb: no server's words are known yet; they are learned from " + flat(a.serverURL()) + " when it answers")
	}
	a.out.print(string(script))
	return kernelcontract.ExitOK
}

// complete answers the hidden word. It never fails: the shell has its own completion for the rest.
func (a *app) complete(args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		args = []string{""}
	}
	before, current := args[:len(args)-1], args[len(args)-1]
	a.globals = scan(before)
	a.globals.json, a.globals.help = false, false
	seen := map[string]bool{}
	for _, r := range a.candidates(before, current) {
		if strings.HasPrefix(r.Form, current) && !seen[r.Form] {
			seen[r.Form] = true
			a.out.print(flat(r.Form) + "\t" + flat(r.Text))
		}
	}
	return kernelcontract.ExitOK
}

// candidates lists what may stand at the place of current, with descriptions.
func (a *app) candidates(before []string, current string) []word.Row {
	if slices.Contains(before, "--") {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.ctx, completeWait)
	defer cancel()
	c, err := a.catalog(ctx)
	if err != nil {
		c = nil
	}
	l := leading(before)
	if n := len(before); n > 0 && before[n-1] == "--server" {
		return nil
	}
	if len(l.words) == 0 {
		if strings.HasPrefix(current, "-") {
			return flagRows(&word.Word{}, nil)
		}
		return a.topCandidates(c)
	}
	if b, n := a.builtin(l.words); b != nil {
		rows := wordCandidates(b.word, l.without(before, n), current)
		return append(rows, a.below(b, c, l.without(before, n))...)
	}
	if r, n, err := a.offline.find(l.words); err == nil && r != nil {
		return wordCandidates(r.Word, l.without(before, n), current)
	}
	if c == nil {
		return nil
	}
	m, _, err := a.lookup(c, l.words, before)
	switch {
	case err != nil || m == nil:
		return nil
	case m.group != nil && strings.HasPrefix(current, "-"):
		return flagRows(&word.Word{}, nil)
	case m.group != nil:
		return groupCandidates(m)
	}
	rest := l.without(before, m.n)
	rows := append(wordCandidates(m.record.Word, rest, current), a.ids(m.record.Word, rest, current)...)
	if g := c.Group(l.words[0]); g != nil && m.n == 1 && len(l.words) == 1 { // a group of the same name
		if head, err := c.Head(g.File); err == nil {
			rows = append(rows, groupCandidates(&match{group: g, head: head, path: l.words[:1]})...)
		}
	}
	return rows
}

// below lists what a built-in word takes that only the catalog knows.
func (a *app) below(b *builtin, c *cache.Catalog, args []string) []word.Row {
	if len(args) > 0 || c == nil {
		return nil
	}
	var rows []word.Row
	switch strings.Join(b.word.Path(), " ") {
	case "guide":
		rows = append(rows, word.Row{Form: "reference", Text: "Read the reference of a plugin"})
		chapters, err := c.Guide()
		if err != nil {
			return rows
		}
		for _, ch := range chapters {
			rows = append(rows, word.Row{Form: ch.Name, Text: ch.Title})
		}
	case "guide reference":
		for _, p := range c.Index.Plugins {
			rows = append(rows, word.Row{Form: p.ID})
		}
	}
	return rows
}

func (a *app) topCandidates(c *cache.Catalog) []word.Row {
	var rows []word.Row
	if c != nil {
		for _, g := range c.Index.Groups {
			if g.Visible() {
				rows = append(rows, word.Row{Form: g.Name, Text: g.Summary})
			}
		}
		if c.Index.Root != nil {
			if head, err := c.Head(*c.Index.Root); err == nil {
				for _, w := range head.Words {
					if !w.Hidden && w.Flag == "" {
						rows = append(rows, word.Row{Form: w.Name, Text: w.Summary})
					}
				}
			}
		}
	}
	if a.offline.tree != nil {
		for _, g := range a.offline.tree.Groups() {
			if len(g.Path) > 0 {
				rows = append(rows, word.Row{Form: g.Path[0], Text: g.Summary})
			}
		}
	}
	for _, b := range a.builtins() {
		if len(b.word.Path()) == 1 {
			rows = append(rows, word.Row{Form: b.word.Name, Text: b.word.Summary})
		}
	}
	return rows
}

func groupCandidates(m *match) []word.Row {
	var rows []word.Row
	for _, w := range m.head.Words {
		if slices.Equal(m.head.Paths[w.Path].Words, m.path) && w.Flag == "" && !w.Hidden {
			rows = append(rows, word.Row{Form: w.Name, Text: w.Summary})
		}
	}
	for _, p := range m.head.Paths {
		if len(p.Words) == len(m.path)+1 && slices.Equal(p.Words[:len(m.path)], m.path) {
			rows = append(rows, word.Row{Form: p.Words[len(m.path)], Text: p.Summary})
		}
	}
	return rows
}

// wordCandidates lists flags, values of a flag, or values of the next positional.
func wordCandidates(w *word.Word, before []string, current string) []word.Row {
	f, prefix, flag := wanted(w, before, current)
	switch {
	case f != nil:
		return choiceRows(f, prefix)
	case flag:
		return flagRows(w, before)
	}
	return nil
}

// wanted returns the field whose value stands at the place of current, with what stands before the value there; nil: none
// does. flag says that a flag is begun.
func wanted(w *word.Word, before []string, current string) (f *word.Field, prefix string, flag bool) {
	if n := len(before); n > 0 {
		if f := valueFlag(w, before[n-1]); f != nil {
			return f, "", false
		} else if optionTakesValue(w, before[n-1]) {
			return nil, "", false
		}
	}
	if name, _, hasValue := strings.Cut(current, "="); hasValue && strings.HasPrefix(name, "--") {
		return valueFlag(w, name), name + "=", false
	}
	if strings.HasPrefix(current, "-") {
		return nil, "", true
	}
	return nextPositional(w, before), "", false
}

// valueFlag returns the field whose flag an argument is, when it takes a value.
func valueFlag(w *word.Word, arg string) *word.Field {
	for i := range w.Fields {
		f := &w.Fields[i]
		if f.Position != nil || f.Secret || f.Form == word.Boolean && !f.List {
			continue
		}
		if arg == "--"+f.Flag || f.Short != "" && arg == "-"+f.Short || strings.HasPrefix(arg, "--") && slices.Contains(f.Aliases, arg[2:]) {
			return f
		}
	}
	return nil
}

func optionTakesValue(w *word.Word, arg string) bool {
	return slices.ContainsFunc(append(word.OptionsOf(w), word.GlobalOptions()...), func(o word.Option) bool {
		return o.Placeholder != "" && arg == "--"+o.Flag
	})
}

func choiceRows(f *word.Field, prefix string) []word.Row {
	var rows []word.Row
	for _, t := range word.ChoiceTexts(f) {
		rows = append(rows, word.Row{Form: prefix + t})
	}
	return rows
}

// flagRows lists the long flags that can still be given.
func flagRows(w *word.Word, before []string) []word.Row {
	var rows []word.Row
	add := func(flag, text string, again bool) {
		used := slices.ContainsFunc(before, func(b string) bool { return b == "--"+flag || strings.HasPrefix(b, "--"+flag+"=") })
		if !used || again {
			rows = append(rows, word.Row{Form: "--" + flag, Text: text})
		}
	}
	for i := range w.Fields {
		f := &w.Fields[i]
		if f.Position != nil || f.Hidden {
			continue
		}
		add(f.Flag, f.Description, f.Repeats())
		if f.Negatable {
			add("no-"+f.Flag, f.Description, false)
		}
	}
	for _, o := range append(word.OptionsOf(w), word.GlobalOptions()...) {
		add(o.Flag, o.Description, false)
	}
	return rows
}

// nextPositional returns the field that the next word goes to.
func nextPositional(w *word.Word, before []string) *word.Field {
	n := 0
	for i := 0; i < len(before); i++ {
		switch b := before[i]; {
		case valueFlag(w, b) != nil || optionTakesValue(w, b):
			i++
		case len(b) > 1 && b[0] == '-':
		default:
			n++
		}
	}
	fields := w.Positionals()
	if n < len(fields) {
		return fields[n]
	}
	if len(fields) > 0 && fields[len(fields)-1].Variadic {
		return fields[len(fields)-1]
	}
	return nil
}
