package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

func TestDefinition(t *testing.T) {
	handle := func(context.Context, *HTTPContext, *Request) (*Response, error) { return nil, nil }
	with := func(c ...Capability) Agent {
		return Agent{Name: "n", Capabilities: func(Env) []Capability { return c }}
	}
	for name, c := range map[string]struct {
		agent Agent
		want  string
	}{
		"route without Handle":   {with(Capability{ID: "ab", HTTP: func() []Route { return []Route{{Method: "GET", Path: "/x"}} }}), "has no Handle"},
		"tool without Run":       {with(Capability{ID: "ab", Tools: []Tool{{Name: "t"}}}), "has no Run"},
		"capability id twice":    {with(Capability{ID: "ab"}, Capability{ID: "ab"}), "is there twice"},
		"bad path":               {with(Capability{ID: "ab", HTTP: func() []Route { return []Route{{Method: "GET", Path: "x", Handle: handle}} }}), "does not begin with a slash"},
		"routes that panic":      {with(Capability{ID: "ab", HTTP: func() []Route { panic("boom") }}), `capability "ab" cannot be listed in an empty environment: boom`},
		"capabilities that fail": {Agent{Name: "n", Capabilities: func(e Env) []Capability { e.Must("KEY"); return nil }}, "the function Capabilities cannot be listed in an empty environment: the environment has no KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			err := c.agent.Check()
			var d *DefinitionError
			is.True(errors.As(err, &d))
			is.True(strings.Contains(err.Error(), c.want)) // err says what is wrong
		})
	}
	t.Run("the capability that panics is named", func(t *testing.T) {
		is := is.New(t)
		a := with(Capability{ID: "ab", HTTP: func() []Route { panic("boom") }})
		var e *MetadataExtractionError
		is.True(errors.As(a.Check(), &e))
		is.Equal(e.CapabilityID, "ab")
	})
	t.Run("all problems at once", func(t *testing.T) {
		is := is.New(t)
		a := with(Capability{ID: "ab", Tools: []Tool{{Name: "t"}}, HTTP: func() []Route { panic("boom") }})
		is.Equal(len(strings.Split(a.Check().Error(), "\n")), 2)
	})
}

func TestProgram(t *testing.T) {
	is := is.New(t)
	var out, said bytes.Buffer
	d := &definition{}
	is.Equal(describe(d, &out, &said), 1)
	is.True(strings.Contains(said.String(), "call bundle.DefineAgent from init"))
	d.set(&Agent{Name: "n"})
	is.Equal(describe(d, &out, &said), 0)
	is.Equal(out.String(), "{\"name\":\"n\"}\n")
	d.set(&Agent{Name: "m"})
	is.Equal(describe(d, &out, &said), 1)
	is.True(strings.Contains(said.String(), "more than one agent"))
	said.Reset()
	d = &definition{}
	d.set(&Agent{})
	is.Equal(describe(d, &out, &said), 1)
	is.Equal(said.String(), "name: it is empty\n")
}

func TestRunner(t *testing.T) {
	dispatch := func(t *testing.T, a Agent, q abi.Request) abi.Response {
		t.Helper()
		frame, err := abi.Append(nil, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		var res abi.Response
		if _, err := abi.Split(NewRunner(&a, nil).Dispatch(t.Context(), frame), &res); err != nil {
			t.Fatal(err)
		}
		return res
	}
	t.Run("junk is answered", func(t *testing.T) {
		is := is.New(t)
		var res abi.Response
		_, err := abi.Split(NewRunner(&Agent{}, nil).Dispatch(t.Context(), []byte("x")), &res)
		is.NoErr(err)
		is.Equal(res.Error.Code, abi.Malformed)
	})
	t.Run("the probe tells problems", func(t *testing.T) {
		is := is.New(t)
		is.Equal(dispatch(t, Agent{}, abi.Request{Kind: abi.Probe}).Error.Message, "name: it is empty")
		a := Agent{Name: "n", Capabilities: func(e Env) []Capability { e.Must("K"); return nil }}
		is.Equal(dispatch(t, a, abi.Request{Kind: abi.Probe}).Error.Code, abi.MetadataExtraction)
	})
	t.Run("unknown kinds and parts are errors", func(t *testing.T) {
		is := is.New(t)
		for _, q := range []abi.Request{{Kind: "new"}, {Kind: abi.HTTP, CapabilityID: "no"}, {Kind: abi.Action}, {Kind: abi.Tool, Tool: "no"}, {Kind: abi.Hook, Hook: "no"}} {
			is.Equal(dispatch(t, Agent{Name: "n"}, q).Error.Code, abi.Internal)
		}
	})
	t.Run("headers that are too long are an error", func(t *testing.T) {
		is := is.New(t)
		a := Agent{Name: "n", Capabilities: func(Env) []Capability {
			return []Capability{{ID: "ab", HTTP: func() []Route {
				return []Route{{Method: "GET", Path: "/x", Handle: func(context.Context, *HTTPContext, *Request) (*Response, error) {
					return &Response{Headers: map[string]string{"x": strings.Repeat("y", abi.MaxHeader)}}, nil
				}}}
			}}}
		}}
		is.Equal(dispatch(t, a, abi.Request{Kind: abi.HTTP, CapabilityID: "ab", Method: "GET", Route: "/x"}).Error.Code, abi.Internal)
	})
	t.Run("the deadline ends the context", func(t *testing.T) {
		is := is.New(t)
		a := Agent{Name: "n", Capabilities: func(Env) []Capability {
			return []Capability{{ID: "ab", OnAction: func(ctx context.Context, _ *ActionContext, _ string, _ json.RawMessage) error {
				<-ctx.Done()
				return Errorf(Conflict, "%s", ctx.Err())
			}}}
		}}
		is.Equal(dispatch(t, a, abi.Request{Kind: abi.Action, CapabilityID: "ab", DeadlineMs: 1}).Error.Message, "context deadline exceeded")
	})
}

// What a bundle links stays small and reaches nothing of the host: no network, no files of ours, and nothing that could
// make a token.
func TestImportsOfAGuest(t *testing.T) {
	is := is.New(t)
	cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}", ".")
	cmd.Env = append(cmd.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	out, err := cmd.Output()
	is.NoErr(err)
	packages := strings.Fields(string(out))
	is.True(slices.Contains(packages, "encoding/json")) // the list is one
	for _, p := range packages {
		if strings.Contains(p, ".") && !strings.HasPrefix(p, "github.com/bb-kernel/bb/pluginsdk/bundle") {
			t.Errorf("a bundle links %s", p)
		}
		for _, no := range []string{"net/http", "testing", "crypto/hmac", "os/exec", "crypto/tls", "go/ast"} {
			if p == no {
				t.Errorf("a bundle links %s", p)
			}
		}
	}
}
