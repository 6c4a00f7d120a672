package providers

import (
	"os"
	"testing"

	"github.com/matryer/is"
)

func TestStatOfThisProcess(t *testing.T) {
	is := is.New(t)
	one, ok := processOf(os.Getpid())
	is.True(ok)
	is.Equal(one.PID, os.Getpid())
	is.Equal(one.parent, os.Getppid())
	found := false
	for _, other := range processes() {
		found = found || other.PID == one.PID && other.Start == one.Start
	}
	is.True(found)
	is.True(!olderThan(one, one))
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) b) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2"))
	f.Add([]byte("12 (x) Z 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		one, ok := parseStat(raw)
		if ok && one.Start == "" {
			t.Errorf("%q gives a process without a start", raw)
		}
	})
}

func TestParseStat(t *testing.T) {
	is := is.New(t)
	one, ok := parseStat([]byte("12 (a) b) S 1 11 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2"))
	is.True(ok)
	is.Equal(one, process{PID: 12, Start: "12345", parent: 1, group: 11})
	_, ok = parseStat([]byte("12 (x) Z 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2"))
	is.True(!ok)
}
