// Package header holds the HTTP headers of the kernel: their names, and the codec of those that carry more than one
// value. Parsers are strict and take the values as they are in a header map, so that a repeated header is seen; their
// errors are InvalidInput and name the header. The rules are in docs/spec/http.md and docs/spec/principals.md.
package header

import (
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
)

// Names of request headers.
const (
	Client      = "X-BB-Client"
	Context     = "x-bb-context"
	Render      = "Bb-Render"
	LastEventID = "Last-Event-ID"
	Gate        = "Bb-Gate"
	HostProxy   = "Bb-Host-Proxy"
)

// Names of response headers, on every answer of the API.
const (
	CallID     = "Bb-Call-Id"    // unique, sorts by time
	Generation = "Bb-Generation" // of the catalog, grows across restarts
	Deadline   = "Bb-Deadline"   // RFC 3339 with milliseconds
	ServerID   = "Bb-Server-Id"  // stable for a data directory
)

// DeadlineLayout is how Deadline is written, in UTC.
const DeadlineLayout = "2006-01-02T15:04:05.000Z"

// MaxPart bounds each part of X-BB-Client, in bytes: it is kept with every call.
const MaxPart = 64

// refuse returns the error of a malformed header.
func refuse(name, format string, args ...any) *kernelcontract.Error {
	return kernelcontract.InvalidInput.Errorf("header "+name+": "+format, args...)
}

// one returns the only value of a header, "" when it is absent.
func one(name string, values []string) (value string, present bool, err *kernelcontract.Error) {
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	}
	return "", true, refuse(name, "is sent %d times, send it once", len(values))
}

// ParseClient reads X-BB-Client: kind/surface, then optionally "; version=v". Absent is the headless client.
func ParseClient(values []string) (kernelcontract.ClientInfo, *kernelcontract.Error) {
	value, present, err := one(Client, values)
	if err != nil || !present {
		return kernelcontract.HeadlessClient(), err
	}
	name, params, more := strings.Cut(value, ";")
	kind, surface, _ := strings.Cut(trimEnd(name), "/")
	info := kernelcontract.ClientInfo{Kind: kind, Surface: surface}
	ok := isPart(kind) && isPart(surface)
	if more {
		info.Version, more = strings.CutPrefix(trimStart(params), "version=")
		ok = ok && more && isPart(info.Version)
	}
	if !ok {
		return kernelcontract.HeadlessClient(), refuse(Client, "%q is not kind/surface or kind/surface; version=v, with each part 1 to %d of a-z 0-9 . _ -", clip.Text(value, shown), MaxPart)
	}
	return info, nil
}

// FormatClient writes X-BB-Client. The error says that a part of info cannot be sent.
func FormatClient(info kernelcontract.ClientInfo) (string, error) {
	value := info.Kind + "/" + info.Surface
	if info.Version != "" {
		value += "; version=" + info.Version
	}
	if _, err := ParseClient([]string{value}); err != nil {
		return "", err
	}
	return value, nil
}

func isPart(s string) bool {
	if s == "" || len(s) > MaxPart {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// ParseRender reads Bb-Render: "text", then optionally width, color and tty, each once. Absent is nil: JSON is wanted.
func ParseRender(values []string) (*kernelcontract.Render, *kernelcontract.Error) {
	value, present, err := one(Render, values)
	if err != nil || !present {
		return nil, err
	}
	mode, params, more := strings.Cut(value, ";")
	if trimEnd(mode) != "text" {
		return nil, refuse(Render, "%q does not begin with text", clip.Text(value, shown))
	}
	r := &kernelcontract.Render{}
	seen := map[string]bool{}
	for more {
		var param string
		param, params, more = strings.Cut(params, ";")
		key, v, _ := strings.Cut(trimEnd(trimStart(param)), "=")
		if seen[key] {
			return nil, refuse(Render, "%s is given twice", key)
		}
		ok := true
		switch key {
		case "width":
			r.Width, ok = width(v)
		case "color":
			r.Color, ok = v == "1", v == "1" || v == "0"
		case "tty":
			r.TTY, ok = v == "1", v == "1" || v == "0"
		default:
			return nil, refuse(Render, "%q is not width, color or tty", clip.Text(key, shown))
		}
		if !ok {
			return nil, refuse(Render, "%s is %q; width takes %d to %d, color and tty take 0 or 1", key, clip.Text(v, shown), kernelcontract.MinWidth, kernelcontract.MaxWidth)
		}
		seen[key] = true
	}
	return r, nil
}

func width(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= kernelcontract.MinWidth && n <= kernelcontract.MaxWidth && s == strconv.Itoa(n)
}

// FormatRender writes Bb-Render; a width out of bounds is moved to the nearest that can be sent.
func FormatRender(r kernelcontract.Render) string {
	bit := map[bool]string{false: "0", true: "1"}
	return "text; width=" + strconv.Itoa(r.Columns()) + "; color=" + bit[r.Color] + "; tty=" + bit[r.TTY]
}

// ValidCursor reports whether s can travel as a cursor: printable ASCII, 1 to kernelcontract.MaxCursor bytes, and no
// space at an end, where a header would lose it.
func ValidCursor(s string) bool {
	if s == "" || len(s) > kernelcontract.MaxCursor || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// ParseLastEventID reads Last-Event-ID, a cursor. Absent and empty are "".
func ParseLastEventID(values []string) (string, *kernelcontract.Error) {
	value, _, err := one(LastEventID, values)
	if err == nil && value != "" && !ValidCursor(value) {
		err = refuse(LastEventID, "%q is not a cursor: printable ASCII, at most %d bytes", clip.Text(value, shown), kernelcontract.MaxCursor)
	}
	if err != nil {
		return "", err
	}
	return value, nil
}

func trimStart(s string) string { return strings.TrimLeft(s, " \t") }
func trimEnd(s string) string   { return strings.TrimRight(s, " \t") }

// shown bounds how much of a foreign value a message repeats, in bytes.
const shown = 80
