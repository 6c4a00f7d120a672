package near_test

import (
	"testing"

	"github.com/bb-kernel/bb/kernelcontract/internal/near"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 2, 0}, {"a", "a", 2, 0}, {"a", "", 2, 1}, {"", "abc", 2, 3}, {"abc", "", 9, 3},
		{"greet", "gret", 2, 1}, {"greet", "great", 2, 1}, {"greet", "rgeet", 2, 2},
		{"kitten", "sitting", 9, 3}, {"kitten", "sitting", 2, 3}, {"abcdef", "uvwxyz", 2, 3},
	} {
		if got := near.Distance(tt.a, tt.b, tt.limit); got != tt.want {
			t.Errorf("%q %q within %d: %d, want %d", tt.a, tt.b, tt.limit, got, tt.want)
		}
		if got := near.Distance(tt.b, tt.a, tt.limit); got != tt.want {
			t.Errorf("%q %q within %d: %d, want %d", tt.b, tt.a, tt.limit, got, tt.want)
		}
	}
}
