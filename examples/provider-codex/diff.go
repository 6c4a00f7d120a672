package codex

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// unified is a change of Codex as a unified diff with file headers. Of a file that is added or deleted Codex gives the text,
// of one that is updated the hunks. "" is a change that the bridge cannot show, such as that of an empty file.
func unified(p protocol.PathChange, diff string) string {
	from, to := header("a/", p.Path), header("b/", p.Path)
	switch {
	case strings.HasPrefix(diff, "--- "): // it has headers
		return diff
	case diff == "":
		return ""
	case p.Change == protocol.ChangeAdd:
		return "--- /dev/null\n+++ " + to + "\n" + whole('+', diff)
	case p.Change == protocol.ChangeDelete:
		return "--- " + from + "\n+++ /dev/null\n" + whole('-', diff)
	}
	if p.MovePath != nil {
		to = header("b/", *p.MovePath)
	}
	at := strings.Index("\n"+diff, "\n@@ ")
	if at < 0 {
		return ""
	}
	diff = diff[at:] // Codex puts a note about a move behind the hunks
	if end := strings.Index(diff, "\n\nMoved to: "); end >= 0 {
		diff = diff[:end]
	}
	if !strings.HasSuffix(diff, "\n") {
		diff += "\n"
	}
	return "--- " + from + "\n+++ " + to + "\n" + diff
}

// header is a file in the header of a diff.
func header(prefix, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return prefix + path
}

// whole is the hunk of a file that comes or goes.
func whole(sign byte, text string) string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	var b strings.Builder
	if sign == '+' {
		fmt.Fprintf(&b, "@@ -0,0 +1,%d @@\n", len(all))
	} else {
		fmt.Fprintf(&b, "@@ -1,%d +0,0 @@\n", len(all))
	}
	for _, line := range all {
		b.WriteByte(sign)
		b.WriteString(line)
	}
	if !strings.HasSuffix(text, "\n") {
		b.WriteString("\n\\ No newline at end of file\n")
	}
	return b.String()
}
