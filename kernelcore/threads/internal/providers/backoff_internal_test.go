package providers

import (
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestBackoffDoublesUpToABound(t *testing.T) {
	is := is.New(t)
	now := time.Unix(0, 0)
	var b backoff
	is.Equal(b.wait(now), time.Duration(0))
	for _, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		b.failed(now, time.Second)
		is.Equal(b.wait(now), want)
		is.Equal(b.wait(now.Add(want)), time.Duration(0))
	}
	b.failed(now, BackoffForget) // one that had worked for long
	is.Equal(b.wait(now), BackoffFirst)
	b.reset()
	is.Equal(b.wait(now), time.Duration(0))
}

func TestCompareVersions(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"1.2.10", "1.2.9", 1}, {"v1.2", "1.2.0", 0}, {"1.2", "1.10", -1}, {"1.0.0-rc.1", "1.0.0", -1}, {"1.0.0", "1.0.0-rc.1", 1},
		{"1.0.0-rc.1", "1.0.0-rc.2", -1}, {"1.0.0+build5", "1.0.0", 0}, {"", "0.0.1", -1}, {"unknown", "0", -1}, {"2.0", "3.0", -1},
	} {
		if got := compareVersions(tt.a, tt.b); got != tt.want {
			t.Errorf("compareVersions(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestModelsAreKeptForTenMinutesAndBounded(t *testing.T) {
	is := is.New(t)
	now := time.Unix(0, 0)
	c := newModelCache()
	c.put("/a", nil, now)
	_, ok := c.get("/a", now.Add(10*time.Minute-1))
	is.True(ok)
	_, ok = c.get("/a", now.Add(10*time.Minute))
	is.True(!ok)
	for i := range maxModelLists {
		c.put(string(rune('A'+i)), nil, now.Add(time.Second))
	}
	is.Equal(len(c.lists), maxModelLists)
	_, ok = c.get("/a", now)
	is.True(!ok) // the oldest went
}

func TestWholeRunes(t *testing.T) {
	is := is.New(t)
	text, tail := wholeRunes([]byte("é"[:1]))
	is.Equal(text, "")
	text, tail = wholeRunes(append(tail, "é"[1:]...))
	is.Equal(text, "é")
	is.Equal(len(tail), 0)
	text, _ = wholeRunes([]byte("a\xffb"))
	is.Equal(text, "a\uFFFDb")
}
