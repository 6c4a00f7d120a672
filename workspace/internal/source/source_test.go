package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/golist"
	"github.com/bb-kernel/bb/workspace/internal/source"
)

// load makes a workspace with one package, m/p, of the given text and reads it.
func load(t *testing.T, text string) *source.Package {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.work":       "go 1.25.0\n\nuse ./m\n",
		"m/go.mod":      "module github.com/bb-kernel/bb/m\n\ngo 1.25.0\n",
		"m/p/p.go":      text,
		"m/p/p_test.go": "package p\n\nimport \"fmt\"\n\nfunc Example() {\n\tfmt.Println(1)\n\t// Output: 1\n}\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, err := golist.Load(t.Context(), root, true)
	if err != nil {
		t.Fatal(err)
	}
	packages, err := source.Load(g)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != 1 {
		t.Fatalf("%d packages", len(packages))
	}
	return packages[0]
}

// names reduces problems to what stands between "FILE:LINE: " and the next space.
func names(problems []string) []string {
	var list []string
	for _, p := range problems {
		_, rest, _ := strings.Cut(p, ": ")
		name, _, _ := strings.Cut(strings.TrimPrefix(rest, "var "), " ")
		list = append(list, name)
	}
	return list
}

func TestUndocumented(t *testing.T) {
	p := load(t, `package p

type T struct{}

func (T) M() {}

// I is documented, its method is not.
type I interface{ N() }

// Group is documented for all.
const (
	A = 1
	B = 2
)

const C = 3 // C has a line comment

type t struct{}

func (t) Fine() {}

// Text is not about D.

var D = 4
`)
	if got, want := names(p.Undocumented()), []string{"T", "M", "N", "D"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if p.HasComment() {
		t.Error("the package has no comment")
	}
	if !p.HasExample() {
		t.Error("the package has a runnable example")
	}
}

func TestForeign(t *testing.T) {
	p := load(t, `package p

import (
	"net/url"
	"strings"
)

type Good struct{ hidden url.URL }

type Field struct{ URL *url.URL }

type Alias = url.URL

type Generic[T interface{ M() url.Values }] struct{}

type hidden struct{ URL url.URL }

type Reached struct{ H []hidden }

func (Good) Method() map[string]url.URL { return nil }

func Func(f func(url.Values)) {}

var Var strings.Builder
`)
	got := strings.Join(p.Foreign(func(path string) bool { return path != "net/url" }), "\n")
	for _, want := range []string{"Field shows", "Alias shows", "Generic shows", "Reached shows", "Good shows", "Func shows"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not found in\n%s", want, got)
		}
	}
	if strings.Contains(got, "strings") {
		t.Errorf("an admitted package is reported:\n%s", got)
	}
}

func TestState(t *testing.T) {
	p := load(t, `package p

import (
	"errors"
	"regexp"
	"sync"
)

var Err = errors.New("sentinel")

var Definition = &struct{ Name string }{"fine"}

var pattern = regexp.MustCompile("fine")

var table = map[string]int{"fine": 1}

var _ error = Err

var counter int

var cache = map[string]int{}

var once sync.Once

var pool sync.Pool

var pointed int

var Loose = map[string]int{}

var value struct{ n int }

type method struct{ n int }

func (m *method) set() { m.n++ }

var called method

func init() {
	counter++
	cache["x"] = table["fine"]
	_ = &pointed
	value.n = 1
	called.set()
	_ = pattern.String()
	local := 1
	local++
	_ = local
}
`)
	if got, want := names(p.State()), []string{"counter", "cache", "once", "pointed", "Loose", "value", "called"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := p.Inits(); len(got) != 1 {
		t.Errorf("inits: %v", got)
	}
}
