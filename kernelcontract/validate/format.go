package validate

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// format is a named form of strings.
type format struct {
	ok   func(string) bool
	want string // what it is, for a message
}

// formatOf returns a format that is checked, nil for every other name: unknown formats are annotations.
func formatOf(name string) *format {
	switch name {
	case "date-time":
		return &format{isDateTime, `a date and time with offset such as "2026-01-31T15:04:05Z"`}
	case "date":
		return &format{isDate, `a date such as "2026-01-31"`}
	case "time":
		return &format{isTime, `a time with offset such as "15:04:05Z"`}
	case "duration":
		return &format{isDuration, `an ISO 8601 duration such as "PT1M30S"`}
	case "email":
		return &format{isEmail, `an e-mail address such as "someone@example.org"`}
	case "uri":
		return &format{isURI, `an absolute URI such as "https://example.org/path"`}
	case "uuid":
		return &format{isUUID, `a UUID such as "123e4567-e89b-12d3-a456-426614174000"`}
	case "hostname":
		return &format{isHostname, `a host name such as "example.org"`}
	case "ipv4":
		return &format{isIPv4, `an IPv4 address such as "192.0.2.1"`}
	case "ipv6":
		return &format{isIPv6, `an IPv6 address such as "2001:db8::1"`}
	}
	return nil
}

// isDateTime accepts what time.Time reads: RFC 3339 with an offset, upper-case T and Z, no leap second.
func isDateTime(s string) bool {
	return len(s) > 11 && s[10] == 'T' && isDate(s[:10]) && isTime(s[11:])
}

// isDate accepts YYYY-MM-DD of a day that exists.
func isDate(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	year, okY := digits(s[:4])
	month, okM := digits(s[5:7])
	day, okD := digits(s[8:])
	return okY && okM && okD && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// isTime accepts hh:mm:ss, decimals, and Z or an offset.
func isTime(s string) bool {
	if len(s) < 9 || !isClock(s[:8]) {
		return false
	}
	s = s[8:]
	if s[0] == '.' {
		n := 1
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		if n == 1 {
			return false
		}
		s = s[n:]
	}
	if s == "Z" {
		return true
	}
	return len(s) == 6 && (s[0] == '+' || s[0] == '-') && isClock(s[1:]+":00")
}

// isClock accepts hh:mm:ss.
func isClock(s string) bool {
	if s[2] != ':' || s[5] != ':' {
		return false
	}
	hour, okH := digits(s[:2])
	minute, okM := digits(s[3:5])
	second, okS := digits(s[6:])
	return okH && okM && okS && hour < 24 && minute < 60 && second < 60
}

// digits reads a number of digits alone.
func digits(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// isDuration accepts what schema.Duration reads.
func isDuration(s string) bool {
	_, err := schema.ParseDuration(s)
	return err == nil
}

// isEmail accepts local@host with a plain ASCII local part of at most 64 bytes; quoted local parts are not known.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 || !isHostname(s[at+1:]) {
		return false
	}
	local := s[:at]
	for i := range len(local) {
		c := local[i]
		if c <= ' ' || c > '~' || strings.IndexByte(`()<>[]:;@\,"`, c) >= 0 {
			return false
		}
	}
	return local[0] != '.' && local[at-1] != '.' && !strings.Contains(local, "..")
}

// isURI accepts an absolute URI of RFC 3986 characters.
func isURI(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			return false
		}
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme != ""
}

// isUUID accepts 8-4-4-4-12 hexadecimal digits.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return false
			}
		}
	}
	return true
}

// isHostname accepts labels of letters, digits and inner hyphens, at most 63 bytes each and 253 in all.
func isHostname(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-') {
				return false
			}
		}
	}
	return true
}

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

// isBase64 accepts padded base64 of the standard alphabet in its one canonical form.
func isBase64(s []byte) bool {
	if len(s)%4 != 0 {
		return false
	}
	end := len(s)
	for pad := 0; pad < 2 && end > 0 && s[end-1] == '='; pad++ {
		end--
	}
	var last byte
	for _, c := range s[:end] {
		v, ok := base64Digit(c)
		if !ok {
			return false
		}
		last = v
	}
	switch len(s) - end { // the bits of the last digit that stand for no byte must be 0
	case 1:
		return last&0x03 == 0
	case 2:
		return last&0x0F == 0
	}
	return true
}

func base64Digit(c byte) (byte, bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return c - 'A', true
	case 'a' <= c && c <= 'z':
		return c - 'a' + 26, true
	case '0' <= c && c <= '9':
		return c - '0' + 52, true
	case c == '+':
		return 62, true
	case c == '/':
		return 63, true
	}
	return 0, false
}
