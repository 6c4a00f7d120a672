package echo_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/matryer/is"
)

// TestReadmeListsTheWords compares the table of README.md with what the agent understands.
func TestReadmeListsTheWords(t *testing.T) {
	is := is.New(t)
	const head = "| prompt | what the agent does |\n| --- | --- |\n"
	var table strings.Builder
	for _, w := range echo.Words() {
		prompt := strings.ReplaceAll(strings.TrimSpace(w.Name+" "+w.Usage), "|", `\|`)
		fmt.Fprintf(&table, "| `%s` | %s |\n", prompt, w.Summary)
	}
	readme, err := os.ReadFile("README.md")
	is.NoErr(err)
	before, rest, ok := strings.Cut(string(readme), head)
	is.True(ok)
	rows, after, _ := strings.Cut(rest, "\n\n")
	if *update {
		is.NoErr(os.WriteFile("README.md", []byte(before+head+table.String()+"\n"+after), 0o644))
		return
	}
	is.Equal(rows+"\n", table.String()) // go test . -update writes it
}
