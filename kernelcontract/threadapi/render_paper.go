package threadapi

import (
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/text"
)

// style is how a text looks on a screen with colours: a sequence that selects it, "" for plain text.
type style string

// The styles of conversations.
const (
	plain   style = ""
	strong  style = "\x1b[1m"
	faint   style = "\x1b[2m"
	bad     style = "\x1b[31m"
	good    style = "\x1b[32m"
	caution style = "\x1b[33m"
	accent  style = "\x1b[36m"
	unstyle       = "\x1b[0m"
)

// step is how far what belongs to something stands to the right of it, in columns.
const step = 2

// maxDepth bounds how deep tasks are shown to be nested: deeper ones would leave no room for text.
const maxDepth = 6

// paper is text on its way to a terminal. It knows whether a line has begun, so that text can arrive in pieces.
type paper struct {
	b     strings.Builder
	color bool
	mid   bool // the current line has something on it
}

// put writes text of foreign origin, each of its lines indented and styled. The last line stays open.
func (p *paper) put(look style, indent int, s string) {
	s = text.Strip(s)
	for len(s) > 0 {
		line, rest, ended := strings.Cut(s, "\n")
		if line != "" {
			if !p.mid {
				p.b.WriteString(strings.Repeat(" ", indent))
			}
			p.mid = true
			if p.color && look != plain {
				p.b.WriteString(string(look) + line + unstyle)
			} else {
				p.b.WriteString(line)
			}
		}
		if ended {
			p.b.WriteByte('\n')
			p.mid = false
		}
		s = rest
	}
}

// end ends the line that is open.
func (p *paper) end() {
	if p.mid {
		p.b.WriteByte('\n')
		p.mid = false
	}
}

// line writes lines of their own.
func (p *paper) line(look style, indent int, s string) {
	p.end()
	p.put(look, indent, strings.TrimRight(s, "\n"))
	p.end()
}

// take returns what was written since the last time.
func (p *paper) take() string {
	s := p.b.String()
	p.b.Reset()
	return s
}

// cut shortens a line to so many columns.
func cut(s string, width int) string {
	s = strings.Join(strings.Fields(text.Strip(s)), " ")
	if text.Width(s) <= width {
		return s
	}
	used := 0
	for i, r := range s {
		if used += text.Width(string(r)); used >= width {
			return s[:i] + "…"
		}
	}
	return s
}

// head returns the first lines of s, with how many follow.
func head(s string, lines int) (first string, more int) {
	s = strings.TrimRight(s, "\n")
	at := 0
	for range lines {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return s, 0
		}
		at += i + 1
	}
	return s[:at], strings.Count(s[at:], "\n") + 1
}
