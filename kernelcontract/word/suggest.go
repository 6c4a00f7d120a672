package word

import (
	"slices"
	"strings"
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
	type near struct {
		name string
		rank int
	}
	var found []near
	for _, c := range candidates {
		switch d := distance(name, c); {
		case c == "" || c == name:
		case d <= maxDistance:
			found = append(found, near{c, d})
		case len(name) >= minPrefix && strings.HasPrefix(c, name[:minPrefix]):
			found = append(found, near{c, maxDistance + 1})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.rank - b.rank })
	var out []string
	for _, n := range found {
		if !slices.Contains(out, n.name) && len(out) < maxSuggestions {
			out = append(out, n.name)
		}
	}
	return out
}

// distance returns the edit distance of a and b in bytes, or more than maxDistance as soon as it must be that.
func distance(a, b string) int {
	if d := len(a) - len(b); d > maxDistance || -d > maxDistance {
		return maxDistance + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		best := row[0]
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
			best = min(best, next)
		}
		if best > maxDistance {
			return maxDistance + 1
		}
	}
	return row[len(b)]
}
