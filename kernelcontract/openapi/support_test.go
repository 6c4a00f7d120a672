package openapi_test

import (
	"encoding/json"
	"flag"
	"testing"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/openapi"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

var update = flag.Bool("update", false, "write the golden file")

type circle struct {
	Radius float64 `json:"radius"`
}

type square struct {
	Side int64 `json:"side"`
}

type shapes struct {
	Circle *circle `variant:"circle"`
	Square *square `variant:"square"`
}

func (shapes) Discriminator() string { return "kind" }

type node struct {
	Label string `json:"label"`
	Kids  []node `json:"kids"`
}

type findInput struct {
	Text  string                      `json:"text" description:"What to look for"`
	Limit *int                        `json:"limit,omitempty" minimum:"1"`
	Tags  []string                    `json:"tags,omitempty"`
	Root  node                        `json:"root,omitzero"`
	Roots []node                      `json:"roots,omitempty"`
	Grid  [][]int                     `json:"grid,omitempty"`
	Shape *schema.Union[shapes]       `json:"shape,omitempty"`
	Since kernelcontract.Null[string] `json:"since,omitzero"`
}

type name struct {
	Name string `json:"name" minLength:"1"`
}

type flagged struct {
	Loud bool `json:"loud,omitempty"`
}

const taken kernelcontract.Code = "taken"

func shelf() *kernelcontract.Service {
	return &kernelcontract.Service{
		ID: "demo/shelf", Summary: "Keep things",
		Methods: []kernelcontract.Method{
			&kernelcontract.Query[findInput, node]{
				Ref: "demo/shelf.find", Summary: "Find things", Description: "Looks *everywhere*.",
				Ambient:  map[string]kernelcontract.ContextKey{"text": kernelcontract.CWD},
				Examples: []kernelcontract.Example[findInput]{{Input: findInput{Text: "<a> & b", Tags: []string{"x"}}, Note: "finds it"}},
			},
			&kernelcontract.Mutation[name, node]{
				Ref: "demo/shelf.drop", Summary: "Drop a thing", Destructive: true, Wait: 90 * time.Second,
				Access:   kernelcontract.Access{Local: true, Actors: []kernelcontract.ActorKind{kernelcontract.User}},
				Errors:   map[kernelcontract.Code]kernelcontract.ErrorDef{taken: {Like: kernelcontract.Conflict, Description: "Somebody uses it."}},
				Examples: []kernelcontract.Example[name]{{Input: name{Name: "cup"}}},
			},
			&kernelcontract.Mutation[flagged, name]{Ref: "demo/shelf.shake", Summary: "Shake it", OnHost: true},
			&kernelcontract.Query[kernelcontract.None, kernelcontract.Bytes]{
				Ref: "demo/shelf.photo", Summary: "Take a photo", Access: kernelcontract.Access{Auth: kernelcontract.AuthNone},
			},
			&kernelcontract.Stream[name, node]{
				Ref: "demo/shelf.follow", Summary: "Follow changes", Cursor: func(n node) string { return n.Label },
			},
			&kernelcontract.Query[name, name]{Ref: "demo/shelf.inner", Summary: "No route", Hide: kernelcontract.OnHTTP},
		},
	}
}

// catalog is the manifest of services, all of one plugin.
func catalog(t testing.TB, services ...*kernelcontract.Service) *manifest.Manifest {
	t.Helper()
	p := manifest.Plugin{ID: "demo", Version: "v1.2.3", State: manifest.Ready}
	for _, s := range services {
		def, err := s.Def()
		if err != nil {
			t.Fatal(err)
		}
		out := manifest.Service{ID: def.ID(), Summary: def.Summary}
		for _, d := range def.Methods {
			doc, err := docs.Of(d, nil)
			if err != nil {
				t.Fatal(err)
			}
			out.Methods = append(out.Methods, doc)
		}
		p.Services = append(p.Services, out)
	}
	return &manifest.Manifest{
		Format: manifest.Format, ServerID: "s1", Generation: 7,
		Plugins: []manifest.Plugin{{ID: kernelcontract.KernelID, Version: "v0.9.0", State: manifest.Ready, Services: []manifest.Service{{
			ID: "kernel/upload", Methods: []docs.MethodDoc{{
				PluginID: "kernel", Service: "upload", Method: "put", Kind: kernelcontract.KindCustom, Summary: "Take a file",
				Description: "As it comes.", HTTP: &docs.HTTPDoc{Path: "/internal/uploads"},
			}},
		}}}, p},
	}
}

// document returns the document of m as plain JSON values.
func document(t testing.TB, m *manifest.Manifest) map[string]any {
	t.Helper()
	raw, err := openapi.Of(m, "")
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// at follows names and indexes into JSON values and returns what is there as JSON, "" for nothing.
func at(t testing.TB, v any, path ...any) string {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return ""
			}
			v = l[step]
		}
	}
	if v == nil {
		return ""
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
