package plain

import (
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// reader reads one text. Its methods report false as soon as it is not what they know.
type reader struct {
	in    []byte
	pos   int
	depth int
}

func (r *reader) space() {
	for r.pos < len(r.in) {
		switch r.in[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return
		}
	}
}

// take skips white space, and c when it comes next.
func (r *reader) take(c byte) bool {
	r.space()
	if r.pos == len(r.in) || r.in[r.pos] != c {
		return false
	}
	r.pos++
	return true
}

func (r *reader) word(w string) bool {
	if len(r.in)-r.pos < len(w) || string(r.in[r.pos:r.pos+len(w)]) != w {
		return false
	}
	r.pos += len(w)
	return true
}

func (r *reader) value(n *node, v reflect.Value) bool {
	if r.depth == maxDepth {
		return false
	}
	r.space()
	switch n.kind {
	case reflect.String:
		s, ok := r.text()
		if ok {
			v.SetString(string(s))
		}
		return ok
	case reflect.Bool:
		yes := r.word("true")
		v.SetBool(yes)
		return yes || r.word("false")
	case reflect.Struct:
		return r.object(n, v)
	case reflect.Slice:
		return r.word("null") || r.list(n, v)
	case reflect.Pointer:
		if r.word("null") {
			return true
		}
		p := reflect.New(v.Type().Elem())
		v.Set(p)
		r.depth++ // a pointer type can point to itself
		ok := r.value(n.elem, p.Elem())
		r.depth--
		return ok
	}
	return r.number(n.kind, v)
}

func (r *reader) number(k reflect.Kind, v reflect.Value) bool {
	from := r.pos
	for r.pos < len(r.in) {
		switch c := r.in[r.pos]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			r.pos++
			continue
		}
		break
	}
	text := string(r.in[from:r.pos])
	switch k {
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(text, v.Type().Bits())
		if err != nil || !jsontext.IsNumber(text) {
			return false
		}
		v.SetFloat(f)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil || !jsontext.IsInteger(text) {
			return false
		}
		v.SetInt(i)
	default:
		u, err := strconv.ParseUint(text, 10, v.Type().Bits())
		if err != nil || !jsontext.IsInteger(text) {
			return false
		}
		v.SetUint(u)
	}
	return true
}

// text reads a string without escapes.
func (r *reader) text() (s []byte, ok bool) {
	if !r.take('"') {
		return nil, false
	}
	ascii := true
	for i := r.pos; i < len(r.in); i++ {
		switch c := r.in[i]; {
		case c == '"':
			s, r.pos = r.in[r.pos:i], i+1
			return s, ascii || utf8.Valid(s)
		case c < ' ', c == '\\':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

func (r *reader) object(n *node, v reflect.Value) bool {
	if !r.take('{') {
		return false
	}
	if r.take('}') {
		return true
	}
	r.depth++
	var given uint64
	for next := 0; ; {
		key, ok := r.text()
		if !ok {
			return false
		}
		i := n.find(key, next)
		if i < 0 || given&(1<<i) != 0 || !r.take(':') {
			return false
		}
		given |= 1 << i
		next = i + 1
		f := &n.fields[i]
		if !r.value(f.node, v.FieldByIndex(f.index)) {
			return false
		}
		if r.take(',') {
			continue
		}
		r.depth--
		return r.take('}')
	}
}

// find returns the field of a key, -1 for none. likely is the one that is looked at first.
func (n *node) find(key []byte, likely int) int {
	if likely < len(n.fields) && n.fields[likely].name == string(key) {
		return likely
	}
	for i := range n.fields {
		if n.fields[i].name == string(key) {
			return i
		}
	}
	return -1
}

func (r *reader) list(n *node, v reflect.Value) bool {
	if !r.take('[') {
		return false
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	if r.take(']') {
		return true
	}
	r.depth++
	for i := 0; ; i++ {
		if i == v.Cap() {
			v.Grow(max(4, i))
		}
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		if !r.value(n.elem, v.Index(i)) {
			return false
		}
		if r.take(',') {
			continue
		}
		r.depth--
		return r.take(']')
	}
}
