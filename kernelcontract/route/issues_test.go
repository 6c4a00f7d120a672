package route_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

type searchIn struct {
	Text  string   `json:"text" minLength:"2"`
	Count int      `json:"count" minimum:"1"`
	Tags  []string `json:"tags,omitempty" maxItems:"1"`
	Area  *area    `json:"area,omitempty"`
}

type area struct {
	Name string `json:"name"`
}

func TestIssuesAreThoseOfABody(t *testing.T) {
	in, err := schema.Of(reflect.TypeFor[searchIn]())
	if err != nil {
		t.Fatal(err)
	}
	v, err := validate.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	check := func(input json.RawMessage) []schema.Issue {
		_, issues := v.Input(input)
		return issues
	}
	for _, tt := range []struct{ name, query, want string }{
		{"unknown and missing", "zz=1&text=ab", "zz unrecognized_key, count required"},
		{"everything at once, in schema order", "tags=a&count=x&tags=b&nope=1&text=a", "nope unrecognized_key, text too_small, count invalid_type, tags too_big"},
		{"a field that cannot be read is not missing", "count=1&count=2", "text required, count duplicate_key"},
		{"a broken escape is not missing", "text=%zz&count=0", "text invalid_format, count too_small"},
		{"the transport before the fields", "$raw=x&count=1", "$raw invalid_type, text required"},
		{"an unknown key inside comes first too", "area={%22name%22:%22x%22,%22y%22:1}&text=a&count=1", "area.y unrecognized_key, text too_small"},
		{"whole input beside an unknown parameter", "$input={}&zz=1", "zz unrecognized_key, text required, count required"},
		{"whole input that cannot be read stands alone", "$input=x&zz=1", "zz unrecognized_key, $input invalid_json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			var got []string
			for _, i := range route.Issues(in, kernelcontract.KindQuery, tt.query, check) {
				path := make([]string, len(i.Path))
				for n, p := range i.Path {
					path[n] = fmt.Sprint(p)
				}
				got = append(got, strings.Join(path, ".")+" "+string(i.Code))
			}
			is.Equal(strings.Join(got, ", "), tt.want)
		})
	}
}

func TestIssuesAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  kernelcontract.Kind
		query func(i int) string
	}{
		{"unknown keys", kernelcontract.KindQuery, func(i int) string { return fmt.Sprintf("k%d&", i) }},
		{"unknown keys of a mutation", kernelcontract.KindMutation, func(i int) string { return fmt.Sprintf("k%d&", i) }},
		{"items", kernelcontract.KindQuery, func(int) string { return "sizes=x&" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			var query strings.Builder
			for i := range 3 * route.MaxIssues {
				query.WriteString(tt.query(i))
			}
			issues := route.Issues(everyShape, tt.kind, query.String(), func(json.RawMessage) []schema.Issue { return nil })
			is.Equal(len(issues), route.MaxIssues)
			is.True(strings.Contains(issues[route.MaxIssues-1].Message, "more issues were left out"))
		})
	}
}
