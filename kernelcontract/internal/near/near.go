// Package near measures how far two names are apart, for suggestions.
package near

// Distance returns the edit distance of a and b in bytes, or limit+1 as soon as it must be above limit.
func Distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
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
		if best > limit {
			return limit + 1
		}
	}
	return min(row[len(b)], limit+1)
}
