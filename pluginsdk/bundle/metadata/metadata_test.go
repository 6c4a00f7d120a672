package metadata_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/pluginsdk/bundle/metadata"
)

// one is metadata that is right.
func one() metadata.Metadata {
	return metadata.Metadata{
		Name: "helper", CapabilityIDs: []string{"skills"}, RequiredCapabilities: []string{"notes-fixture"},
		LifecycleHooks: map[metadata.Hook][]string{metadata.AfterTurn: {"skills"}, metadata.TurnEnd: {metadata.AgentItself}},
		Surfaces: metadata.Surfaces{
			HTTPRoutes:          []metadata.Route{{Method: "GET", Path: "/skills/:name", CapabilityID: "skills"}},
			ActionCapabilityIDs: []string{"skills"},
			Tools:               []metadata.Tool{{Name: "look_up", Input: []byte(`{"type":"object"}`), CapabilityID: "skills"}},
		},
	}
}

func TestCheck(t *testing.T) {
	route := func(method, path string) func(*metadata.Metadata) {
		return func(m *metadata.Metadata) {
			m.Surfaces.HTTPRoutes = append(m.Surfaces.HTTPRoutes, metadata.Route{Method: method, Path: path, CapabilityID: "skills"})
		}
	}
	capability := func(id string) func(*metadata.Metadata) {
		return func(m *metadata.Metadata) { m.CapabilityIDs = append(m.CapabilityIDs, id) }
	}
	tool := func(name, input string) func(*metadata.Metadata) {
		return func(m *metadata.Metadata) {
			m.Surfaces.Tools = append(m.Surfaces.Tools, metadata.Tool{Name: name, Input: []byte(input), CapabilityID: "skills"})
		}
	}
	for name, c := range map[string]struct {
		change func(*metadata.Metadata)
		want   string // a part of the problem; "": none
	}{
		"right":                           {func(*metadata.Metadata) {}, ""},
		"no name":                         {func(m *metadata.Metadata) { m.Name = "" }, "name: it is empty"},
		"long name":                       {func(m *metadata.Metadata) { m.Name = strings.Repeat("n", 65) }, "over 64"},
		"control characters":              {func(m *metadata.Metadata) { m.Description = "a\x1b[2J" }, "control characters"},
		"half a model":                    {func(m *metadata.Metadata) { m.DeclaredModel.Provider = "p" }, "a provider and a model id"},
		"capability id of one letter":     {capability("a"), "an id has 2 to 64"},
		"capability id in capitals":       {capability("Skills"), "an id has 2 to 64"},
		"capability id that ends in dash": {capability("skills-"), "an id has 2 to 64"},
		"capability id twice":             {capability("skills"), `"skills" is there twice`},
		"too many capabilities": {func(m *metadata.Metadata) {
			for i := range metadata.MaxCapabilities {
				m.CapabilityIDs = append(m.CapabilityIDs, fmt.Sprintf("c%d-x", i))
			}
		}, "it has 65 capabilities, over 64"},
		"required plugin of no id": {func(m *metadata.Metadata) { m.RequiredCapabilities = []string{"../x"} }, "a plugin's id is"},
		"too many required": {func(m *metadata.Metadata) {
			m.RequiredCapabilities = make([]string, metadata.MaxRequires+1)
			for i := range m.RequiredCapabilities {
				m.RequiredCapabilities[i] = fmt.Sprintf("p%d", i)
			}
		}, "over 64"},
		"unknown hook":                {func(m *metadata.Metadata) { m.LifecycleHooks["boot"] = []string{"skills"} }, "no hook"},
		"hook of nobody":              {func(m *metadata.Metadata) { m.LifecycleHooks[metadata.Dispose] = []string{"other"} }, "which the bundle has not"},
		"agent's hook of capability":  {func(m *metadata.Metadata) { m.LifecycleHooks[metadata.TurnEnd] = []string{"skills"} }, "is the agent's"},
		"method":                      {route("PATCH", "/x"), "the method must be one of GET, POST, PUT, DELETE"},
		"no slash":                    {route("GET", "x"), "does not begin with a slash"},
		"long path":                   {route("GET", "/"+strings.Repeat("x", 256)), "257 bytes, over 256"},
		"empty segment":               {route("GET", "/x//y"), "an empty segment"},
		"trailing slash":              {route("GET", "/x/"), "an empty segment"},
		"dot segment":                 {route("GET", "/x/.."), "resolved away"},
		"escaped segment":             {route("GET", "/x%2fy"), "other characters"},
		"parameter twice":             {route("GET", "/:a/:a"), "is there twice"},
		"parameter without name":      {route("GET", "/x/:"), "not letters, digits"},
		"same shape":                  {route("GET", "/skills/:other"), "it is the same as /skills/:name"},
		"same path of another method": {route("PUT", "/skills/:name"), ""},
		"reserved prefix /bundle/":    {route("GET", "/bundle/x"), "/bundle/ belong to the host"},
		"reserved prefix /a2a":        {route("GET", "/a2ax"), "/a2a belong to the host"},
		"reserved prefix callback":    {route("GET", "/a2a-callback"), "belong to the host"},
		"reserved prefix well-known":  {route("GET", "/.well-known/x"), "belong to the host"},
		"reserved prefix /__":         {route("GET", "/__x"), "belong to the host"},
		"reserved prefix /mcp/":       {route("GET", "/mcp/x"), "belong to the host"},
		"reserved prefix /schedules":  {route("GET", "/schedulesx"), "belong to the host"},
		"/mcp is free":                {route("GET", "/mcp"), ""},
		"reserved /":                  {route("GET", "/"), "the path / belongs to the host"},
		"reserved /prompt":            {route("POST", "/prompt"), "belongs to the host"},
		"reserved /schedules":         {route("GET", "/schedules"), "belongs to the host"},
		"reserved /turn":              {route("GET", "/turn"), "belongs to the host"},
		"reserved /actions":           {route("GET", "/actions"), "belongs to the host"},
		"reserved /events":            {route("GET", "/events"), "belongs to the host"},
		"route of nobody": {func(m *metadata.Metadata) {
			m.Surfaces.HTTPRoutes = append(m.Surfaces.HTTPRoutes, metadata.Route{Method: "GET", Path: "/y", CapabilityID: "no"})
		}, "which the bundle has not"},
		"too many routes": {func(m *metadata.Metadata) {
			for i := range metadata.MaxRoutes {
				route("GET", fmt.Sprintf("/r%d", i))(m)
			}
		}, "257 routes, over 256"},
		"reserved action agent-config": {func(m *metadata.Metadata) {
			capability("agent-config")(m)
			m.Surfaces.ActionCapabilityIDs = []string{"agent-config"}
		}, "actions of this id belong to the host"},
		"reserved action schedules": {func(m *metadata.Metadata) {
			capability("schedules")(m)
			m.Surfaces.ActionCapabilityIDs = []string{"schedules"}
		}, "actions of this id belong to the host"},
		"reserved action queue": {func(m *metadata.Metadata) {
			capability("queue")(m)
			m.Surfaces.ActionCapabilityIDs = []string{"queue"}
		}, "actions of this id belong to the host"},
		"tool name":            {tool("look up", `{"type":"object"}`), "a name has 1 to 64"},
		"tool twice":           {tool("look_up", `{"type":"object"}`), "is there twice"},
		"tool without object":  {tool("other", `{"type":"string"}`), `needs "type": "object"`},
		"tool without JSON":    {tool("other", `{`), "not a JSON object"},
		"tool with long input": {tool("other", `{"type":"object","description":"`+strings.Repeat("x", metadata.MaxToolInput)+`"}`), "over 16384"},
		"too many tools": {func(m *metadata.Metadata) {
			for i := range metadata.MaxTools {
				tool(fmt.Sprintf("t%d", i), `{"type":"object"}`)(m)
			}
		}, "65 tools, over 64"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			m := one()
			c.change(&m)
			err := m.Check()
			if c.want == "" {
				is.NoErr(err)
				return
			}
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), c.want)) // err says what is wrong
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	is := is.New(t)
	m := one()
	m.Name = ""
	m.CapabilityIDs = append(m.CapabilityIDs, "X")
	m.Surfaces.HTTPRoutes = append(m.Surfaces.HTTPRoutes, metadata.Route{Method: "PATCH", Path: "x", CapabilityID: "skills"})
	is.Equal(len(strings.Split(m.Check().Error(), "\n")), 4)
}

