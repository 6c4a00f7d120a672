package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/bb-kernel/bb/bridgekit/wire"
)

// FuzzLines: however a stream is cut into reads, it has the lines that splitting the whole of it gives.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nccccccccccccc\nd"), []byte{1, 2, 3}, 8)
	f.Add([]byte("\xef\xbb\xbf{}\n"), []byte{1}, 8)
	f.Add([]byte("\xef\xbb\n\xef\xbb\xbf"), []byte{2, 1}, 1)
	f.Add([]byte("xxxxxxxx\r\nxxxxxxxxx\r\nxxxxxxxx\r"), []byte{9}, 8)
	f.Fuzz(func(t *testing.T, text, cuts []byte, max int) {
		max = 1 + (max&0xff+0xff)%0xff
		var want []string
		rest := bytes.TrimPrefix(text, []byte("\ufeff"))
		for len(rest) > 0 {
			line, after, _ := bytes.Cut(rest, []byte{'\n'})
			rest = after
			if len(bytes.TrimSuffix(line, []byte{'\r'})) <= max {
				want = append(want, string(bytes.TrimSuffix(line, []byte{'\r'})))
			} else {
				want = append(want, "over-long")
			}
		}
		lines := wire.NewLineReader(&cutter{text: text, cuts: cuts}, max)
		var got []string
		for {
			line, err := lines.Next()
			var long *wire.LongLineError
			if errors.As(err, &long) {
				got = append(got, "over-long")
				continue
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %d: %q, want %q", text, max, got, want)
		}
	})
}

// cutter reads a text in pieces.
type cutter struct {
	text, cuts []byte
	n          int
}

func (c *cutter) Read(b []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	size := len(c.text)
	if len(c.cuts) > 0 {
		size = 1 + int(c.cuts[c.n%len(c.cuts)])
		c.n++
	}
	n := copy(b[:min(size, len(b))], c.text)
	c.text = c.text[n:]
	return n, nil
}

// FuzzParse: a line that is understood is JSON, with the same members that encoding/json finds; one that is dropped as no
// JSON is none.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		aDelta, `{"jsonrpc":"2.0","id":-1,"method":"m","params":{"a":[1,2.5e-7,"x\u00e4\\",true,null]}}`,
		`{"jsonrpc":"2.0","id":"\u0041","result":{"a":"\ud800"}}`, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","method":"m"}{}`, `[1]`, `null`, `{"a":01}`, `{"jsonrpc":"2.0","m\u0065thod":"m"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := wire.Parse(line)
		valid := json.Valid(line) && utf8.Valid(line)
		var dropped *wire.DroppedError
		if errors.As(err, &dropped) {
			broken := dropped.Reason == wire.InvalidJSON || dropped.Reason == wire.InvalidUTF8 || dropped.Reason == wire.SecondValue
			if valid == broken {
				t.Fatalf("%q: %v, valid %t", line, err, valid)
			}
			return
		}
		if err != nil || !valid {
			t.Fatalf("%q: %v, valid %t", line, err, valid)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(line, &members); err != nil {
			t.Fatal(err)
		}
		same := func(name string, got []byte) {
			if want, ok := members[name]; ok && !bytes.Equal(want, got) || !ok && got != nil {
				t.Fatalf("%q: %s is %q, want %q", line, name, got, want)
			}
		}
		same("params", m.Params)
		same("result", m.Result)
		if m.ID != "" {
			same("id", []byte(m.ID))
		}
		if m.Kind != wire.ResponseKind {
			var method string
			if err := json.Unmarshal(members["method"], &method); err != nil || method != m.Method {
				t.Fatalf("%q: method %q, want %q (%v)", line, m.Method, method, err)
			}
		}
	})
}
