package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

func TestMarshalFillsNil(t *testing.T) {
	type inner struct {
		L []int `json:"l"`
	}
	type embedded struct {
		E []int `json:"e"`
	}
	yes := true
	tests := []struct {
		rule string
		v    any
		want string
	}{
		{"slice", struct {
			A []string `json:"a"`
		}{}, `{"a":[]}`},
		{"map", struct {
			A map[string]int `json:"a"`
		}{}, `{"a":{}}`},
		{"bytes", struct {
			A []byte `json:"a"`
		}{}, `{"a":""}`},
		{"omitempty stays out", struct {
			A []string       `json:"a,omitempty"`
			B map[string]int `json:"b,omitzero"`
		}{}, `{}`},
		{"empty and omitzero is kept", struct {
			A []string `json:"a,omitzero"`
		}{A: []string{}}, `{"a":[]}`},
		{"pointer stays null", struct {
			A *[]string `json:"a"`
			B *inner    `json:"b"`
		}{}, `{"a":null,"b":null}`},
		{"below a pointer", struct {
			A *inner `json:"a"`
		}{A: &inner{}}, `{"a":{"l":[]}}`},
		{"below a slice", struct {
			A []inner `json:"a"`
		}{A: []inner{{}, {L: []int{1}}}}, `{"a":[{"l":[]},{"l":[1]}]}`},
		{"below an array", [2]inner{1: {L: []int{1}}}, `[{"l":[]},{"l":[1]}]`},
		{"below a map", map[string]inner{"x": {}, "y": {L: []int{2}}}, `{"x":{"l":[]},"y":{"l":[2]}}`},
		{"slices of slices", [][]int{nil, {1}}, `[[],[1]]`},
		{"in an embedded struct", struct {
			embedded
			inner
		}{}, `{"e":[],"l":[]}`},
		{"in a valid Null", struct {
			A schema.Null[[]int] `json:"a"`
		}{A: schema.NullOf[[]int](nil)}, `{"a":[]}`},
		{"not in a Null that is null", struct {
			A schema.Null[[]int] `json:"a"`
		}{}, `{"a":null}`},
		{"in a union", struct {
			A schema.Union[shape] `json:"a"`
		}{A: schema.Union[shape]{Value: shape{Group: &group{}}}}, `{"a":{"kind":"group","of":[]}}`},
		{"a nil pointer with a default is that default", struct {
			A *bool   `json:"a" default:"true"`
			B *string `json:"b" default:"x"`
			C *bool   `json:"c,omitempty" default:"true"`
			D *int    `json:"d" default:"null"`
		}{}, `{"a":true,"b":"x","d":null}`},
		{"a set pointer with a default is kept", struct {
			A *bool `json:"a" default:"false"`
		}{A: &yes}, `{"a":true}`},
		{"raw messages and any stay null", struct {
			A any             `json:"a"`
			B json.RawMessage `json:"b"`
		}{}, `{"a":null,"b":null}`},
		{"top level", []string(nil), `[]`},
		{"no HTML escaping", struct {
			A string `json:"a"`
		}{A: "<&>\u2028"}, "{\"a\":\"<&>\\u2028\"}"},
		{"no HTML escaping below a Null and a union", struct {
			A schema.Null[string]     `json:"a"`
			B schema.Union[texts]     `json:"b"`
			C map[string]schema.Bytes `json:"c"`
		}{A: schema.NullOf("<"), B: schema.Union[texts]{Value: texts{T: &textVariant{Text: ">"}}}, C: map[string]schema.Bytes{"&": {MIMEType: "a/b+<"}}},
			`{"a":"<","b":{"kind":"t","text":">"},"c":{"&":{"kind":"bytes","mimeType":"a/b+<","base64":""}}}`},
		{"nil", nil, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			is := is.New(t)
			before, err := json.Marshal(tt.v)
			is.NoErr(err)
			got, err := schema.Marshal(tt.v)
			is.NoErr(err)
			is.Equal(string(got), tt.want)
			after, err := json.Marshal(tt.v)
			is.NoErr(err)
			is.Equal(string(after), string(before)) // the value itself is not written to
		})
	}
}

type texts struct {
	T *textVariant `variant:"t"`
}

func (texts) Discriminator() string { return "kind" }

type textVariant struct {
	Text string `json:"text"`
}

func TestMarshalReportsACycle(t *testing.T) {
	is := is.New(t)
	type loop struct {
		Next *loop `json:"next"`
		L    []int `json:"l"`
	}
	v := &loop{L: []int{}}
	v.Next = v
	_, err := schema.Marshal(v)
	is.True(err != nil) // an error, not an endless walk
}

func TestEncoderOfAnotherType(t *testing.T) {
	is := is.New(t)
	e := schema.NewEncoder(reflect.TypeFor[point]())
	got, err := e.Marshal([]string(nil))
	is.NoErr(err)
	is.Equal(string(got), `[]`)
	got, err = e.Marshal(&point{X: 1})
	is.NoErr(err)
	is.Equal(string(got), `{"x":1}`)
}

func BenchmarkMarshal(b *testing.B) {
	type plain struct {
		Message string `json:"message"`
		Count   int    `json:"count"`
	}
	type listed struct {
		Message string   `json:"message"`
		Tags    []string `json:"tags"`
	}
	for _, bb := range []struct {
		name string
		v    any
	}{
		{"plain", plain{Message: "Hello, bb!", Count: 3}},
		{"slice", listed{Message: "Hello, bb!", Tags: []string{"a"}}},
		{"nil slice", listed{Message: "Hello, bb!"}},
	} {
		e := schema.NewEncoder(reflect.TypeOf(bb.v))
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Marshal(bb.v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bb.name+" baseline json", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := json.Marshal(bb.v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
