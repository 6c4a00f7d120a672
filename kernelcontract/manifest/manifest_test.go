package manifest_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

func sample() *manifest.Manifest {
	s := &kernelcontract.Service{ID: "demo/clock", Summary: "Tell the time", Methods: []kernelcontract.Method{
		&kernelcontract.Query[kernelcontract.None, string]{Ref: "demo/clock.now", Summary: "Say <what> time it is"},
	}}
	def, err := s.Def()
	if err != nil {
		panic(err)
	}
	w, err := word.Of(def.Methods[0], def)
	if err != nil {
		panic(err)
	}
	doc, err := docs.Of(def.Methods[0], w)
	if err != nil {
		panic(err)
	}
	return &manifest.Manifest{
		Format: manifest.Format, ServerID: "srv", Generation: 1<<53 + 1,
		Plugins: []manifest.Plugin{
			{ID: "demo", Version: "1.0.0", Summary: "Demo", State: manifest.Ready, Services: []manifest.Service{
				{ID: def.ID(), Summary: def.Summary, Group: def.Group, Aliases: def.Aliases, Methods: []docs.MethodDoc{doc}},
			}},
			{ID: "off", State: manifest.Disabled},
		},
		Problems: []manifest.Problem{{PluginID: "demo", Message: "a word is taken"}},
	}
}

func TestRoundTrip(t *testing.T) {
	is := is.New(t)
	first, err := manifest.Encode(sample())
	is.NoErr(err)
	again, err := manifest.Encode(sample())
	is.NoErr(err)
	is.True(bytes.Equal(first, again)) // stable
	m, err := manifest.Decode(first)
	is.NoErr(err)
	is.Equal(m.Generation, uint64(1<<53+1))
	second, err := manifest.Encode(m)
	is.NoErr(err)
	is.Equal(string(first), string(second))
	is.True(bytes.HasPrefix(first, []byte(`{"format":1,"serverId":"srv","generation":9007199254740993,"plugins":[{"id":"demo","version":"1.0.0","summary":"Demo","state":"ready","services":[{"id":"demo/clock","summary":"Tell the time","group":["clock"],"aliases":[],"methods":[{"pluginId":"demo"`)))
	is.True(bytes.Contains(first, []byte(`Say <what> time`)))
	is.True(bytes.HasSuffix(first, []byte(`{"id":"off","version":"","summary":"","state":"disabled","services":[]}],"problems":[{"pluginId":"demo","message":"a word is taken"}]}`)))
}

func TestDecodeRefuses(t *testing.T) {
	good, err := manifest.Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, raw, want string }{
		{"no JSON", `{`, "manifest: unexpected end"},
		{"no format", `{}`, "it has no format"},
		{"another format", `{"format":2,"new":true}`, "format 2"},
		{"an unknown member", `{"format":1,"more":1}`, `unknown field "more"`},
		{"an unknown member of a method", strings.Replace(string(good), `"resumable"`, `"resumabel"`, 1), `unknown field "resumabel"`},
		{"bytes after it", string(good) + "1", "manifest: invalid character '1' after"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			_, err := manifest.Decode([]byte(tt.raw))
			is.True(err != nil)
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q does not say %q", err, tt.want)
			}
		})
	}
	t.Run("another format is a FormatError", func(t *testing.T) {
		is := is.New(t)
		_, err := manifest.Decode([]byte(`{"format":2}`))
		var fe *manifest.FormatError
		is.True(errors.As(err, &fe))
		is.Equal(fe.Format, 2)
	})
}

func TestMethods(t *testing.T) {
	is := is.New(t)
	m := sample()
	is.Equal(len(m.Methods()), 1)
	is.Equal(m.Method("demo/clock.now").Summary, "Say <what> time it is")
	is.Equal(m.Method("demo/clock.then"), nil)
}

func FuzzDecode(f *testing.F) {
	good, err := manifest.Encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := manifest.Decode(raw)
		if err != nil {
			return
		}
		first, err := manifest.Encode(m)
		if err != nil {
			return // a schema with content that does not encode
		}
		back, err := manifest.Decode(first)
		if err != nil {
			t.Fatalf("%s does not decode: %v", first, err)
		}
		if second, err := manifest.Encode(back); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s becomes %s: %v", first, second, err)
		}
	})
}

func Example() {
	raw, err := manifest.Encode(&manifest.Manifest{Format: manifest.Format, ServerID: "srv", Generation: 3})
	fmt.Println(string(raw), err)
	_, err = manifest.Decode([]byte(`{"format": 9}`))
	fmt.Println(err)
	// Output:
	// {"format":1,"serverId":"srv","generation":3,"plugins":[],"problems":[]} <nil>
	// the server's manifest has format 9, this program reads format 1: use versions of both that fit together
}

func BenchmarkEncode(b *testing.B) {
	m := sample()
	doc := m.Plugins[0].Services[0].Methods[0]
	for range 999 {
		m.Plugins[0].Services[0].Methods = append(m.Plugins[0].Services[0].Methods, doc)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := manifest.Encode(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	m := sample()
	doc := m.Plugins[0].Services[0].Methods[0]
	for range 999 {
		m.Plugins[0].Services[0].Methods = append(m.Plugins[0].Services[0].Methods, doc)
	}
	raw, err := manifest.Encode(m)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := manifest.Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}
