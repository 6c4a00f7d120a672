package plain_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/internal/plain"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

type word string

type base struct {
	ID int64 `json:"id"`
}

type item struct {
	Name string `json:"name"`
	Next *item  `json:"next,omitempty"`
}

type loop []loop

type everything struct {
	base
	Name    word          `json:"name"`
	On      bool          `json:"on"`
	Small   int8          `json:"small"`
	Count   uint16        `json:"count"`
	Ratio   float32       `json:"ratio"`
	Exact   float64       `json:"exact"`
	Wait    time.Duration `json:"wait"`
	Tags    []string      `json:"tags"`
	Limit   *int          `json:"limit"`
	Item    item          `json:"item"`
	Items   []item        `json:"items"`
	Matrix  [][]int       `json:"matrix"`
	Maybes  []*bool       `json:"maybes"`
	Forever loop          `json:"forever"`
	Hidden  string        `json:"-"`
}

// decode reads text with the decoder of T.
func decode[T any](t testing.TB, text string) (v T, ok bool) {
	t.Helper()
	d := plain.Of(reflect.TypeFor[T]())
	if d == nil {
		t.Fatalf("%T is not plain", v)
	}
	ok = d.Decode([]byte(text), reflect.ValueOf(&v).Elem())
	return v, ok
}

// texts are read; the others are left to encoding/json.
var texts = []string{
	`{}`, ` { } `,
	`{"id":9007199254740993,"name":"bb","on":true,"small":-128,"count":65535,"ratio":1.5,"exact":-1e300,"wait":5}`,
	"\n{ \"name\" : \"\u2028 ü\" ,\t\"on\" : false }\r\n",
	`{"tags":[]}`, `{"tags":null,"limit":null}`, `{"tags":["a","b","c","d","e","f"],"limit":7}`,
	`{"item":{"name":"a","next":{"name":"b","next":null}},"items":[{"name":"c"},{}]}`,
	`{"matrix":[[],[1],[2,3],null],"maybes":[true,null,false]}`,
	`{"forever":[[],[[]],null]}`,
	`{"on":false,"name":"later field first","id":-0}`,
}

var others = []string{
	``, `null`, `[]`, `"x"`, `{`, `{"name"`, `{"name":`, `{"name":"a"`, `{"name":"a",`, `{"name":"a",}`, `{} x`, `{}{}`, `{"name":"a" "on":true}`,
	`{"unknown":1}`, `{"Name":"a"}`, `{"name":"a","name":"b"}`, `{"hidden":"x"}`,
	`{"name":"a\n"}`, "{\"name\":\"\x01\"}", "{\"name\":\"\xff\"}", `{"n\u0061me":"a"}`, `{"name":null}`, `{"name":1}`,
	`{"on":null}`, `{"on":1}`, `{"on":tru}`, `{"small":128}`, `{"small":1.0}`, `{"small":1e1}`, `{"small":+1}`, `{"small":01}`, `{"small":"1"}`, `{"small":}`,
	`{"count":-1}`, `{"count":-0}`, `{"count":65536}`, `{"count":01}`, `{"count":+1}`, `{"ratio":1e39}`, `{"exact":1e400}`, `{"exact":.5}`, `{"exact":0x1}`, `{"exact":Inf}`, `{"exact":+1}`, `{"exact":1_0}`,
	`{"tags":["a",]}`, `{"tags":["a"`, `{"tags":{}}`, `{"tags":[null]}`, `{"limit":"1"}`, `{"item":null}`, `{"matrix":[1]}`,
	`{"forever":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`,
}

func TestDecode(t *testing.T) {
	for _, text := range texts {
		t.Run(text, func(t *testing.T) {
			is := is.New(t)
			got, ok := decode[everything](t, text)
			is.True(ok)
			var want everything
			is.NoErr(json.Unmarshal([]byte(text), &want))
			is.Equal(got, want)
		})
	}
}

func TestDecodeLeavesToOthers(t *testing.T) {
	for _, text := range others {
		t.Run(text, func(t *testing.T) {
			_, ok := decode[everything](t, text)
			is.New(t).True(!ok)
		})
	}
}

type shouting string

func (s *shouting) UnmarshalText(b []byte) error {
	*s = shouting(strings.ToUpper(string(b)))
	return nil
}

type many struct {
	shouting `json:"-"`
}

func TestOfRefusesWhatIsNotPlain(t *testing.T) {
	var fields []reflect.StructField
	for i := range 65 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", i), Type: reflect.TypeFor[int](), Tag: reflect.StructTag(fmt.Sprintf(`json:"f%d"`, i))})
	}
	for name, typ := range map[string]reflect.Type{
		"not a struct": reflect.TypeFor[[]int](),
		"text method": reflect.TypeFor[struct {
			A shouting `json:"a"`
		}](),
		"text method deeper": reflect.TypeFor[struct {
			A []*shouting `json:"a"`
		}](),
		"promoted method": reflect.TypeFor[many](),
		"JSON method": reflect.TypeFor[struct {
			A schema.Null[int] `json:"a"`
		}](),
		"time": reflect.TypeFor[struct {
			A time.Time `json:"a"`
		}](),
		"raw": reflect.TypeFor[struct {
			A json.RawMessage `json:"a"`
		}](),
		"number": reflect.TypeFor[struct {
			A json.Number `json:"a"`
		}](),
		"bytes": reflect.TypeFor[struct {
			A []byte `json:"a"`
		}](),
		"map": reflect.TypeFor[struct {
			A map[string]int `json:"a"`
		}](),
		"array": reflect.TypeFor[struct {
			A [2]int `json:"a"`
		}](),
		"interface": reflect.TypeFor[struct {
			A any `json:"a"`
		}](),
		"no tag": reflect.TypeFor[struct{ A int }](),
		"option string": reflect.TypeFor[struct {
			A int `json:"a,string"`
		}](),
		"too many fields": reflect.StructOf(fields),
	} {
		t.Run(name, func(t *testing.T) {
			is.New(t).True(plain.Of(typ) == nil)
		})
	}
	is.New(t).True(plain.Of(reflect.StructOf(fields[:64])) != nil)
}

// FuzzDecode holds the decoder to encoding/json: what it reads, that reads too, and as the same.
func FuzzDecode(f *testing.F) {
	for _, text := range append(texts, others...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := decode[everything](t, text)
		if !ok {
			return
		}
		var want everything
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%q is read, but encoding/json says %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %+v instead of %+v", text, got, want)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	type greet struct {
		Name       string   `json:"name"`
		Salutation string   `json:"salutation,omitempty"`
		Tags       []string `json:"tags,omitempty"`
	}
	text := []byte(`{"name":"bb","salutation":"Hello"}`)
	b.Run("plain", func(b *testing.B) {
		d := plain.Of(reflect.TypeFor[greet]())
		b.ReportAllocs()
		for b.Loop() {
			var in greet
			d.Decode(text, reflect.ValueOf(&in).Elem())
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var in greet
			if err := json.Unmarshal(text, &in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
