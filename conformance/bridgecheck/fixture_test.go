package bridgecheck_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

// smallest is the least that a fixture may say.
const smallest = `{"plugin":{"id":"mine","version":"1.0.0"},"providerIds":["mine"],"profiles":[{}],` +
	`"options":{"model":"","reasoningLevel":null,"serviceTier":null,"permission":{"mode":"full","scope":"full","reviewer":null,"escalation":null},"instructions":"","providerOptions":{}},"prompts":{}}`

func TestFixture(t *testing.T) {
	is := is.New(t)
	f, err := bridgecheck.ParseFixture([]byte(smallest))
	is.NoErr(err)
	is.Equal(f.TimeoutMs, int64(bridgecheck.DefaultTimeoutMs))
	is.Equal(f.Resume, bridgecheck.ResumeNewProcess)
	is.Equal(len(f.Profiles), 1)
	is.Equal(f.Prompts, bridgecheck.Prompts{})
}

// TestFixtureRefused names for each mistake what the error must say.
func TestFixtureRefused(t *testing.T) {
	input := `{"input":[{"type":"text","text":"go","mentions":[],"visibility":"user"}]}`
	for _, c := range []struct{ name, from, to, want string }{
		{"no JSON", smallest, `{`, "fixture:"},
		{"two objects", smallest, smallest + "{}", "something follows"},
		{"unknown field", `"prompts":{}`, `"prompts":{},"prompt":{}`, `"prompt"`},
		{"unknown prompt", `"prompts":{}`, `"prompts":{"fast":` + input + `}`, `"fast"`},
		{"repeated field", `"prompts":{}`, `"prompts":{},"prompts":{}`, "prompts: is there twice"},
		{"repeated name deep inside", `"profiles":[{}]`, `"profiles":[{},{"args":["args","args"],"env":{"A":"1","B":"A","A":"2"}}]`, "profiles[1].env.A: is there twice"},
		{"no plugin", `"plugin":{"id":"mine","version":"1.0.0"},`, ``, "plugin: missing"},
		{"plugin without version", `,"version":"1.0.0"`, ``, "plugin.version"},
		{"no provider", `["mine"]`, `[]`, "providerIds"},
		{"no profile", `"profiles":[{}]`, `"profiles":[]`, "profiles"},
		{"declaration", `"profiles":[{}]`, `"profiles":[{"declarations":[{"id":"mine"}]}]`, "profiles[0].declarations[0].displayName"},
		{"env", `"profiles":[{}]`, `"profiles":[{"env":{"A=B":"1"}}]`, "profiles[0].env"},
		{"no options", `"options":{`, `"option":{`, `"option"`},
		{"options", `"mode":"full"`, `"mode":"half"`, "options.permission.mode"},
		{"timeout", `"prompts":{}`, `"timeoutMs":-1,"prompts":{}`, "timeoutMs"},
		{"resume", `"prompts":{}`, `"resume":"later","prompts":{}`, `resume: is "later"`},
		{"tool prompt without tools", `"prompts":{}`, `"prompts":{"dynamicTool":` + input + `}`, "prompts.dynamicTool"},
		{"steer without slow", `"prompts":{}`, `"prompts":{"steer":` + input + `}`, "prompts.slow"},
		{"empty input", `"prompts":{}`, `"prompts":{"plain":{"input":[]}}`, "prompts.plain.input"},
		{"no input", `"prompts":{}`, `"prompts":{"plain":{}}`, "prompts.plain.input"},
		{"input", `"prompts":{}`, `"prompts":{"plain":{"input":[{"type":"text"}]}}`, "prompts.plain.input[0]"},
		{"answer", `"prompts":{}`, `"prompts":{"question":{"input":[{"type":"text","text":"go","mentions":[],"visibility":"user"}],"answers":[{"kind":"maybe"}]}}`, "prompts.question.answers[0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			text := strings.Replace(smallest, c.from, c.to, 1)
			is.True(text != smallest)
			_, err := bridgecheck.ParseFixture([]byte(text))
			is.True(err != nil)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want it to name %s", err, c.want)
			}
		})
	}
}

// TestOptionsRefused is about what Run is given besides.
func TestOptionsRefused(t *testing.T) {
	is := is.New(t)
	f, err := bridgecheck.ParseFixture([]byte(smallest))
	is.NoErr(err)
	_, err = bridgecheck.Run(t.Context(), nil, f, bridgecheck.Options{})
	is.True(err != nil)
	_, err = bridgecheck.Run(t.Context(), []string{"x"}, bridgecheck.Fixture{}, bridgecheck.Options{})
	is.True(err != nil)
	_, err = bridgecheck.Run(t.Context(), []string{"x"}, f, bridgecheck.Options{Rules: []string{"turn/none"}})
	is.True(err != nil && strings.Contains(err.Error(), "turn/none"))
}

// FuzzParseFixture: whatever a file says, it is a fixture that Run takes or an error, never a panic.
func FuzzParseFixture(f *testing.F) {
	f.Add([]byte(smallest))
	f.Add(echoFixture())
	f.Add([]byte(`{"profiles":[{"declarations":[null]}],"tools":[null],"prompts":{"plain":null}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fixture, err := bridgecheck.ParseFixture(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fixture: ") {
				t.Errorf("the error does not say what it is about: %v", err)
			}
			return
		}
		if len(fixture.Profiles) == 0 || len(fixture.ProviderIDs) == 0 {
			t.Error("a fixture without profiles or providers passed")
		}
	})
}
