package doctest

import (
	"fmt"
	"regexp"
	"strings"
)

// Command is one command of a console block with the output shown below it.
type Command struct {
	Place      string
	Text       string   // what is typed; several lines when continued
	Background bool     // it ended in &
	Want       []string // the lines shown; none: the output does not matter
}

// Commands splits a console block: `$ ` begins a command, `> ` directly below continues it, a trailing backslash too,
// and every other line is its output.
func (b Block) Commands() ([]Command, error) {
	var (
		commands  []Command
		continued bool
	)
	line := b.Line
	for raw := range strings.Lines(b.Text) {
		line++
		raw = strings.TrimRight(raw, " \n")
		text, begins := strings.CutPrefix(raw, "$ ")
		more, continues := strings.CutPrefix(raw+" ", "> ") // an empty line is a lone >
		switch {
		case begins:
			commands = append(commands, Command{Place: fmt.Sprintf("%s:%d", b.File, line), Text: text})
			continued = true
		case len(commands) == 0:
			return nil, fmt.Errorf("%s:%d: output before any command: begin commands with `$ `", b.File, line)
		case continued && continues:
			commands[len(commands)-1].Text += "\n" + strings.TrimSuffix(more, " ")
		case continued && strings.HasSuffix(commands[len(commands)-1].Text, `\`):
			commands[len(commands)-1].Text += "\n" + raw
		default:
			continued = false
			commands[len(commands)-1].Want = append(commands[len(commands)-1].Want, raw)
		}
	}
	for i := range commands {
		c := &commands[i]
		c.Text, c.Background = strings.CutSuffix(c.Text, " &")
		for len(c.Want) > 0 && c.Want[len(c.Want)-1] == "" {
			c.Want = c.Want[:len(c.Want)-1]
		}
	}
	return commands, nil
}

// anything matches any text in a line of output, and any number of lines when it stands alone.
const anything = "…"

// Matches tells whether a command's output is what was shown: line by line, trailing white space aside.
func Matches(want []string, output string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for _, line := range want {
		if strings.TrimSpace(line) == anything {
			pattern.WriteString(`(?:[^\n]*\n)*`)
			continue
		}
		for i, part := range strings.Split(line, anything) {
			if i > 0 {
				pattern.WriteString(`[^\n]*`)
			}
			pattern.WriteString(regexp.QuoteMeta(part))
		}
		pattern.WriteString(`[ \t\r]*\n`)
	}
	pattern.WriteString(`\n*\z`)
	return regexp.MustCompile(pattern.String()).MatchString(strings.TrimRight(output, "\n") + "\n")
}
