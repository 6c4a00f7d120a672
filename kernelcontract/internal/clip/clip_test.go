package clip_test

import (
	"testing"

	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
)

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in                 string
		n                  int
		bytes, text, quote string
	}{
		{"", 3, "", "", `""`},
		{"abc", 3, "abc", "abc", `"abc"`},
		{"abcd", 3, "abc", "abc…", `"abc"…`},
		{"aé", 2, "a", "a…", `"a"…`},
		{"éé", 2, "é", "é…", `"é"…`},
		{"a😀", 4, "a", "a…", `"a"…`},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80…", `"\x80\x80\x80\x80\x80"…`},
		{"é", 0, "", "…", `""…`},
	} {
		if got := clip.Bytes(tt.in, tt.n); got != tt.bytes {
			t.Errorf("Bytes(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.bytes)
		}
		if got := clip.Text(tt.in, tt.n); got != tt.text {
			t.Errorf("Text(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.text)
		}
		if got := clip.Quote(tt.in, tt.n); got != tt.quote {
			t.Errorf("Quote(%q, %d) = %s, want %s", tt.in, tt.n, got, tt.quote)
		}
	}
}