func TestDocument(t *testing.T) {
	t.Run("equal metadata gives equal bytes", func(t *testing.T) {
		is := is.New(t)
		a, b := one(), one()
		a.CapabilityIDs = []string{"b1", "a1"}
		b.CapabilityIDs = []string{"a1", "b1"}
		b.LifecycleHooks[metadata.Prompt] = nil
		x, err := a.Encode()
		is.NoErr(err)
		y, err := b.Encode()
		is.NoErr(err)
		is.Equal(string(x), string(y))
	})
	t.Run("empty groups are left out", func(t *testing.T) {
		is := is.New(t)
		raw, err := metadata.Metadata{Name: "n"}.Encode()
		is.NoErr(err)
		is.Equal(string(raw), `{"name":"n"}`)
	})
	t.Run("the timestamp takes part in no comparison", func(t *testing.T) {
		is := is.New(t)
		a, b := one(), one()
		a.BuildTimestamp = "2026-12-01T00:00:00Z"
		is.True(a.Same(b))
		b.Version = "2"
		is.True(!a.Same(b))
	})
	t.Run("is read strictly", func(t *testing.T) {
		is := is.New(t)
		raw, err := one().Encode()
		is.NoErr(err)
		m, err := metadata.Decode(raw)
		is.NoErr(err)
		is.True(m.Same(one()))
		for _, bad := range []string{`{"name":"n","more":1}`, `{"name":"n"} {}`, `[]`, ``, strings.Repeat(" ", metadata.MaxDocument+1)} {
			_, err := metadata.Decode([]byte(bad))
			is.True(err != nil)
		}
	})
}

