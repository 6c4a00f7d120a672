package threadapi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// item is what an agent did, of any core kind (docs/spec/bridges-protocol.md): the fields of all kinds.
type item struct {
	Kind       string          `json:"kind"`
	Text       string          `json:"text"`
	Summary    *string         `json:"summary"`
	Path       *string         `json:"path"`
	PreTokens  *int64          `json:"preTokens"`
	PostTokens *int64          `json:"postTokens"`
	Command    string          `json:"command"`
	Output     *string         `json:"output"`
	ExitCode   *int64          `json:"exitCode"`
	DurationMS *int64          `json:"durationMs"`
	Approval   string          `json:"approval"`
	Tool       string          `json:"tool"`
	Server     *string         `json:"server"`
	Arguments  json.RawMessage `json:"arguments"`
	Result     *string         `json:"result"`
	Error      *string         `json:"error"`
	Changes    []fileChange    `json:"changes"`
	Label      string          `json:"label"`
	Background bool            `json:"background"`
	OutputFile *string         `json:"outputFile"`
}

// fileChange is what became of one file.
type fileChange struct {
	Path     string  `json:"path"`
	Change   string  `json:"change"`
	MovePath *string `json:"movePath"`
	Diff     *string `json:"diff"`
}

// look is how a bridge wants an item shown.
type look struct {
	Label    string `json:"label"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	Suppress bool   `json:"suppress"`
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// name says in one line what an item is; "" for text.
func (i *item) name(l look, width int) string {
	switch i.Kind {
	case RowMessage, RowReasoning, RowCompaction:
		return ""
	case RowPlan:
		return "Plan"
	case RowCommand:
		return "$ " + i.Command
	case RowFileChange:
		return "files"
	case RowTask:
		return cut("+ "+first(l.Title, i.Label, l.Label), width)
	case RowTool:
		if l.Title != "" {
			return cut("* "+l.Title, width)
		}
		name := i.Tool
		if s := deref(i.Server); s != "" {
			name = s + "." + name
		}
		if args := string(i.Arguments); args != "" && args != "null" && args != "{}" {
			name += " " + args
		}
		return cut("* "+name, width)
	}
	said := strings.TrimSpace(l.Label + " " + l.Title + " " + l.Detail)
	return cut("* "+first(said, i.Kind), width)
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// outcome says in a few words how an item ended; "" when there is nothing to say.
func (i *item) outcome(status string) (string, style) {
	var took string
	if i.DurationMS != nil {
		took = " after " + duration(*i.DurationMS)
	}
	switch {
	case i.Approval == "denied":
		return "denied", caution
	case status == "interrupted":
		return "interrupted" + took, caution
	case i.Kind == RowCommand && i.ExitCode != nil && *i.ExitCode != 0:
		return fmt.Sprintf("exit %d%s", *i.ExitCode, took), bad
	case status == "failed":
		return "failed" + took, bad
	case i.Kind == RowCommand && i.ExitCode != nil:
		return "exit 0" + took, faint
	}
	return "", plain
}

// duration is a time for people.
func duration(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	}
	return fmt.Sprintf("%d min %d s", ms/60_000, ms/1000%60)
}

// count is a number of tokens for people.
func count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// summary says in one line what became of a file: "~ a.go +3 -1".
func (c fileChange) summary() string {
	mark := map[string]string{"add": "+", "delete": "-"}[c.Change]
	if mark == "" {
		mark = "~"
	}
	s := mark + " " + c.Path
	if c.MovePath != nil {
		s += " -> " + *c.MovePath
	}
	if c.Diff == nil {
		return s
	}
	added, removed := 0, 0
	for line := range strings.SplitSeq(*c.Diff, "\n") {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return fmt.Sprintf("%s +%d -%d", s, added, removed)
}

// changes lists what became of files.
func (p *paper) changes(indent int, cs []fileChange) {
	for _, c := range cs {
		p.line(plain, indent, c.summary())
	}
}

// maxDiff bounds how many lines of a diff are shown: a person decides on what fits some screens, and is told of the rest.
const maxDiff = 200

// diffs shows changes of files line by line.
func (p *paper) diffs(indent int, cs []fileChange) {
	for _, c := range cs {
		p.line(strong, indent, c.summary())
		if c.Diff == nil {
			continue
		}
		shown, more := head(*c.Diff, maxDiff)
		for line := range strings.SplitSeq(strings.TrimRight(shown, "\n"), "\n") {
			s := plain
			switch {
			case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
				continue // the summary has the names
			case strings.HasPrefix(line, "+"):
				s = good
			case strings.HasPrefix(line, "-"):
				s = bad
			case strings.HasPrefix(line, "@@"):
				s = accent
			}
			p.line(s, indent+step, line)
		}
		p.more(indent+step, more)
	}
}

// more says that lines were left out.
func (p *paper) more(indent, n int) {
	if n > 0 {
		p.line(faint, indent, fmt.Sprintf("… %d more lines", n))
	}
}
