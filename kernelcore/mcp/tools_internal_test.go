package mcp

import (
	"encoding/json"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/tool"
)

func TestRegisterWantsAnObject(t *testing.T) {
	node := &schema.Schema{Type: schema.Object, Properties: []schema.Property{{Name: "next", Schema: &schema.Schema{Ref: "Node"}}}}
	for _, tt := range []struct {
		name string
		in   *schema.Schema
		ok   bool
	}{
		{"an object", &schema.Schema{Type: schema.Object}, true},
		{"a reference to an object", &schema.Schema{Ref: "Node", Defs: []schema.Def{{Name: "Node", Schema: node}}}, true},
		{"a reference to nothing", &schema.Schema{Ref: "Node"}, false},
		{"anything", &schema.Schema{}, false},
		{"a list", &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.String}}, false},
		{"an object or null", &schema.Schema{Type: schema.Object, Nullable: true}, false},
		{"a union", &schema.Schema{OneOf: []*schema.Schema{{Type: schema.Object}, {Type: schema.String}}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			r, err := register(&tool.Spec{Tool: tool.DynamicTool{Name: "x", InputSchema: tt.in}})
			is.Equal(err == nil, tt.ok)
			if !tt.ok {
				return
			}
			var root map[string]any
			is.NoErr(json.Unmarshal(r.schema, &root))
			is.Equal(root["type"], "object")
		})
	}
}

func TestUnreadableImageIsText(t *testing.T) {
	is := is.New(t)
	r := resultOf(tool.Result{Success: true, Content: []tool.Content{{MIMEType: "image/png", Base64: "%"}}})
	raw, err := json.Marshal(r)
	is.NoErr(err)
	is.Equal(string(raw), `{"content":[{"type":"text","text":"An image of type image/png that cannot be read"}]}`)
}
