package word

import (
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/internal/near"
)

// Limits of a suggestion: a name is near when its edit distance or its shared prefix says so.
const (
	maxDistance    = 2
	minPrefix      = 3
	maxSuggestions = 3 // more would be a list, not a hint
)

// Nearest returns the candidates that a mistyped name may have meant, best first, at most three: those within edit
// distance 2, or with the first three bytes in common.
func Nearest(name string, candidates []string) []string {
	type candidate struct {
		name string
		rank int
	}
	var found []candidate
	for _, c := range candidates {
		switch d := near.Distance(name, c, maxDistance); {
		case c == "" || c == name:
		case d <= maxDistance:
			found = append(found, candidate{c, d})
		case len(name) >= minPrefix && strings.HasPrefix(c, name[:minPrefix]):
			found = append(found, candidate{c, maxDistance + 1})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.rank - b.rank })
	var out []string
	for _, n := range found {
		if !slices.Contains(out, n.name) && len(out) < maxSuggestions {
			out = append(out, n.name)
		}
	}
	return out
}
