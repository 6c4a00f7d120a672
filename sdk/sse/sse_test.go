package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/sdk/sse"
)

func Example() {
	stream := "retry: 1000\n: open\n\nid: 1\nevent: item\ndata: {\"text\":\"one\"}\n\nevent: end\ndata: {}\n\n"
	r := sse.NewReader(strings.NewReader(stream), sse.Options{})
	for {
		ev, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%s %q %s\n", ev.Name, ev.ID, ev.Data)
	}
	wait, _ := r.Retry()
	fmt.Println("reconnect after", wait)
	// Output:
	// item "1" {"text":"one"}
	// end "1" {}
	// reconnect after 1s
}

// read collects what a reader dispatches, as name|id|data.
func read(src io.Reader, o sse.Options) (events []string, r *sse.Reader, err error) {
	r = sse.NewReader(src, o)
	for {
		ev, err := r.Next()
		if err == io.EOF {
			return events, r, nil
		} else if err != nil {
			return events, r, err
		}
		events = append(events, ev.Name+"|"+ev.ID+"|"+string(ev.Data))
	}
}

func TestFormat(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []string
	}{
		{"LF", "data: a\n\ndata: b\n\n", []string{"message||a", "message||b"}},
		{"CRLF", "data: a\r\nid: 1\r\n\r\ndata: b\r\n\r\n", []string{"message|1|a", "message|1|b"}},
		{"CR only", "data: a\r\rdata: b\r\r", []string{"message||a", "message||b"}},
		{"mixed ends", "data: a\r\ndata: b\rdata: c\n\r\n", []string{"message||a\nb\nc"}},
		{"LF after CR LF is a blank line", "data: a\r\n\ndata: b\n\n", []string{"message||a", "message||b"}},
		{"byte order mark", "\uFEFFdata: a\n\n", []string{"message||a"}},
		{"second byte order mark is content", "\uFEFF\uFEFFdata: a\n\ndata: b\n\n", []string{"message||b"}},
		{"byte order mark later is content", "data: a\n\n\uFEFFdata: b\n\n", []string{"message||a"}},
		{"part of a byte order mark", "\xEF\xBBdata: a\n\ndata: b\n\n", []string{"message||b"}},
		{"comments", ": open\n\n:\ndata: a\n: in between\ndata: b\n\n", []string{"message||a\nb"}},
		{"one space is dropped", "data:a\n\ndata:  b\n\ndata:\tc\n\n", []string{"message||a", "message|| b", "message||\tc"}},
		{"colons in the value", "data: a: b:c\n\n", []string{"message||a: b:c"}},
		{"multi-line data", "data: a\ndata\ndata:\ndata: b\n\n", []string{"message||a\n\n\nb"}},
		{"empty data is an event", "data\n\ndata:\n\n", []string{"message||", "message||"}},
		{"no data, no event, no name kept", "event: lost\n\ndata: a\n\n", []string{"message||a"}},
		{"id alone counts", "id: 7\n\ndata: a\n\n", []string{"message|7|a"}},
		{"id stays", "id: 7\ndata: a\n\ndata: b\n\n", []string{"message|7|a", "message|7|b"}},
		{"empty id resets", "id: 7\ndata: a\n\nid\ndata: b\n\nid: 8\nid:\ndata: c\n\n", []string{"message|7|a", "message||b", "message||c"}},
		{"id zero", "id: 0\ndata: a\n\n", []string{"message|0|a"}},
		{"id with NUL is ignored", "id: 7\nid: a\x00b\ndata: a\n\n", []string{"message|7|a"}},
		{"names", "event: item\ndata: a\n\nevent: other\ndata: b\n\nevent:\ndata: c\n\n", []string{"item||a", "other||b", "message||c"}},
		{"last name holds", "event: item\nevent: end\ndata: a\n\n", []string{"end||a"}},
		{"unknown fields", "Data: a\nfoo: b\ndata : c\n data: d\ndata: e\n\n", []string{"message||e"}},
		{"what follows the last blank line", "data: a\n\nid: 9\ndata: b\n", []string{"message||a"}},
		{"a line without an end", "data: a\n\ndata: b", []string{"message||a"}},
		{"line separators of Unicode are content", "data: a\u2028b\u0085c\v\f\n\n", []string{"message||a\u2028b\u0085c\v\f"}},
		{"not UTF-8", "data: a\xffb\xe2\x82c\xed\xa0\x80\xf0\x9f\x98\n\n", []string{"message||a\uFFFDb\uFFFDc\uFFFD\uFFFD\uFFFD\uFFFD"}},
		{"empty", "", nil},
		{"blank lines only", "\n\r\r\n\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, _, err := read(strings.NewReader(tt.stream), sse.Options{})
			is.NoErr(err)
			is.Equal(got, tt.want)
			// However the network cuts, mid-line, mid-character or between CR and LF, the events are the same.
			got, _, err = read(iotest.OneByteReader(strings.NewReader(tt.stream)), sse.Options{})
			is.NoErr(err)
			is.Equal(got, tt.want) // byte for byte
			got, _, err = read(iotest.DataErrReader(strings.NewReader(tt.stream)), sse.Options{})
			is.NoErr(err)
			is.Equal(got, tt.want) // the last bytes together with EOF
		})
	}
}

