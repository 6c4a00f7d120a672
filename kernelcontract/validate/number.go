package validate

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// maxMagnitude is the number of digits before the point that a number may have: no float64 has more, and an integer
// without bounds is written out in full.
const maxMagnitude = 309

// simpleDigits is the number of digits up to which an integer surely fits an int64.
const simpleDigits = 18

// literal is the text of a number.
type literal struct {
	text   []byte
	simple bool // an integer of at most simpleDigits digits, without point and exponent
	value  int64
}

// literal reads the text of a number.
func (r *run) literal() (l literal, ok bool) {
	start := r.pos
	neg := r.in[r.pos] == '-'
	if neg {
		r.pos++
	}
	digits := r.pos
	if !r.digits() {
		return l, false
	}
	if r.in[digits] == '0' && r.pos > digits+1 {
		r.pos = digits
		return l, r.fail("a number must not begin with 0")
	}
	whole := r.pos
	if r.pos < len(r.in) && r.in[r.pos] == '.' {
		r.pos++
		if !r.digits() {
			return l, false
		}
	}
	if r.pos < len(r.in) && (r.in[r.pos] == 'e' || r.in[r.pos] == 'E') {
		r.pos++
		if r.pos < len(r.in) && (r.in[r.pos] == '+' || r.in[r.pos] == '-') {
			r.pos++
		}
		if !r.digits() {
			return l, false
		}
	}
	l.text = r.in[start:r.pos]
	if r.pos == whole && whole-digits <= simpleDigits {
		l.simple = true
		for _, c := range r.in[digits:whole] {
			l.value = l.value*10 + int64(c-'0')
		}
		if neg {
			l.value = -l.value
		}
	}
	return l, true
}

// digits reads at least one digit.
func (r *run) digits() bool {
	start := r.pos
	for r.pos < len(r.in) && '0' <= r.in[r.pos] && r.in[r.pos] <= '9' {
		r.pos++
	}
	if r.pos == start {
		return r.unexpected("a digit")
	}
	return true
}

// integer reads an integer value of n.
func (r *run) integer(n *node) bool {
	start := r.pos
	l, ok := r.literal()
	if !ok {
		return false
	}
	if l.simple && n.constants == nil {
		if r.input && l.value == 0 && l.text[0] == '-' {
			r.replace(start, r.pos, "0")
		}
		r.simpleBounds(n, l)
		return true
	}
	d := parseDecimal(l.text)
	if !d.integral() {
		r.issue(schema.IssueInvalidType, "must be an integer, got "+shorten(string(l.text)))
		return true
	}
	if !r.inRange(d, l.text) {
		return true
	}
	if text := d.plain(); r.input && text != string(l.text) {
		r.replace(start, r.pos, text)
	}
	if !r.constants(n, start) {
		r.exactBounds(n, d, l.text)
	}
	return true
}

// number reads a number value of n.
func (r *run) number(n *node) bool {
	start := r.pos
	l, ok := r.literal()
	if !ok {
		return false
	}
	if l.simple && !n.checked {
		return true
	}
	if l.simple && n.constants == nil {
		r.simpleBounds(n, l)
		return true
	}
	size := 64
	if n.float32 {
		size = 32
	}
	if _, err := strconv.ParseFloat(string(l.text), size); err != nil {
		r.rangeIssue(l.text[0] == '-', strconv.Itoa(size)+"-bit float", l.text)
		return true
	}
	if !r.constants(n, start) && n.checked {
		r.exactBounds(n, parseDecimal(l.text), l.text)
	}
	return true
}

// inRange refuses integers that are too long to write out.
func (r *run) inRange(d decimal, text []byte) bool {
	if d.magnitude() <= maxMagnitude {
		return true
	}
	r.rangeIssue(d.neg, "number", text)
	return false
}

func (r *run) rangeIssue(neg bool, what string, text []byte) {
	if neg {
		r.issue(schema.IssueTooSmall, "is below the range of a "+what+", got "+shorten(string(text)))
	} else {
		r.issue(schema.IssueTooBig, "is beyond the range of a "+what+", got "+shorten(string(text)))
	}
}

// bound is a limit of a number.
type bound struct {
	text      string
	exact     decimal
	small     int64 // the value, when isSmall
	isSmall   bool
	exclusive bool
}

func newBound(text string, exclusive bool) *bound {
	b := &bound{text: text, exact: parseDecimal([]byte(text)), exclusive: exclusive}
	if b.exact.integral() && b.exact.magnitude() <= simpleDigits+1 {
		v, err := strconv.ParseInt(b.exact.plain(), 10, 64)
		b.small, b.isSmall = v, err == nil
	}
	return b
}

// compare returns the order of a number and the bound.
func (b *bound) compare(l literal) int {
	if l.simple && b.isSmall {
		switch {
		case l.value < b.small:
			return -1
		case l.value > b.small:
			return 1
		}
		return 0
	}
	return parseDecimal(l.text).compare(b.exact)
}

// simpleBounds checks the bounds of an integer that fits an int64.
func (r *run) simpleBounds(n *node, l literal) {
	for _, b := range n.lower {
		if c := b.compare(l); c < 0 || c == 0 && b.exclusive {
			r.below(b, l.text)
			break
		}
	}
	for _, b := range n.upper {
		if c := b.compare(l); c > 0 || c == 0 && b.exclusive {
			r.above(b, l.text)
			break
		}
	}
	if n.multipleOf == nil {
		return
	}
	if m := n.multipleOf; m.isSmall && l.value%m.small != 0 || !m.isSmall && !parseDecimal(l.text).multipleOf(m.exact) {
		r.notMultiple(m, l.text)
	}
}

