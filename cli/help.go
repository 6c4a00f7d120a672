package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// flat folds text into one line without control sequences.
func flat(s string) string {
	s = text.Strip(s)
	if !strings.ContainsAny(s, "\n\t") && !strings.Contains(s, "  ") {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

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
		first := flat(r.Form)
		if r.Text == "" {
			b.WriteString("  " + first + "\n")
			continue
		}
		lines := wrap(flat(r.Text), room)
		used := text.Width(first)
		b.WriteString("  " + first)
		if used > form {
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
	if text.Width(s) <= width {
		return []string{s}
	}
	var lines []string
	start, end, used := 0, 0, 0 // of the line in s, and its columns
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], ' ')
		if n < 0 {
			n = len(s) - i
		}
		w := text.Width(s[i : i+n])
		if used > 0 && used+1+w > width {
			lines = append(lines, s[start:end])
			start, used = i, 0
		}
		if used > 0 {
			used++
		}
		used += w
		end = i + n
		i = end + 1
	}
	return append(lines, s[start:end])
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
	groupWords, aliases := map[string]*cache.Group{}, map[string]string{}
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
			if g.AliasOf != "" {
				aliases[g.AliasOf] += ", " + g.Name
			}
		}
		for i := range c.Index.Groups {
			g := &c.Index.Groups[i]
			if groupWords[g.Name] != nil && g.AliasOf == "" && g.Visible() {
				groups = append(groups, word.Row{Form: g.Name + aliases[g.Name], Text: strings.TrimPrefix(g.Summary+": "+wordList(g), ": ")})
			}
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
		own = append(own, word.Row{Form: strings.Join(bw.word.Path(), " "), Text: bw.word.Summary})
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
	if g != nil && g.Visible() {
		r.Text += " (also: " + wordList(g) + ")"
	}
	return r
}

func wordList(g *cache.Group) string {
	switch {
	case g.More == 0:
		return g.Words
	case g.Words == "":
		return strconv.Itoa(g.More) + " words"
	}
	return g.Words + ", and " + strconv.Itoa(g.More) + " more"
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
			b.WriteString(flat(p.Summary) + "\n")
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
	for _, own := range a.builtins() { // words that bb answers itself stand behind those of the server
		if at := own.word.Path(); len(at) > len(m.path) && slices.Equal(at[:len(m.path)], m.path) {
			rows = append(rows, word.Row{Form: strings.Join(at[len(m.path):], " "), Text: own.word.Summary})
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
	b.WriteString(flat(w.Summary) + "\n")
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
		line = flat(line)
		if ex.Note != "" {
			line += "  # " + flat(ex.Note)
		}
		b.WriteString("  " + line + "\n")
	}
	to.print(text.Strip(b.String()))
}
