package plugintest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/conformance/plugincheck"
	"github.com/bb-kernel/bb/conformance/plugintest"
)

const python = "../testdata/python-plugin"

func needsPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not on the PATH")
	}
}

// A plugin in another language keeps every rule.
func TestPythonPlugin(t *testing.T) {
	needsPython(t)
	plugintest.TestPlugin(t, python)
}

// mutant copies the plugin with a change of its program and grades it.
func mutant(t *testing.T, old, changed string, rules ...string) (failed []string, details string) {
	t.Helper()
	needsPython(t)
	dir := t.TempDir()
	for _, name := range []string{"contract.json", "plugin.py"} {
		raw, err := os.ReadFile(filepath.Join(python, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "plugin.py" {
			if strings.Count(string(raw), old) != 1 {
				t.Fatalf("%q is there %d times", old, strings.Count(string(raw), old))
			}
			raw = []byte(strings.Replace(string(raw), old, changed, 1))
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results, err := plugincheck.Run(t.Context(), plugincheck.Options{Dir: dir, Timeout: plugincheck.Timeout / 4, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status == plugincheck.Fail {
			failed = append(failed, r.Rule)
			details += r.Rule + ": " + r.Detail + "\n"
		}
	}
	return failed, details
}

// Each rule fails when it is broken, and those that need the most of the protocol do not.
func TestMutants(t *testing.T) {
	for rule, c := range map[string]struct{ old, changed string }{
		"handshake/initialize": {`"version": "1.0.0"}`, `"version": "1.0.1"}`},
		"handshake/version":    {`"this plugin speaks version 1 of the protocol", {"supported": [1]}`, `"this plugin speaks version 1 of the protocol"`},
		"handshake/setup":      {`"shelf/things." + name for name in METHODS]`, `"shelf/things." + name for name in METHODS][1:]`},
		"rpc/unknown-method":   {`"code": -32601`, `"code": -32600`},
		"rpc/junk-ignored":     {"            except ValueError:\n                continue", "            except ValueError:\n                sys.exit(1)"},
		"rpc/unknown-members":  {"def setup(connection, params, _):\n", "def setup(connection, params, _):\n    if params:\n        raise Failure('invalid_input', 'unknown members')\n"},
		"call/result":          {`"owner": call["principal"]["actor"]}`, `"owner": 7}`},
		"call/unknown-ref":     {`raise Failure("not_found", f"there is no method {params['call']['ref']}")`, `raise Failure("invalid_input", "no")`},
		"render/text":          {`return {"text": f"{thing['name']} weighs {thing['weight']}"}`, `return {"text": ""}`},
		"stream/credit":        {"                credit.acquire()\n", ""},
		"stop/shutdown":        {`"shutdown": lambda *_: {}`, `"shutdown": lambda *_: sys.exit(0)`},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			failed, details := mutant(t, c.old, c.changed, rule, "handshake/initialize", "call/result", "stream/items", "stop/end-of-input")
			if !slices.Equal(failed, []string{rule}) {
				t.Errorf("the rules %v failed\n%s", failed, details)
			}
		})
	}
	t.Run("ping/answered", func(t *testing.T) { // others ask for one too
		t.Parallel()
		failed, details := mutant(t, "self.answer(message, dict)", "pass", "ping/answered")
		if !slices.Contains(failed, "ping/answered") {
			t.Errorf("the rules %v failed\n%s", failed, details)
		}
	})
	t.Run("stray output", func(t *testing.T) {
		t.Parallel()
		failed, details := mutant(t, "    def run(self):\n", "    def run(self):\n        print('hello', flush=True)\n", "handshake/setup", "stream/items")
		if len(failed) != 2 || !strings.Contains(details, "lines that are no messages") {
			t.Errorf("%v failed\n%s", failed, details)
		}
	})
	t.Run("no program", func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		_, err := plugincheck.Run(t.Context(), plugincheck.Options{Dir: dir})
		is.True(err != nil) // there is no contract
		_, err = plugincheck.Run(t.Context(), plugincheck.Options{Dir: python, Rules: []string{"no/rule"}})
		is.True(err != nil)
		is.NoErr(os.WriteFile(filepath.Join(dir, "contract.json"), []byte(`{"format":1,"id":"x","version":"1","services":[]}`), 0o600))
		results, err := plugincheck.Run(t.Context(), plugincheck.Options{Dir: dir})
		is.NoErr(err)
		is.Equal(results[0].Status, plugincheck.Fail)
		is.True(strings.Contains(results[0].Detail, "does not start"))
	})
}
