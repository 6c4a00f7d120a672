package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Duration is a span of time that travels as an ISO 8601 duration, such as "PT1M30S". Its resolution is a nanosecond
// and its range that of time.Duration, about 292 years either way.
//
// Only exact spans are read: weeks (exactly 7 days, alone), days (exactly 24 hours), hours, minutes and seconds, in
// that order and each at most once; the seconds may have up to nine decimals; a leading "-" negates the whole. Years and months
// are refused, since their length depends on the calendar. What is written uses hours as the largest unit: "PT36H".
type Duration time.Duration

// String returns the ISO 8601 form, "PT0S" for zero.
func (d Duration) String() string {
	if d == 0 {
		return "PT0S"
	}
	var b strings.Builder
	u := uint64(d)
	if d < 0 {
		b.WriteByte('-')
		u = -u
	}
	b.WriteString("PT")
	const (
		second = uint64(time.Second)
		minute = uint64(time.Minute)
		hour   = uint64(time.Hour)
	)
	if h := u / hour; h > 0 {
		fmt.Fprintf(&b, "%dH", h)
	}
	if m := u % hour / minute; m > 0 {
		fmt.Fprintf(&b, "%dM", m)
	}
	switch s, n := u%minute/second, u%second; {
	case n > 0:
		b.WriteString(strings.TrimRight(fmt.Sprintf("%d.%09d", s, n), "0") + "S")
	case s > 0:
		fmt.Fprintf(&b, "%dS", s)
	}
	return b.String()
}

// MarshalJSON writes the ISO 8601 form as a string.
func (d Duration) MarshalJSON() ([]byte, error) { return []byte(`"` + d.String() + `"`), nil }

// UnmarshalJSON reads a string that ParseDuration accepts.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	v, err := ParseDuration(s)
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// ParseDuration reads an exact ISO 8601 duration; Duration documents which those are. The whole text is read, exactly:
// nothing is rounded.
func ParseDuration(s string) (Duration, error) {
	bad := func(why string) (Duration, error) {
		return 0, fmt.Errorf("duration %s: %s; write it as ISO 8601, such as \"PT1M30S\"", quoteShort(s), why)
	}
	rest, neg := strings.CutPrefix(s, "-")
	rest, ok := strings.CutPrefix(rest, "P")
	if !ok {
		return bad("it must begin with P")
	}
	var (
		total  uint64 // nanoseconds
		inTime bool
		last   = -1 // place of the last unit in order
		count  int
	)
	limit := uint64(math.MaxInt64)
	if neg {
		limit++
	}
	for rest != "" {
		if rest[0] == 'T' {
			if inTime || len(rest) == 1 {
				return bad("T must stand once, before a time")
			}
			inTime, rest = true, rest[1:]
			continue
		}
		n, frac, tail, ok := durationNumber(rest)
		if !ok || tail == "" {
			return bad("a number and its unit are expected at " + quoteShort(rest))
		}
		order, unit := durationUnit(tail[0], inTime)
		switch {
		case unit == 0 && !inTime && (tail[0] == 'Y' || tail[0] == 'M'):
			return bad("years and months have no exact length")
		case unit == 0:
			return bad("unknown unit " + quoteShort(tail[:1]))
		case order <= last:
			return bad("units must be in order, each once")
		case frac != "" && tail[0] != 'S':
			return bad("only seconds may have decimals")
		case len(frac) > 9:
			return bad("seconds have at most nine decimals")
		case last == weekOrder:
			return bad("weeks stand alone")
		}
		if n > limit/unit {
			return bad("it is too long")
		}
		add := n * unit
		if frac != "" {
			var nanos uint64
			for _, c := range (frac + "000000000")[:9] {
				nanos = nanos*10 + uint64(c-'0')
			}
			add += nanos
		}
		if add > limit-total {
			return bad("it is too long")
		}
		total += add
		last, rest = order, tail[1:]
		count++
	}
	if count == 0 {
		return bad("it holds no number")
	}
	if neg {
		return Duration(-total), nil
	}
	return Duration(total), nil
}

// weekOrder is the place of weeks, which stand before every other unit.
const weekOrder = 0

// durationUnit returns the place of a unit in the order and its length in nanoseconds, 0 for an unknown one.
func durationUnit(c byte, inTime bool) (order int, nanos uint64) {
	switch {
	case c == 'W' && !inTime:
		return weekOrder, 7 * 24 * uint64(time.Hour)
	case c == 'D' && !inTime:
		return 1, 24 * uint64(time.Hour)
	case c == 'H' && inTime:
		return 2, uint64(time.Hour)
	case c == 'M' && inTime:
		return 3, uint64(time.Minute)
	case c == 'S' && inTime:
		return 4, uint64(time.Second)
	}
	return 0, 0
}

// durationNumber splits a decimal number off the front of s.
func durationNumber(s string) (n uint64, frac, tail string, ok bool) {
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if n > (math.MaxUint64-9)/10 {
			return 0, "", "", false
		}
		n = n*10 + uint64(s[i]-'0')
	}
	if i == 0 {
		return 0, "", "", false
	}
	if i < len(s) && s[i] == '.' {
		j := i + 1
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if j == i+1 {
			return 0, "", "", false
		}
		return n, s[i+1 : j], s[j:], true
	}
	return n, "", s[i:], true
}
