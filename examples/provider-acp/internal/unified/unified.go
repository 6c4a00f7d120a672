// Package unified compares two texts and writes what changed as a unified diff with file headers.
package unified

import (
	"fmt"
	"slices"
	"strings"
)

const (
	context = 3 // lines around a change, as other tools show them
	// maxEdits bounds the search for the shortest diff, whose cost is its square. Texts that differ more are shown as one
	// change from the first to the last line that differs.
	maxEdits = 1000
)

// Diff returns the unified diff from the text of before to that of after; "" when they are equal. Nil stands for a file
// that does not exist. Names are written into the headers, with a and b in front when they are relative.
func Diff(name string, before, after *string) string {
	old, oldName := lines(before), label("a/", name, before)
	new, newName := lines(after), label("b/", name, after)
	ops := compare(old, new)
	var b strings.Builder
	for i := 0; i < len(ops); {
		if ops[i].kind == same {
			i++
			continue
		}
		start := max(0, i-context)
		end, last := i, i // of the hunk; of its last change
		for end < len(ops) && end-last <= 2*context {
			if ops[end].kind != same {
				last = end
			}
			end++
		}
		end = min(len(ops), last+context+1)
		if b.Len() == 0 {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", oldName, newName)
		}
		hunk(&b, ops[start:end])
		i = end
	}
	return b.String()
}

func label(prefix, name string, text *string) string {
	if text == nil {
		return "/dev/null"
	}
	if strings.HasPrefix(name, "/") || strings.Contains(name, `:\`) {
		return name
	}
	return prefix + name
}

// lines splits behind line ends; the last line may lack one.
func lines(text *string) []string {
	if text == nil || *text == "" {
		return nil
	}
	l := strings.SplitAfter(*text, "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}

type kind byte

const (
	same kind = ' '
	less kind = '-'
	more kind = '+'
)

// op is a line of the diff, and the numbers of the lines in front of it in both texts.
type op struct {
	kind     kind
	text     string
	old, new int
}

func hunk(b *strings.Builder, ops []op) {
	var old, new int
	for _, o := range ops {
		if o.kind != more {
			old++
		}
		if o.kind != less {
			new++
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", place(ops[0].old, old), place(ops[0].new, new))
	for _, o := range ops {
		b.WriteByte(byte(o.kind))
		b.WriteString(o.text)
		if !strings.HasSuffix(o.text, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// place says where a hunk begins: a hunk without lines is named by the line in front of it.
func place(before, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, count)
}

// compare lists all lines of both texts in the order of a diff.
func compare(old, new []string) []op {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(new)-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	ops := make([]op, 0, max(len(old), len(new)))
	o, n := 0, 0
	add := func(k kind) {
		p := op{kind: k, old: o, new: n}
		if k == more {
			p.text = new[n]
		} else {
			p.text = old[o]
		}
		if k != more {
			o++
		}
		if k != less {
			n++
		}
		ops = append(ops, p)
	}
	for range head {
		add(same)
	}
	for _, k := range middle(old[head:len(old)-tail], new[head:len(new)-tail]) {
		add(k)
	}
	for range tail {
		add(same)
	}
	return ops
}

// middle is the algorithm of Myers: the furthest that each number of edits reaches on each diagonal.
func middle(old, new []string) []kind {
	limit := min(len(old)+len(new), maxEdits)
	reach := make([]int, 2*limit+3)
	at := func(k int) int { return k + limit + 1 }
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), reach[at(-d-1):at(d+1)+1]...))
		for k := -d; k <= d; k += 2 {
			x := reach[at(k-1)] + 1
			if k == -d || k != d && reach[at(k-1)] < reach[at(k+1)] {
				x = reach[at(k+1)]
			}
			for x < len(old) && x-k < len(new) && x-k >= 0 && old[x] == new[x-k] {
				x++
			}
			reach[at(k)] = x
			if x >= len(old) && x-k >= len(new) {
				return walk(trace, len(old), len(new))
			}
		}
	}
	all := make([]kind, 0, len(old)+len(new))
	for range old {
		all = append(all, less)
	}
	for range new {
		all = append(all, more)
	}
	return all
}

// walk goes back through the reaches of the search.
func walk(trace [][]int, x, y int) []kind {
	var back []kind
	for d := len(trace) - 1; d > 0; d-- {
		reach := trace[d] // of diagonals -d-1 to d+1
		k := x - y
		from := k - 1
		if k == -d || k != d && reach[k-1+d+1] < reach[k+1+d+1] {
			from = k + 1
		}
		x0 := reach[from+d+1] // behind the edit
		if from == k-1 {
			x0++
		}
		for ; x > x0; x, y = x-1, y-1 {
			back = append(back, same)
		}
		if from == k+1 {
			back = append(back, more)
			y--
		} else {
			back = append(back, less)
			x--
		}
	}
	for range x {
		back = append(back, same)
	}
	slices.Reverse(back)
	return back
}
