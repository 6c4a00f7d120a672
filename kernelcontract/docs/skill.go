package docs

import (
	"maps"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// SkillOptions says what the reader of a skill has at hand.
type SkillOptions struct {
	ActiveTools     []string // names of the tools that the session has
	DisabledPlugins []string // ids
}

// SkillReference renders the index of commands for an agent's skill: groups sorted, one line a visible word, and no prose
// beyond the authors' summaries. A method whose tool is active is named by the tool instead of its command.
func SkillReference(methods []MethodDoc, o SkillOptions) string {
	groups := map[string][]*MethodDoc{}
	for i := range methods {
		d := &methods[i]
		if d.CLI == nil || d.CLI.Hidden {
			continue
		}
		path := d.CLI.Path()
		group := strings.Join(append([]string{"bb"}, path[:len(path)-1]...), " ")
		groups[group] = append(groups[group], d)
	}
	var w writer
	for i, group := range slices.Sorted(maps.Keys(groups)) {
		if i > 0 {
			w.line("")
		}
		w.line("## " + group)
		for _, d := range groups[group] {
			w.skill(d, o)
		}
	}
	return text.Strip(w.String())
}

func (w *writer) skill(d *MethodDoc, o SkillOptions) {
	s := "- `" + word.UsageLine(d.CLI) + "`"
	active := d.Tool != nil && slices.Contains(o.ActiveTools, d.Tool.Name)
	if active {
		s = "- use the " + d.Tool.Name + " tool"
	}
	if slices.Contains(o.DisabledPlugins, d.PluginID) {
		s += " (disabled)"
	}
	w.line(s + ": " + d.Summary)
	if notes := fills(d.CLI); len(notes) > 0 && !active {
		w.line("  Filled when omitted: " + strings.Join(notes, ", ") + ".")
	}
	if d.Destructive {
		w.line("  Destructive: confirm with the user first.")
	}
}

// fills lists what the context fills of a word's fields.
func fills(w *word.Word) []string {
	var out []string
	for i := range w.Fields {
		f := &w.Fields[i]
		if f.Ambient != "" && !f.Hidden {
			out = append(out, f.Label()+" ("+f.Ambient.Current()+")")
		}
	}
	return out
}