func TestMatch(t *testing.T) {
	routes := []metadata.Route{
		{Method: "GET", Path: "/a/:x"}, {Method: "GET", Path: "/a/b"}, {Method: "POST", Path: "/a/:x"}, {Method: "GET", Path: "/:x/b"},
		{Method: "GET", Path: "/:x/:y/c"}, {Method: "DELETE", Path: "/only"},
	}
	table := metadata.NewTable(routes)
	for name, c := range map[string]struct {
		method, path string
		want         string // path of the route, "405 …" or "404"
		params       string
	}{
		"a literal beats a parameter":      {"GET", "/a/b", "/a/b", "map[]"},
		"from left to right":               {"GET", "/z/b", "/:x/b", "map[x:z]"},
		"a parameter":                      {"GET", "/a/z", "/a/:x", "map[x:z]"},
		"another method":                   {"POST", "/a/b", "/a/:x", "map[x:b]"},
		"GET answers HEAD":                 {"HEAD", "/a/b", "/a/b", "map[]"},
		"decoded once":                     {"GET", "/a/%2541", "/a/:x", "map[x:%41]"},
		"an escaped slash stays":           {"GET", "/a/b%2Fc", "/a/:x", "map[x:b/c]"},
		"an escaped literal is the same":   {"GET", "/%61/b", "/a/b", "map[]"},
		"unknown method of a known path":   {"PUT", "/a/b", "405 GET, HEAD, POST", ""},
		"no HEAD without GET":              {"HEAD", "/only", "405 DELETE", ""},
		"unknown path":                     {"GET", "/nope", "404", ""},
		"empty segment":                    {"GET", "/a//b", "404", ""},
		"trailing slash":                   {"GET", "/a/b/", "404", ""},
		"dot":                              {"GET", "/a/.", "404", ""},
		"escaped dots":                     {"GET", "/a/%2e%2e", "404", ""},
		"zero byte":                        {"GET", "/a/%00", "404", ""},
		"not UTF-8":                        {"GET", "/a/%ff", "404", ""},
		"bad escape":                       {"GET", "/a/%zz", "404", ""},
		"no slash":                         {"GET", "a/b", "404", ""},
		"reserved although it would match": {"GET", "/bundle/b", "404", ""},
		"reserved when decoded":            {"GET", "/%62undle/b", "404", ""},
		"reserved through a slash":         {"GET", "/bundle%2Fz/b", "404", ""},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			m := table.Match(c.method, c.path)
			got := "404"
			switch {
			case m.Found:
				got = m.Route.Path
				is.Equal(fmt.Sprint(m.Params), c.params)
			case len(m.Allow) > 0:
				got = "405 " + strings.Join(m.Allow, ", ")
			}
			is.Equal(got, c.want)
		})
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"/a/:b", "/", "//", "/a2a", "/:x/:x", "/é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := metadata.ParsePattern(path)
		if err != nil {
			return
		}
		if metadata.Reserved(path) != "" || len(path) > metadata.MaxPath {
			t.Fatalf("%q was accepted", path)
		}
		literal := strings.ReplaceAll(p.Shape(), ":", "v")
		m := metadata.NewTable([]metadata.Route{{Method: "GET", Path: path}}).Match("GET", literal)
		if !m.Found && metadata.Reserved(literal) == "" {
			t.Fatalf("%q does not match %q", path, literal)
		}
	})
}

func FuzzMatch(f *testing.F) {
	table := metadata.NewTable([]metadata.Route{{Method: "GET", Path: "/:a/:b"}, {Method: "GET", Path: "/:a"}})
	f.Add("/a/%2e%2e")
	f.Fuzz(func(t *testing.T, path string) {
		m := table.Match("GET", path)
		for _, v := range m.Params {
			if v == "" || v == "." || v == ".." || strings.Contains(v, "\x00") {
				t.Fatalf("%q gave %q", path, v)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	raw, _ := one().Encode()
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := metadata.Decode(raw)
		if err != nil || m.Check() != nil {
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := metadata.Decode(again); err != nil || !back.Same(m) {
			t.Fatalf("%s does not survive: %v", again, err)
		}
	})
}
