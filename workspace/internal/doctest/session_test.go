//go:build unix

package doctest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/doctest"
)

// play runs a document and returns the problems it has, "" for none.
func play(t *testing.T, text string) string {
	t.Helper()
	blocks, err := doctest.Parse("a.md", strings.ReplaceAll(text, "'''", "```"))
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "serve"), []byte("#!/bin/sh\necho \"listening on $BB_LISTEN\"\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := doctest.Session{Root: t.TempDir(), Bin: bin, Elsewhere: map[string]string{"go test work": "by CI"}}
	if err := s.Run(t.Context(), t.TempDir(), blocks); err != nil {
		return err.Error()
	}
	return ""
}

func TestSessionRunsTheDocumentInOneTerminal(t *testing.T) {
	if problems := play(t, `
'''console
$ go test work
this is not run
$ mkdir -p ~/p && cd ~/p && export NAME=bb
'''
'''go file=sub.go
package sub
'''
'''console
$ cat sub.go
package sub
$ echo "hello $NAME" && basename $PWD
hello bb
p
$ serve &
listening on 127.0.0.1:38886
$ test "$BB_SERVER_URL" = http://127.0.0.1:38886
$ kill -9 %1
$ echo oops >&2
…
'''
`); problems != "" {
		t.Error(problems)
	}
}

func TestSessionReportsWhatIsNotAsShown(t *testing.T) {
	for text, want := range map[string]string{
		"$ echo two\none":      "a.md:3: $ echo two",
		"$ false":              "exit status 1",
		"$ exit 3":             "exit status 3",
		"$ echo gone &\nready": "ended after printing:\ngone",
	} {
		if problems := play(t, "\n'''console\n"+text+"\n'''\n"); !strings.Contains(problems, want) {
			t.Errorf("%q: problems %q, want %q", text, problems, want)
		}
	}
}
