package bridgecheck_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

// TestDocs keeps the table of docs/conformance.md the same as that of the code. Where the module was published there is
// no such page.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/conformance.md")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range bridgecheck.Rules() {
		needs := r.Needs
		if needs == "" {
			needs = "–"
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", r.ID, r.Stimulus, r.Evidence, needs)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/conformance.md lacks the row\n%s", row)
		}
	}
	if n := len(bridgecheck.Rules()); n != 33 {
		t.Errorf("there are %d rules, want 33", n)
	}
}
