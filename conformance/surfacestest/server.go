package surfacestest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/contracttest"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/tool"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/sdk"
)

// Options says which server to check.
type Options struct {
	BaseURL string
	// Token is needed when the server is not on this machine.
	Token string
}

// requestTimeout bounds each request of a check: a query of the catalog answers from memory.
const requestTimeout = 30 * time.Second

// TestServer checks every method of the server at baseURL, with a subtest for each.
func TestServer(t *testing.T, baseURL string) {
	t.Helper()
	Test(t, Options{BaseURL: baseURL})
}

// Test is TestServer with options.
func Test(t *testing.T, o Options) {
	t.Helper()
	s, err := connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range checkCollisions(s.manifest) {
		t.Error(p)
	}
	for _, m := range s.manifest.Methods() {
		t.Run(m.Ref(), func(t *testing.T) {
			for _, p := range s.method(t.Context(), &m) {
				t.Error(p)
			}
		})
	}
}

// CheckServer returns every problem of the server's methods, as Test finds them. The error says that the server cannot
// be asked.
func CheckServer(ctx context.Context, o Options) ([]Problem, error) {
	s, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	problems := checkCollisions(s.manifest)
	for _, m := range s.manifest.Methods() {
		problems = append(problems, s.method(ctx, &m)...)
	}
	return problems, nil
}

// server is a server that was asked what it offers.
type server struct {
	o        Options
	client   *sdk.Client
	http     *http.Client
	manifest *manifest.Manifest
	refs     map[string]*docs.ReferenceDoc // by plugin
	texts    map[string]string
}

func connect(ctx context.Context, o Options) (*server, error) {
	noEnv := func(string) string { return "" }
	client, err := sdk.Connect(sdk.Options{URL: o.BaseURL, Token: o.Token, Client: kernelcontract.ClientInfo{Kind: "conformance", Surface: "surfacestest"}, Env: noEnv})
	if err != nil {
		return nil, fmt.Errorf("surfacestest: %w", err)
	}
	m, err := client.Manifest(ctx)
	if err != nil {
		return nil, fmt.Errorf("surfacestest: the manifest: %w", err)
	}
	if len(m.Methods()) == 0 {
		return nil, errors.New("surfacestest: the server offers no method")
	}
	s := &server{o: o, client: client, manifest: m, http: &http.Client{Timeout: requestTimeout}, refs: map[string]*docs.ReferenceDoc{}, texts: map[string]string{}}
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, p := range m.Plugins {
		if len(p.Services) == 0 {
			continue
		}
		var ref docs.ReferenceDoc
		if err := client.Call(ctx, "kernel/contract.reference", map[string]string{"pluginId": p.ID}, &ref); err != nil {
			return nil, fmt.Errorf("surfacestest: the reference of %s: %w", p.ID, err)
		}
		input, _ := json.Marshal(map[string]string{"pluginId": p.ID})
		text, err := client.Do(ctx, sdk.Request{
			Signature: kernelcontract.Signature{Ref: "kernel/contract.reference", Kind: kernelcontract.KindQuery}, Input: input, Render: &kernelcontract.Render{},
		})
		if err != nil {
			return nil, fmt.Errorf("surfacestest: the reference of %s as text: %w", p.ID, err)
		}
		s.refs[p.ID], s.texts[p.ID] = &ref, string(text.Body)
	}
	return s, nil
}

// collector gathers the problems of a method.
type collector struct {
	service, method string
	problems        []Problem
}

func (c *collector) add(s Surface, format string, args ...any) {
	c.problems = append(c.problems, Problem{Service: c.service, Method: c.method, Surface: s, Message: fmt.Sprintf(format, args...)})
}

func collect(m *docs.MethodDoc) *collector {
	return &collector{service: m.PluginID + "/" + m.Service, method: m.Method}
}

// method checks one method of a running server.
func (s *server) method(ctx context.Context, m *docs.MethodDoc) []Problem {
	c := collect(m)
	c.problems = checkRecord(m)
	if m.HTTP != nil {
		s.verbs(ctx, c, m)
		s.examples(ctx, c, m)
	}
	s.reference(c, m)
	return c.problems
}

