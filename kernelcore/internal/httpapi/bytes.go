package httpapi

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// inline are the media types that a browser may show in place: none of them runs anything.
var inline = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "text/plain": true}

// bytes answers a result that is bytes as they are, when raw or the Accept header asks for it; false when it did not.
func (x *exchange) bytes(res *engine.Result, raw bool) bool {
	accept := x.r.Header["Accept"]
	if !raw && (len(accept) == 0 || x.render != nil) {
		return false
	}
	out, err := x.method.Def.Output()
	if err != nil || !out.IsBytes() {
		return false
	}
	b, ok := bytesOf(res)
	if !ok {
		return false
	}
	media, params, err := mime.ParseMediaType(b.MIMEType)
	contentType := ""
	if err == nil && strings.Contains(media, "/") {
		contentType = mime.FormatMediaType(media, params)
	}
	if contentType == "" { // what is no media type is shown nowhere
		media, contentType = "application/octet-stream", "application/octet-stream"
	}
	if !raw && !prefers(accept, media) {
		return false
	}
	h := x.w.Header()
	if !inline[media] {
		h.Set("Content-Disposition", "attachment")
		h.Set("Content-Security-Policy", "sandbox")
	}
	h.Set("Accept-Ranges", "bytes")
	x.part([]string{contentType}, b.Data)
	return true
}

// bytesOf returns the bytes of a result; false when it is null.
func bytesOf(res *engine.Result) (b schema.Bytes, ok bool) {
	switch v := res.Value.(type) {
	case schema.Bytes:
		return v, true
	case *schema.Bytes:
		if v == nil {
			return b, false
		}
		return *v, true
	}
	if string(res.JSON) == "null" {
		return b, false
	}
	return b, json.Unmarshal(res.JSON, &b) == nil
}

// part answers data, or the one range of it that is asked for. Several ranges are answered as the whole, and so is a
// range of a version that the client names: an answer has none.
func (x *exchange) part(contentType []string, data []byte) {
	ranges := x.r.Header["Range"]
	if len(ranges) != 1 || x.r.Method != http.MethodGet || len(x.r.Header["If-Range"]) > 0 {
		x.write(http.StatusOK, contentType, data)
		return
	}
	first, last, ok := parseRange(ranges[0], len(data))
	switch {
	case !ok:
		x.write(http.StatusOK, contentType, data)
	case first > last:
		x.w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(data)))
		err := kernelcontract.InvalidInput.Errorf("the range begins after the end: there are %d bytes", len(data))
		x.write(http.StatusRequestedRangeNotSatisfiable, jsonType, kernelcontract.MarshalFailure(err))
	default:
		x.w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(data)))
		x.write(http.StatusPartialContent, contentType, data[first:last+1])
	}
}

// parseRange reads a Range header with one range over size bytes. ok is false for anything else; a range that has no
// byte comes back with first above last.
func parseRange(value string, size int) (first, last int, ok bool) {
	spec, ok := strings.CutPrefix(value, "bytes=")
	if !ok {
		return 0, 0, false
	}
	from, to, ok := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok || strings.Contains(to, ",") || from == "" && to == "" {
		return 0, 0, false
	}
	if from == "" {
		n, ok := digits(to)
		return size - min(n, size), size - 1, ok
	}
	first, ok = digits(from)
	last = size - 1
	if to != "" && ok {
		var end int
		end, ok = digits(to)
		if end < first {
			return 0, 0, false
		}
		last = min(last, end)
	}
	return first, last, ok
}

// digits reads a decimal number; one too large for an int is the largest.
func digits(s string) (int, bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil && s != "" {
		return int(^uint(0) >> 1), true
	}
	return n, s != ""
}

// prefers reports whether an Accept header names a media type above JSON. A type that is matched by a wildcard for
// everything is not named.
func prefers(accept []string, media string) bool {
	group, _, _ := strings.Cut(media, "/")
	var named, asJSON quality
	for _, line := range accept {
		for entry := range strings.SplitSeq(line, ",") {
			name, q := mediaRange(entry)
			switch name {
			case media:
				named.offer(q, 2)
			case group + "/*":
				named.offer(q, 1)
			}
			switch name {
			case "application/json":
				asJSON.offer(q, 2)
			case "application/*":
				asJSON.offer(q, 1)
			case "*/*":
				asJSON.offer(q, 0)
			}
		}
	}
	return named.q > 0 && (named.q > asJSON.q || named.q == asJSON.q && named.exact > asJSON.exact)
}

// quality is what the most exact matching range of an Accept header gives a type.
type quality struct {
	q       float64
	exact   int
	matched bool
}

func (a *quality) offer(q float64, exact int) {
	if !a.matched || exact > a.exact {
		*a = quality{q: q, exact: exact, matched: true}
	}
}

// mediaRange reads one entry of an Accept header; its quality is 1 unless it says so.
func mediaRange(entry string) (name string, q float64) {
	name, params, _ := strings.Cut(entry, ";")
	q = 1
	for params != "" {
		var param string
		param, params, _ = strings.Cut(params, ";")
		key, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(key, "q") {
			var err error
			if q, err = strconv.ParseFloat(value, 64); err != nil || !(q >= 0 && q <= 1) {
				q = 0
			}
		}
	}
	return strings.ToLower(strings.TrimSpace(name)), q
}
