package wire_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/matryer/is"
)

// readAll returns the lines of r, a long one as "<length>".
func readAll(t *testing.T, r io.Reader, max int) []string {
	t.Helper()
	lines := wire.NewLineReader(r, max)
	var list []string
	for {
		line, err := lines.Next()
		var long *wire.LongLineError
		switch {
		case errors.Is(err, io.EOF):
			return list
		case errors.As(err, &long):
			if long.Limit != max || !strings.HasPrefix(long.Start, "x") || len(long.Start) > 128 {
				t.Fatalf("%+v", long)
			}
			list = append(list, "<"+strings.Repeat("x", int(long.Length))+">")
		case err != nil:
			t.Fatal(err)
		default:
			list = append(list, string(line))
		}
	}
}

func TestLines(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"newline alone ends lines", "a\u2028b\u2029c\u0085d\x0be\n", []string{"a\u2028b\u2029c\u0085d\x0be"}},
		{"one trailing CR is taken off", "a\r\nb\r\r\n\r\nc\rd\n", []string{"a", "b\r", "", "c\rd"}},
		{"one byte order mark is skipped", "\ufeff\ufeffa\n\ufeffb\n", []string{"\ufeffa", "\ufeffb"}},
		{"a byte order mark alone", "\ufeff", nil},
		{"half a byte order mark is content", "\xef\xbb\na\n", []string{"\xef\xbb", "a"}},
		{"half a byte order mark at the end", "\xef\xbb", []string{"\xef\xbb"}},
		{"empty lines are lines", "\n\na\n", []string{"", "", "a"}},
		{"the last line needs no end", "a\nb", []string{"a", "b"}},
		{"the last line loses its CR", "a\nb\r", []string{"a", "b"}},
		{"at the limit", x(10) + "\n" + x(10) + "\r\n" + x(10), []string{x(10), x(10), x(10)}},
		{"at the limit behind a byte order mark", "\ufeff" + x(10) + "\r\na", []string{x(10), "a"}},
		{"over the limit", x(11) + "\na\n" + x(12) + "\nb", []string{"<" + x(11) + ">", "a", "<" + x(12) + ">", "b"}},
		{"far over the limit", x(1000) + "\na\n", []string{"<" + x(1000) + ">", "a"}},
		{"over the limit at the end", "a\n" + x(50), []string{"a", "<" + x(50) + ">"}},
		{"multi-byte characters", "äöü\n€\n", []string{"äöü", "€"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(readAll(t, strings.NewReader(test.in), 10+extra(test.in)), test.want)
			is.Equal(readAll(t, iotest.OneByteReader(strings.NewReader(test.in)), 10+extra(test.in)), test.want)
			is.Equal(readAll(t, iotest.DataErrReader(strings.NewReader(test.in)), 10+extra(test.in)), test.want)
		})
	}
}

// extra makes room for the lines of more than ten bytes that are no test of the limit.
func extra(in string) int {
	if strings.Contains(in, "xx") {
		return 0
	}
	return 100
}

func TestLinesKeepGoingWithinBoundedMemory(t *testing.T) {
	is := is.New(t)
	const length = 64 << 20
	in := io.MultiReader(io.LimitReader(&endless{text: "junk without an end "}, length), strings.NewReader("\nafter\n"))
	lines := wire.NewLineReader(in, 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := lines.Next()
	runtime.ReadMemStats(&after)
	var long *wire.LongLineError
	is.True(errors.As(err, &long))
	is.Equal(long.Length, int64(length))
	is.True(after.TotalAlloc-before.TotalAlloc < 8<<20) // of 64 MiB
	line, err := lines.Next()
	is.NoErr(err)
	is.Equal(string(line), "after")
}

func TestLinesDoNotAllocate(t *testing.T) {
	is := is.New(t)
	lines := wire.NewLineReader(&endless{text: aDelta + "\n"}, 0)
	is.Equal(testing.AllocsPerRun(10_000, func() {
		if _, err := lines.Next(); err != nil {
			t.Fatal(err)
		}
	}), 0.0)
}

func TestLineAtTheRealLimit(t *testing.T) {
	is := is.New(t)
	big := strings.Repeat("y", wire.MaxLine)
	lines := wire.NewLineReader(strings.NewReader(big+"\r\n"+big+"y\nsmall\n"), 0)
	line, err := lines.Next()
	is.NoErr(err)
	is.Equal(len(line), wire.MaxLine)
	_, err = lines.Next()
	var long *wire.LongLineError
	is.True(errors.As(err, &long))
	is.Equal(long.Length, int64(wire.MaxLine+1))
	is.True(strings.Contains(err.Error(), "8388609 bytes is over the limit of 8388608"))
	line, err = lines.Next()
	is.NoErr(err)
	is.Equal(string(line), "small")
}

func TestLinesOfBrokenReaders(t *testing.T) {
	is := is.New(t)
	broken := errors.New("broken")
	lines := wire.NewLineReader(io.MultiReader(strings.NewReader("a\nhal"), iotest.ErrReader(broken)), 0)
	line, err := lines.Next()
	is.NoErr(err)
	is.Equal(string(line), "a")
	_, err = lines.Next()
	is.True(errors.Is(err, broken)) // and not "hal", which may be half a message
	_, err = lines.Next()
	is.True(errors.Is(err, broken))

	_, err = wire.NewLineReader(stuck{}, 0).Next()
	is.True(errors.Is(err, io.ErrNoProgress))
	_, err = wire.NewLineReader(liar{}, 0).Next()
	is.True(err != nil)
}

// stuck reads nothing, without an error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// liar says that it read more than there is room.
type liar struct{}

func (liar) Read(b []byte) (int, error) { return len(b) + 1, nil }
