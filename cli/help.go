package cli

import (
	"slices"
	"strings"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// plain folds text into one line without control sequences.
func (a *app) plain(s string) string { return strings.Join(strings.Fields(text.Strip(s)), " ") }

// maxForm is how far the first column of a help table may reach; longer forms get a line of their own.
const maxForm = 30

// table sets rows in two columns, fitted to the width.
func (a *app) table(rows []word.Row) string {
	form := 0
	for _, r := range rows {
		if n := text.Width(r.Form); n <= maxForm {
			form = max(form, n)
		}
	}
	room := max(a.width()-form-4, kernelcontract.MinWidth)
	var b strings.Builder
	for _, r := range rows {
		lines := wrap(a.plain(r.Text), room)
		first := a.plain(r.Form)
		used := text.Width(first)
		b.WriteString("  " + first)
		if used > form && len(lines) > 0 {
			b.WriteByte('\n')
			used = -2
		}
		for i, l := range lines {
			if i > 0 {
				b.WriteByte('\n')
				used = -2
			}
			b.WriteString(strings.Repeat(" ", form-used+2) + l)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wrap breaks a line between words.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(s) {
		if line != "" && text.Width(line)+1+text.Width(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// globalRows is the help of the flags that every word has.
func globalRows() []word.Row {
	var rows []word.Row
	for _, o := range word.GlobalOptions() {
		rows = append(rows, word.OptionRow(o))
	}
	return rows
}

// topHelp prints the words of the top level. Without a catalog it shows what is built in, and says why.
func (a *app) topHelp(to *sink) {
	c, err := a.catalog(a.ctx)
	var b strings.Builder
	b.WriteString("Usage: bb <group> <word> [arguments] [flags]\n")
	var groups, words []word.Row
	groupWords := map[string]*cache.Group{}
	if c != nil {
		a.warnConflicts(c)
		for i := range c.Index.Groups {
			groupWords[c.Index.Groups[i].Name] = &c.Index.Groups[i]
		}
		if c.Index.Root != nil {
			if head, err := c.Head(*c.Index.Root); err == nil {
				for _, w := range head.Words {
					if w.Hidden || w.Alias || w.Flag != "" {
						continue
					}
					words = append(words, foldedRow(w, groupWords[w.Name]))
					delete(groupWords, w.Name)
				}
			}
		}
		for i := range c.Index.Groups {
			g := &c.Index.Groups[i]
			if groupWords[g.Name] == nil || g.AliasOf != "" || len(g.Words) == 0 {
				continue
			}
			groups = append(groups, groupRow(c, g))
		}
	}
	groups = append(groups, a.offlineRows(groupWords)...)
	section := func(title string, rows []word.Row) {
		if len(rows) > 0 {
			b.WriteString("\n" + title + "\n" + a.table(rows))
		}
	}
	section("Groups:", groups)
	section("Words:", words)
	var own []word.Row
	for _, bw := range a.builtins() {
		if len(bw.word.Path()) == 1 {
			own = append(own, word.Row{Form: bw.word.Name, Text: bw.word.Summary})
		}
	}
	section("Built in:", own)
	section("Flags of every word:", globalRows())
	b.WriteByte('\n')
	if err != nil {
		b.WriteString("The server's words are missing: " + a.why(err) + "\n")
	}
	b.WriteString("`bb <group> --help` lists a group's words, `bb <group> <word> --help` explains one.")
	to.print(text.Strip(b.String()))
}

// foldedRow is the line of a top-level word. A group of the same name is folded into it.
func foldedRow(w cache.Word, g *cache.Group) word.Row {
	r := word.Row{Form: w.Name, Text: w.Summary}
	if g != nil && len(g.Words) > 0 {
		r.Text += " (also: " + wordList(g) + ")"
	}
	return r
}

func groupRow(c *cache.Catalog, g *cache.Group) word.Row {
	names := []string{g.Name}
	for _, other := range c.Index.Groups {
		if other.AliasOf == g.Name {
			names = append(names, other.Name)
		}
	}
	summary := g.Summary
	if summary != "" {
		summary += ": "
	}
	return word.Row{Form: strings.Join(names, ", "), Text: summary + wordList(g)}
}

func wordList(g *cache.Group) string {
	s := strings.Join(g.Words, ", ")
	if g.More > 0 {
		s += ", and " + jsonNumber(uint64(g.More)) + " more"
	}
	return s
}

// offlineRows is the help of words that run here and that the catalog does not list.
func (a *app) offlineRows(listed map[string]*cache.Group) []word.Row {
	if a.offline.tree == nil {
		return nil
	}
	var rows []word.Row
	for _, g := range a.offline.tree.Groups() {
		if len(g.Path) == 0 || listed[g.Path[0]] != nil || g.AliasOf != nil {
			continue
		}
		var names []string
		for _, e := range g.Words {
			if !e.Hidden && !e.Alias {
				names = append(names, e.Name)
			}
		}
		if len(names) > 0 {
			rows = append(rows, word.Row{Form: strings.Join(g.Path, " "), Text: g.Summary + ": " + strings.Join(names, ", ")})
		}
	}
	return rows
}

// groupHelp prints the words of a group, hidden ones too.
func (a *app) groupHelp(to *sink, m *match) {
	var b strings.Builder
	said := strings.Join(m.path, " ")
	b.WriteString("Usage: bb " + said + " <word> [arguments] [flags]\n")
	var rows []word.Row
	for i, p := range m.head.Paths {
		if len(p.Words) < len(m.path) || !slices.Equal(p.Words[:len(m.path)], m.path) {
			continue
		}
		if len(p.Words) == len(m.path) && p.Summary != "" {
			b.WriteString(a.plain(p.Summary) + "\n")
		}
		names := map[int64][]string{} // with aliases, by record
		for _, w := range m.head.Words {
			if w.Path == i && w.Flag == "" {
				names[w.At] = append(names[w.At], w.Name)
			}
		}
		prefix := strings.Join(p.Words[len(m.path):], " ")
		for _, w := range m.head.Words {
			if w.Path != i || w.Alias || w.Flag != "" {
				continue
			}
			form := strings.TrimSpace(prefix + " " + strings.Join(names[w.At], ", "))
			rows = append(rows, word.Row{Form: form, Text: w.Summary})
		}
	}
	b.WriteString("\n" + a.table(rows))
	b.WriteString("\n`bb " + said + " <word> --help` explains one.")
	to.print(text.Strip(b.String()))
}

// wordHelp prints all that is known of a word, without blank lines.
func (a *app) wordHelp(to *sink, r *cache.Record) {
	w := r.Word
	var b strings.Builder
	b.WriteString("Usage: " + word.UsageLine(w) + "\n")
	b.WriteString(a.plain(w.Summary) + "\n")
	for line := range strings.SplitSeq(r.Description, "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " \t\r") + "\n")
		}
	}
	if len(w.Aliases) > 0 {
		b.WriteString("Also: " + strings.Join(w.Aliases, ", ") + "\n")
	}
	if w.Destructive {
		b.WriteString("Destructive: asks first on a terminal, and needs --yes elsewhere.\n")
	}
	if rows := word.FlagRows(w); len(rows) > 0 {
		b.WriteString("Flags:\n" + a.table(rows))
	}
	general := globalRows()
	for _, o := range word.OptionsOf(w) {
		if o.Flag == word.OptionInput {
			general = append([]word.Row{word.OptionRow(o)}, general...)
		}
	}
	b.WriteString("Flags of every word:\n" + a.table(general))
	for i, ex := range r.Examples {
		if i == 0 {
			b.WriteString("Examples:\n")
		}
		line := ex.CLI
		if line == "" {
			line = word.CommandLine(w, ex.Input)
		}
		line = a.plain(line)
		if ex.Note != "" {
			line += "  # " + a.plain(ex.Note)
		}
		b.WriteString("  " + line + "\n")
	}
	to.print(text.Strip(b.String()))
}
