package route_test

import (
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

func Example() {
	in := &schema.Schema{Type: schema.Object, Properties: []schema.Property{
		{Name: "name", Schema: &schema.Schema{Type: schema.String}},
		{Name: "tags", Schema: &schema.Schema{Type: schema.Array, Items: &schema.Schema{Type: schema.String}}},
	}}
	query, _ := route.Encode(in, json.RawMessage(`{"name":"b b","tags":["x","y"]}`))
	fmt.Println(query)
	input, _, _ := route.Decode(in, kernelcontract.KindQuery, query)
	fmt.Println(string(input))
	_, _, issues := route.Decode(in, kernelcontract.KindQuery, "nme=bb")
	fmt.Println(issues[0].Path, issues[0].Code)
	// Output:
	// name=b+b&tags=x&tags=y
	// {"name":"b b","tags":["x","y"]}
	// [nme] unrecognized_key
}