// verbs checks that the route is there, without a call: a verb that no method has is refused with those that it has.
func (s *server) verbs(ctx context.Context, c *collector, m *docs.MethodDoc) {
	if m.Kind == kernelcontract.KindCustom {
		return // it chooses its verbs itself
	}
	req, err := http.NewRequestWithContext(ctx, "PROPFIND", strings.TrimRight(s.o.BaseURL, "/")+m.HTTP.Path, nil)
	if err != nil {
		c.add(contracttest.HTTP, "its path %q is none: %v", m.HTTP.Path, err)
		return
	}
	if s.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.o.Token)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		c.add(contracttest.HTTP, "it does not answer: %v", err)
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, sdk.MaxFailure))
	if resp.StatusCode != http.StatusMethodNotAllowed || !listed(resp.Header.Get("Allow"), m.HTTP.Verb) {
		c.add(contracttest.HTTP, "PROPFIND %s has status %d and Allow %q, want 405 and %s", m.HTTP.Path, resp.StatusCode, resp.Header.Get("Allow"), m.HTTP.Verb)
	}
}

func listed(header, verb string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if strings.TrimSpace(part) == verb {
			return true
		}
	}
	return false
}

// examples calls a query with its examples: each is an input that the method takes.
func (s *server) examples(ctx context.Context, c *collector, m *docs.MethodDoc) {
	if m.Kind != kernelcontract.KindQuery {
		return
	}
	sig := kernelcontract.Signature{Ref: m.Ref(), Kind: m.Kind, Input: func() (*schema.Schema, error) { return m.Input, nil }}
	for _, e := range m.Examples {
		if _, err := s.client.Do(ctx, sdk.Request{Signature: sig, Input: e.Input}); errors.Is(err, kernelcontract.InvalidInput) || errors.Is(err, kernelcontract.Internal) {
			c.add(contracttest.SDK, "the example %s fails: %v", e.Input, err)
		}
	}
}

// reference checks that the docs show the method.
func (s *server) reference(c *collector, m *docs.MethodDoc) {
	ref := s.refs[m.PluginID]
	want, _ := json.Marshal(m)
	found := false
	for i := range ref.Services {
		for j := range ref.Services[i].Methods {
			if d := &ref.Services[i].Methods[j]; d.Ref() == m.Ref() {
				got, _ := json.Marshal(d)
				if found = true; string(got) != string(want) {
					c.add(contracttest.Docs, "the reference says something else than the manifest")
				}
			}
		}
	}
	if !found {
		c.add(contracttest.Docs, "the reference of %s does not have it", m.PluginID)
	}
	text := s.texts[m.PluginID]
	for _, line := range referenceLines(m) {
		if !strings.Contains(text, line) {
			c.add(contracttest.Docs, "the reference of %s does not say %q", m.PluginID, line)
		}
	}
}

