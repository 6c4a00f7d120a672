package unified_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/examples/provider-acp/internal/unified"
	"github.com/matryer/is"
)

func ptr(s string) *string { return &s }

func TestDiff(t *testing.T) {
	for _, test := range []struct {
		name          string
		path          string
		before, after *string
		want          string
	}{
		{"equal", "a.txt", ptr("one\n"), ptr("one\n"), ""},
		{"new file", "a.txt", nil, ptr("one\n"), "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+one\n"},
		{"deleted", "a.txt", ptr("one\n"), nil, "--- a/a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\n"},
		{"changed", "/x/a.txt", ptr("one\ntwo\nthree\n"), ptr("one\n2\nthree\n"), "--- /x/a.txt\n+++ /x/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"},
		{"no line end", "a", ptr("one"), ptr("one\n"), "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-one\n\\ No newline at end of file\n+one\n"},
		{"two hunks", "a", ptr("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"), ptr("1\nx\n3\n4\n5\n6\n7\n8\n9\ny\n"),
			"--- a/a\n+++ b/a\n@@ -1,5 +1,5 @@\n 1\n-2\n+x\n 3\n 4\n 5\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+y\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(unified.Diff(test.path, test.before, test.after), test.want)
		})
	}
}

// apply is a small patch(1): it gives the text behind a diff of the text before.
func apply(before, diff string) (string, error) {
	if diff == "" {
		return before, nil
	}
	var out strings.Builder
	old := strings.SplitAfter(before, "\n")
	next := 0
	lines := strings.SplitAfter(diff, "\n")[2:]
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line == "" {
			continue
		}
		text := line[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch line[0] {
		case '@':
			at, count, _ := strings.Cut(strings.Fields(line)[1][1:], ",")
			n, err := strconv.Atoi(at)
			if err != nil {
				return "", err
			}
			if count == "0" {
				n++
			}
			for ; next < n-1; next++ {
				out.WriteString(old[next])
			}
		case ' ', '-':
			if old[next] != text {
				return "", fmt.Errorf("line %d is %q, not %q", next+1, old[next], text)
			}
			next++
			if line[0] == ' ' {
				out.WriteString(text)
			}
		case '+':
			out.WriteString(text)
		}
	}
	out.WriteString(strings.Join(old[next:], ""))
	return out.String(), nil
}

// FuzzDiffApplies applies each diff to the text before and expects the text behind.
func FuzzDiffApplies(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd\n")
	f.Add("", "x")
	f.Add("x\ny\nx\ny\nz", "y\nx\n\nz\nx")
	f.Add(strings.Repeat("x\n", 3000), strings.Repeat("y\n", 2000))
	f.Fuzz(func(t *testing.T, before, after string) {
		got, err := apply(before, unified.Diff("a", &before, &after))
		if err != nil || got != after {
			t.Fatalf("%q behind the diff of %q to %q: %v", got, before, after, err)
		}
	})
}