func TestRetry(t *testing.T) {
	for stream, want := range map[string]time.Duration{
		"retry: 1500\n\n":                         1500 * time.Millisecond,
		"retry:20\n":                              20 * time.Millisecond,
		"retry: 0\n":                              0,
		"retry: 1500\nretry: x\n":                 1500 * time.Millisecond,
		"retry: 1500\nretry: -1\n":                1500 * time.Millisecond,
		"retry: 1500\nretry: 1.5\n":               1500 * time.Millisecond,
		"retry: 1500\nretry: \u0665\n":            1500 * time.Millisecond,
		"retry: 1500\nretry\n":                    1500 * time.Millisecond,
		"retry: 1500\nretry: 99999999999999999\n": 1500 * time.Millisecond,
	} {
		is := is.New(t)
		_, r, err := read(strings.NewReader(stream), sse.Options{})
		is.NoErr(err)
		got, ok := r.Retry()
		is.True(ok)
		is.Equal(got, want) // stream
	}
	_, r, _ := read(strings.NewReader("retry: no\n\n"), sse.Options{})
	_, ok := r.Retry()
	is.New(t).True(!ok)
}

// An id counts from the blank line on: a stream that is cut after the id and before the end of its event must be resumed
// from the event before.
func TestCutKeepsLastID(t *testing.T) {
	is := is.New(t)
	_, r, err := read(strings.NewReader("id: 1\ndata: a\n\nid: 2\ndata: b\n"), sse.Options{})
	is.NoErr(err)
	is.Equal(r.LastEventID(), "1")

	r = sse.NewReader(strings.NewReader("data: a\n\n"), sse.Options{})
	r.SetLastEventID("41")
	ev, err := r.Next()
	is.NoErr(err)
	is.Equal(ev.ID, "41") // where a resumed stream went on from
}

func TestBounds(t *testing.T) {
	o := sse.Options{MaxEvent: 100}
	long := strings.Repeat("x", 101)
	for name, stream := range map[string]string{
		"a line":             "data: " + long + "\n\n",
		"a line without end": "data: " + long,
		"a comment":          ":" + strings.Repeat("x", 1<<20),
		"many data lines":    strings.Repeat("data: 123456789\n", 11) + "\n",
		"many empty lines":   strings.Repeat("data\n", 101) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			_, r, err := read(iotest.OneByteReader(strings.NewReader("data: ok\n\n"+stream)), o)
			is.True(errors.Is(err, sse.ErrTooLong))
			_, err = r.Next()
			is.True(errors.Is(err, sse.ErrTooLong)) // it stays
		})
	}
	is := is.New(t)
	got, _, err := read(strings.NewReader(strings.Repeat(": heartbeat\n", 1000)+"data: "+long[:90]+"\n\n"), o)
	is.NoErr(err) // comments without a blank line add up to nothing
	is.Equal(len(got), 1)
}

// An event that is complete is dispatched without waiting for more, also when its last line ends in CR.
func TestPromptDispatch(t *testing.T) {
	for _, stream := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"} {
		is := is.New(t)
		pr, pw := io.Pipe()
		go pw.Write([]byte(stream)) // and never more
		ev, err := sse.NewReader(pr, sse.Options{}).Next()
		is.NoErr(err)
		is.Equal(string(ev.Data), "a")
		pr.Close()
	}
}

func TestSourceErrors(t *testing.T) {
	is := is.New(t)
	broken := errors.New("broken")
	r := sse.NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), sse.Options{})
	ev, err := r.Next()
	is.NoErr(err)
	is.Equal(string(ev.Data), "a") // what came whole before the error
	_, err = r.Next()
	is.True(errors.Is(err, broken))

	_, err = sse.NewReader(noProgress{}, sse.Options{}).Next()
	is.True(errors.Is(err, io.ErrNoProgress))
}

type noProgress struct{}

func (noProgress) Read([]byte) (int, error) { return 0, nil }

// reference is the parsing algorithm of the standard over the whole text, written as plainly as it is specified.
func reference(stream string) (events []string) {
	stream = strings.TrimPrefix(stream, "\uFEFF")
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	stream = strings.ReplaceAll(stream, "\r", "\n")
	lines := strings.Split(stream, "\n")
	var data, name, id string
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if data != "" {
				if name == "" {
					name = "message"
				}
				events = append(events, name+"|"+id+"|"+strings.TrimSuffix(data, "\n"))
			}
			data, name = "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data += value + "\n"
		case "event":
			name = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		}
	}
	return events
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"retry: 1000\n: open\n\nid: 1\nevent: item\ndata: {}\n\nevent: end\ndata: {}\n\n",
		"\uFEFFdata: a\r\n\r\ndata: b\r\r", "id: a\x00b\ndata\n\n", "data: \xe2\x82\n\n", "\xEF\xBB", "data:x\n\n\r\n\r\n", ":\n", "id\nid: 0\ndata:\n\n",
	} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		const bound = 1 << 16
		if len(stream) > bound {
			return
		}
		whole, r, err := read(bytes.NewReader(stream), sse.Options{MaxEvent: bound})
		if err != nil {
			t.Fatal(err)
		}
		cut, _, err := read(&stepReader{stream, int(step%7) + 1}, sse.Options{MaxEvent: bound})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", cut) {
			t.Fatalf("the cuts of the network change the events: %q, %q", whole, cut)
		}
		if valid := strings.ToValidUTF8(string(stream), ""); valid == string(stream) {
			if want := reference(valid); fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", want) {
				t.Fatalf("got %q, the standard says %q", whole, want)
			}
		}
		if strings.ContainsAny(r.LastEventID(), "\x00\r\n") {
			t.Fatalf("id %q", r.LastEventID())
		}
		_, _, _ = read(bytes.NewReader(stream), sse.Options{MaxEvent: 8}) // bounded: no panic
	})
}

type stepReader struct {
	rest []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.step)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