// referenceLines returns what the text of a reference says of a method.
func referenceLines(m *docs.MethodDoc) []string {
	var lines []string
	if m.HTTP != nil && m.Kind != kernelcontract.KindCustom {
		lines = append(lines, m.HTTP.Verb+" "+m.HTTP.Path)
	}
	if m.CLI != nil {
		lines = append(lines, word.UsageLine(m.CLI))
	}
	if m.Tool != nil {
		lines = append(lines, m.Tool.Name)
	}
	return lines
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// checkRecord checks what the manifest says of a method.
func checkRecord(m *docs.MethodDoc) []Problem {
	c := collect(m)
	if _, _, _, ok := kernelcontract.SplitRef(m.Ref()); !ok {
		c.add(contracttest.Definition, "%q is no name of a method", m.Ref())
	}
	if m.Summary == "" {
		c.add(contracttest.Definition, "it has no summary")
	}
	if m.HTTP == nil && m.CLI == nil && m.Tool == nil && !m.SDK {
		c.add(contracttest.Definition, "it is on no surface")
	}
	if m.Input == nil || m.Output == nil {
		c.add(contracttest.Schema, "it has no schema of its input or of its output")
		return c.problems
	}
	if m.HTTP != nil && m.Kind != kernelcontract.KindCustom {
		plugin, service, method, ok := route.Match(m.HTTP.Path)
		derived := ok && plugin == m.PluginID && service == m.Service && method == m.Method
		own := m.PluginID == "kernel" && (strings.HasPrefix(m.HTTP.Path, "/internal/") || strings.HasPrefix(m.HTTP.Path, "/local/"))
		if !derived && !own {
			c.add(contracttest.HTTP, "its path is %s", m.HTTP.Path)
		}
		if m.HTTP.Verb != route.Verb(m.Kind) {
			c.add(contracttest.HTTP, "a %s answers %s, not %s", m.Kind, route.Verb(m.Kind), m.HTTP.Verb)
		}
	}
	checkWord(c, m)
	if m.Tool != nil {
		switch {
		case m.Kind == kernelcontract.KindCustom:
			c.add(contracttest.Tool, "a custom method is no tool")
		case !toolName.MatchString(m.Tool.Name) || len(m.Tool.Name) > tool.MaxName:
			c.add(contracttest.Tool, "the name %q is not 1 to %d of a-z A-Z 0-9 _ -", m.Tool.Name, tool.MaxName)
		case m.Tool.Description == "":
			c.add(contracttest.Tool, "it has no description")
		}
	}
	return c.problems
}

// checkWord checks a word against its method: every field has its place, and examples can be said.
func checkWord(c *collector, m *docs.MethodDoc) {
	if m.CLI == nil {
		return
	}
	if m.CLI.Ref != m.Ref() || m.CLI.Kind != m.Kind {
		c.add(contracttest.CLI, "its word runs %s, a %s", m.CLI.Ref, m.CLI.Kind)
	}
	if usage := word.UsageLine(m.CLI); !strings.HasPrefix(usage, "bb ") {
		c.add(contracttest.CLI, "the usage is %q", usage)
	}
	fields := map[string]bool{}
	for _, f := range m.CLI.Fields {
		fields[f.Name] = true
		if m.Input.Property(f.Name) == nil {
			c.add(contracttest.CLI, "the word has the field %s, the input has not", f.Name)
		}
	}
	for _, p := range m.Input.Properties {
		if !fields[p.Name] {
			c.add(contracttest.CLI, "the word has no place for the field %s", p.Name)
		}
	}
	for _, e := range m.Examples {
		if _, ok := word.Words(m.CLI, e.Input); ok {
			continue
		}
		whole := string(e.Input)
		if _, err := word.Input(m.CLI, word.Values{Whole: &whole}); err != nil {
			c.add(contracttest.CLI, "the example %s cannot be said: %v", e.Input, err)
		}
	}
}

// checkCollisions checks that no two methods claim the same name, word or tool.
func checkCollisions(m *manifest.Manifest) []Problem {
	var problems []Problem
	owners := map[string]string{}
	for _, d := range m.Methods() {
		c := collect(&d)
		claim := func(s Surface, what string) {
			if owner, taken := owners[what]; taken {
				c.add(s, "%s belongs to %s", what, owner)
				return
			}
			owners[what] = d.Ref()
		}
		claim(contracttest.Definition, "the name "+d.Ref())
		if d.HTTP != nil {
			claim(contracttest.HTTP, "the path "+d.HTTP.Path)
		}
		if d.Tool != nil {
			claim(contracttest.Tool, "the tool "+d.Tool.Name)
		}
		if d.CLI != nil {
			for _, group := range d.CLI.Groups {
				for _, name := range append([]string{d.CLI.Name}, d.CLI.Aliases...) {
					claim(contracttest.CLI, "the word "+strings.Join(append(append([]string{"bb"}, group...), name), " "))
				}
			}
		}
		problems = append(problems, c.problems...)
	}
	return problems
}
