package validate

import (
	"math"
	"strconv"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// object reads an object; the next byte is its brace.
func (r *run) object(n *node) bool {
	if !r.open() {
		return false
	}
	var (
		seen     propSet
		free     = freeKeys{base: len(r.keys)}
		count    int
		expected int // the property that most likely comes next
	)
	if r.peek() != '}' {
		for {
			if r.peek() != '"' {
				return r.unexpected("a key")
			}
			key, ok := r.string()
			if !ok {
				return false
			}
			i := n.find(key, expected)
			if i >= 0 {
				expected = i + 1
				ok = r.member(n, i, &seen)
			} else {
				ok = r.freeMember(n, key, &free)
			}
			if !ok {
				return false
			}
			count++
			if c := r.peek(); c == ',' {
				r.pos++
				continue
			} else if c != '}' {
				return r.unexpected("a comma or }")
			}
			break
		}
	}
	r.keys = r.keys[:free.base]
	for i := range n.props {
		if p := &n.props[i]; !seen.has(i) && (p.required || p.def != "") {
			count = r.absent(p, i, count)
		}
	}
	r.counts(n, count, "key")
	r.close()
	return true
}

// absent handles a property that was not given, and returns the number of members with it.
func (r *run) absent(p *prop, i, count int) int {
	if p.required {
		r.path = append(r.path, step{key: p.name, order: i})
		r.issue(schema.IssueRequired, "is required; add "+strconv.Quote(p.name))
		r.path = r.path[:len(r.path)-1]
		return count
	}
	if !r.input {
		return count
	}
	if r.settle != nil {
		r.settle(p)
	}
	comma := ","
	if count == 0 {
		comma = ""
	}
	r.replace(r.pos, r.pos, comma, p.key, p.def)
	return count + 1
}

// colon reads what stands between a key and its value.
func (r *run) colon() bool {
	if r.peek() != ':' {
		return r.unexpected("a colon")
	}
	r.pos++
	return true
}

// member reads the value of the declared property i.
func (r *run) member(n *node, i int, seen *propSet) bool {
	p := &n.props[i]
	r.path = append(r.path, step{key: p.name, order: i})
	ok := r.colon()
	switch {
	case !ok:
	case seen.has(i):
		r.issue(schema.IssueDuplicateKey, "is given twice; leave one "+strconv.Quote(p.name)+" out")
		ok = r.skip()
	default:
		seen.add(i, len(n.props))
		ok = r.value(p.node)
	}
	r.path = r.path[:len(r.path)-1]
	return ok
}

// freeMember reads a member whose key is not declared.
func (r *run) freeMember(n *node, key []byte, free *freeKeys) bool {
	name := string(key)
	r.path = append(r.path, step{key: name, order: math.MaxInt})
	ok := r.colon()
	switch {
	case !ok:
	case free.add(r, name):
		r.issue(schema.IssueDuplicateKey, "is given twice; leave one "+quote(name)+" out")
		ok = r.skip()
	case n.values != nil:
		ok = r.value(n.values)
	default:
		r.issue(schema.IssueUnrecognizedKey, unrecognized(name, n))
		ok = r.skip()
	}
	r.path = r.path[:len(r.path)-1]
	return ok
}

// array reads an array; the next byte is its bracket.
func (r *run) array(n *node) bool {
	if !r.open() {
		return false
	}
	var items map[string]int // canonical text → index, for uniqueItems
	if n.unique {
		items = map[string]int{}
	}
	count := 0
	if r.peek() != ']' {
		for {
			r.space()
			start := r.pos
			r.path = append(r.path, step{index: count, order: count, element: true})
			if !r.value(n.items) {
				return false
			}
			r.path = r.path[:len(r.path)-1]
			if items != nil {
				text := canonical(r.in[start:r.pos])
				if first, twice := items[text]; twice {
					r.issue(schema.IssueInvalidValue, "must not repeat an item: "+strconv.Itoa(first)+" and "+strconv.Itoa(count)+" are equal")
				} else {
					items[text] = count
				}
			}
			count++
			if c := r.peek(); c == ',' {
				r.pos++
				continue
			} else if c != ']' {
				return r.unexpected("a comma or ]")
			}
			break
		}
	}
	r.counts(n, count, "item")
	r.close()
	return true
}

// counts checks the number of items or keys.
func (r *run) counts(n *node, count int, what string) {
	if n.min != noLimit && count < n.min {
		r.issue(schema.IssueTooSmall, "must have at least "+plural(n.min, what)+", got "+strconv.Itoa(count))
	}
	if n.max != noLimit && count > n.max {
		r.issue(schema.IssueTooBig, "must have at most "+plural(n.max, what)+", got "+strconv.Itoa(count))
	}
}

// propSet is a set of property indexes. The first 64 need no memory of their own.
type propSet struct {
	low  uint64
	high []uint64
}

func (s *propSet) has(i int) bool {
	if i < 64 {
		return s.low&(1<<i) != 0
	}
	i -= 64
	return s.high != nil && s.high[i/64]&(1<<(i%64)) != 0
}

func (s *propSet) add(i, total int) {
	if i < 64 {
		s.low |= 1 << i
		return
	}
	if s.high == nil {
		s.high = make([]uint64, (total+63)/64)
	}
	i -= 64
	s.high[i/64] |= 1 << (i % 64)
}

// freeKeys finds duplicates among the keys of one object that are not declared. They lie in run.keys from base on;
// an object with many gets an index.
type freeKeys struct {
	base  int
	index map[string]bool
}

// maxLinearKeys is the number of keys up to which looking at each is faster than an index.
const maxLinearKeys = 16

// add remembers a key and reports whether it was there already.
func (f *freeKeys) add(r *run, key string) bool {
	own := r.keys[f.base:]
	if f.index == nil && len(own) == maxLinearKeys {
		f.index = make(map[string]bool, 4*maxLinearKeys)
		for _, k := range own {
			f.index[k] = true
		}
	}
	if f.index != nil {
		if f.index[key] {
			return true
		}
		f.index[key] = true
		return false
	}
	for _, k := range own {
		if k == key {
			return true
		}
	}
	r.keys = append(r.keys, key)
	return false
}
