package modset_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/tools/internal/modset"
)

const prefix = "github.com/bb-kernel/bb/"

func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func gomod(name string, requires ...string) string {
	text := "module " + prefix + name + "\n\ngo 1.25.0\n"
	for _, r := range requires {
		text += "require " + prefix + r + " v0.0.0\n"
	}
	return text
}

func TestLoadOrdersModulesAfterTheirSiblings(t *testing.T) {
	root := repository(t, map[string]string{
		"go.work":       "go 1.25.0\nuse (\n./a\n./b\n./tests\n)\n",
		"a/go.mod":      gomod("a", "b"),
		"b/go.mod":      gomod("b"),
		"tests/go.mod":  gomod("tests"),
		"versions.yaml": "# note\nmodule-sets:\n  all:\n    version: v1.2.3\n    modules:\n      - " + prefix + "a\n      - " + prefix + "b\nexcluded-modules:\n  - " + prefix + "tests\n",
	})
	modules, err := modset.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, m := range modules {
		tags = append(tags, m.Tag())
	}
	if want := []string{"b/v1.2.3", "a/v1.2.3"}; !slices.Equal(tags, want) {
		t.Errorf("got %v, want %v", tags, want)
	}
}

func TestLoadNamesEveryDisagreement(t *testing.T) {
	sets := func(names ...string) string {
		text := "module-sets:\n  all:\n    version: v0.1.0\n    modules:\n"
		for _, n := range names {
			text += "      - " + prefix + n + "\n"
		}
		return text
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"module without a set", map[string]string{"a/go.mod": gomod("a"), "versions.yaml": sets()}, "in no module set"},
		{"set without the module", map[string]string{"a/go.mod": gomod("a"), "versions.yaml": sets("a", "gone")}, "not in go.work"},
		{"module in the wrong folder", map[string]string{"a/go.mod": gomod("b"), "versions.yaml": sets("a")}, "its folder says"},
		{"sibling that is not released", map[string]string{"a/go.mod": gomod("a", "lost"), "versions.yaml": sets("a")}, "does not release"},
		{"cycle", map[string]string{"a/go.mod": gomod("a", "a"), "versions.yaml": sets("a")}, "cycle"},
		{"bad version", map[string]string{"a/go.mod": gomod("a"), "versions.yaml": strings.Replace(sets("a"), "v0.1.0", "1.0", 1)}, "not a version"},
		{"unknown line", map[string]string{"a/go.mod": gomod("a"), "versions.yaml": sets("a") + "other: 1\n"}, "not understood"},
		{"module twice", map[string]string{"a/go.mod": gomod("a"), "versions.yaml": sets("a", "a")}, "twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.files["go.work"] = "go 1.25.0\nuse ./a\n"
			_, err := modset.Load(repository(t, tt.files))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
