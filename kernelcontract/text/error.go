package text

import (
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Error renders a failure: "code: message", then a line for each issue. It is stripped like any foreign text.
func Error(e *kernelcontract.Error, r kernelcontract.Render) string {
	p := printer{color: r.Color}
	var b strings.Builder
	b.WriteString(p.paint(red, oneLine(Strip(string(e.Code)))))
	if e.Message != "" {
		b.WriteString(": " + Strip(e.Message))
	}
	for _, issue := range e.Issues {
		b.WriteString("\n  ")
		if len(issue.Path) > 0 {
			b.WriteString(p.paint(bold, oneLine(Strip(schema.PathString(issue.Path)))+":") + " ")
		}
		b.WriteString(oneLine(Strip(issue.Message)))
	}
	return b.String()
}