// exactBounds is simpleBounds for every other number.
func (r *run) exactBounds(n *node, d decimal, text []byte) {
	for _, b := range n.lower {
		if c := d.compare(b.exact); c < 0 || c == 0 && b.exclusive {
			r.below(b, text)
			break
		}
	}
	for _, b := range n.upper {
		if c := d.compare(b.exact); c > 0 || c == 0 && b.exclusive {
			r.above(b, text)
			break
		}
	}
	if n.multipleOf != nil && !d.multipleOf(n.multipleOf.exact) {
		r.notMultiple(n.multipleOf, text)
	}
}

func (r *run) below(b *bound, text []byte) {
	want := "must be at least "
	if b.exclusive {
		want = "must be above "
	}
	r.issue(schema.IssueTooSmall, want+b.text+", got "+shorten(string(text)))
}

func (r *run) above(b *bound, text []byte) {
	want := "must be at most "
	if b.exclusive {
		want = "must be below "
	}
	r.issue(schema.IssueTooBig, want+b.text+", got "+shorten(string(text)))
}

func (r *run) notMultiple(m *bound, text []byte) {
	r.issue(schema.IssueInvalidValue, "must be a multiple of "+m.text+", got "+shorten(string(text)))
}

// decimal is the exact value of a number: 0.digits × 10^exp, with digits that neither begin nor end in 0. Zero has none.
type decimal struct {
	neg    bool
	digits []byte
	exp    int
}

// maxExp bounds exponents, so that ten times one, or the sum of two, fits an int of 32 bits. Nothing beyond it is in any
// range.
const maxExp = 100_000_000

// parseDecimal reads the text of a JSON number.
func parseDecimal(text []byte) decimal {
	var d decimal
	if text[0] == '-' {
		d.neg, text = true, text[1:]
	}
	exp := 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		exp = parseExponent(text[i+1:])
		text = text[:i]
	}
	whole, fraction, _ := bytes.Cut(text, []byte{'.'})
	digits := whole
	if len(fraction) > 0 {
		digits = append(append(make([]byte, 0, len(text)), whole...), fraction...)
	}
	trimmed := bytes.TrimLeft(digits, "0")
	d.exp = len(whole) - (len(digits) - len(trimmed)) + exp
	d.digits = bytes.TrimRight(trimmed, "0")
	if len(d.digits) == 0 {
		return decimal{}
	}
	return d
}

func parseExponent(text []byte) int {
	neg := text[0] == '-'
	text = bytes.TrimLeft(text, "+-")
	e := 0
	for _, c := range text {
		if e = e*10 + int(c-'0'); e > maxExp {
			e = maxExp
		}
	}
	if neg {
		return -e
	}
	return e
}

// magnitude is the number of digits before the point; 0 or less for a fraction.
func (d decimal) magnitude() int { return d.exp }

func (d decimal) integral() bool { return d.exp >= len(d.digits) || len(d.digits) == 0 }

// plain writes an integral decimal in digits alone.
func (d decimal) plain() string {
	if len(d.digits) == 0 {
		return "0"
	}
	s := string(d.digits) + strings.Repeat("0", d.exp-len(d.digits))
	if d.neg {
		return "-" + s
	}
	return s
}

func (d decimal) compare(o decimal) int {
	sign := func(d decimal) int {
		switch {
		case len(d.digits) == 0:
			return 0
		case d.neg:
			return -1
		}
		return 1
	}
	s, t := sign(d), sign(o)
	switch {
	case s < t:
		return -1
	case s > t:
		return 1
	case s == 0:
		return 0
	case d.exp < o.exp:
		return -s
	case d.exp > o.exp:
		return s
	}
	return s * bytes.Compare(d.digits, o.digits) // 0.digits: the longer one of two with one beginning is greater
}

// maxPrecise bounds the digits of numbers whose multiples are computed: far beyond float64 and every 64-bit integer.
const maxPrecise = 1024

// multipleOf reports whether d is a multiple of m, which is above 0.
func (d decimal) multipleOf(m decimal) bool {
	if len(d.digits) == 0 {
		return true
	}
	x, ok := d.rational()
	y, okM := m.rational()
	return ok && okM && x.Quo(x, y).IsInt()
}

func (d decimal) rational() (*big.Rat, bool) {
	shift := d.exp - len(d.digits)
	if len(d.digits) > maxPrecise || shift > maxPrecise || shift < -maxPrecise {
		return nil, false
	}
	n, ok := new(big.Int).SetString(string(d.digits), 10)
	if !ok {
		return nil, false
	}
	if d.neg {
		n.Neg(n)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift >= 0 {
		return new(big.Rat).SetInt(n.Mul(n, power)), true
	}
	return new(big.Rat).SetFrac(n, power), true
}

// canonical writes a number so that equal numbers have equal text.
func (d decimal) canonical() string {
	sign := ""
	if d.neg {
		sign = "-"
	}
	return sign + "0." + string(d.digits) + "e" + strconv.Itoa(d.exp)
}
