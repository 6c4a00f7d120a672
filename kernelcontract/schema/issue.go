package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Issue is one reason why a value does not conform to its schema. It is what every surface shows a caller.
type Issue struct {
	// Path leads from the root of the value to the place: a string for a member, an int for an element. The path of
	// IssueUnrecognizedKey, IssueRequired and IssueDuplicateKey ends in the key that is meant.
	Path []any
	// Code says what kind of problem it is.
	Code IssueCode
	// Message is a sentence for people that names the fix.
	Message string
}

// IssueCode is one of the ten issue codes; the set is closed (docs/spec/schemas.md).
type IssueCode string

// The issue codes.
const (
	IssueUnrecognizedKey IssueCode = "unrecognized_key" // a key that the object does not have
	IssueRequired        IssueCode = "required"         // a key that is missing
	IssueInvalidType     IssueCode = "invalid_type"     // another JSON type is expected
	IssueInvalidValue    IssueCode = "invalid_value"    // the type fits, the value is not one of those allowed
	IssueTooSmall        IssueCode = "too_small"        // below a minimum: value, length, number of items or keys
	IssueTooBig          IssueCode = "too_big"          // above a maximum
	IssueInvalidFormat   IssueCode = "invalid_format"   // a string that does not match its format, pattern or encoding
	IssueDuplicateKey    IssueCode = "duplicate_key"    // a key that is given twice
	IssueInvalidJSON     IssueCode = "invalid_json"     // not JSON, or beyond what is read: encoding, depth, trailing bytes
	IssueInvalidUnion    IssueCode = "invalid_union"    // no branch of a union fits, or more than one
)

// issueWire is an Issue as JSON.
type issueWire struct {
	Path    []any     `json:"path"`
	Code    IssueCode `json:"code"`
	Message string    `json:"message"`
}

// MarshalJSON writes {"path": […], "code": …, "message": …}; a nil Path is written as the empty one.
func (i Issue) MarshalJSON() ([]byte, error) {
	w := issueWire(i)
	if w.Path == nil {
		w.Path = []any{}
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes. Indexes in the path become int, as they were on the other side.
func (i *Issue) UnmarshalJSON(raw []byte) error {
	var w issueWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	for k, e := range w.Path {
		if f, ok := e.(float64); ok {
			w.Path[k] = int(f)
		}
	}
	*i = Issue(w)
	return nil
}

// String returns "path: message", or the message alone when the whole value is meant: "items[3].name: is required".
func (i Issue) String() string {
	if len(i.Path) == 0 {
		return i.Message
	}
	return PathString(i.Path) + ": " + i.Message
}

// PathString writes an issue's path for people: items[3].name.
func PathString(path []any) string {
	var b strings.Builder
	for _, e := range path {
		switch e := e.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(e) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, e)
		}
	}
	return b.String()
}
