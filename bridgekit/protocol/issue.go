package protocol

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// IssueCode sorts issues. The set is closed and the one of the whole project (docs/spec/schemas.md).
type IssueCode string

// The issue codes.
const (
	IssueUnrecognizedKey IssueCode = "unrecognized_key" // a field that a strict object does not have
	IssueRequired        IssueCode = "required"         // a field that is missing
	IssueInvalidType     IssueCode = "invalid_type"     // another JSON type is expected
	IssueInvalidValue    IssueCode = "invalid_value"    // the type fits, the value is not allowed here
	IssueTooSmall        IssueCode = "too_small"        // below a minimum: value, length, number of items
	IssueTooBig          IssueCode = "too_big"          // above a maximum: value, length, size, number of items
	IssueInvalidFormat   IssueCode = "invalid_format"   // a string that breaks its pattern
	IssueDuplicateKey    IssueCode = "duplicate_key"    // a field that is given twice
	IssueInvalidJSON     IssueCode = "invalid_json"     // not JSON, or beyond what is read: encoding, depth, trailing bytes
)

// MaxIssues is how many issues of one value are reported; the last one then says how many were left out. More would
// help nobody and let a small message cause a large answer.
const MaxIssues = 100

// Issue is one problem of a value. Path holds the field names and indexes that lead to it, as "deltas[3].key"; a name
// that would be ambiguous there is quoted, as env["a.b"]. "" is the value itself. The path of a missing, unknown or
// repeated field ends in its name.
//
// On the wire the path is an array of names and indexes: ["deltas", 3, "key"].
type Issue struct {
	Path    string
	Code    IssueCode
	Message string
}

// issueWire is an Issue as JSON.
type issueWire struct {
	Path    json.RawMessage `json:"path"`
	Code    IssueCode       `json:"code"`
	Message string          `json:"message"`
}

// String returns "path: message", or the message alone when the whole value is meant.
func (i Issue) String() string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}

// MarshalJSON writes {"path": [name or index, …], "code", "message"}.
func (i Issue) MarshalJSON() ([]byte, error) {
	path, err := json.Marshal(splitPath(i.Path))
	if err != nil {
		return nil, err
	}
	return json.Marshal(issueWire{path, i.Code, i.Message})
}

// UnmarshalJSON reads what MarshalJSON writes. It also takes a path that is a string, as it is, since the issues of a
// foreign bridge are only shown.
func (i *Issue) UnmarshalJSON(raw []byte) error {
	var w issueWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	*i = Issue{Code: w.Code, Message: w.Message}
	if len(w.Path) == 0 || string(w.Path) == "null" || json.Unmarshal(w.Path, &i.Path) == nil {
		return nil
	}
	var segments []json.RawMessage
	if err := json.Unmarshal(w.Path, &segments); err != nil {
		return fmt.Errorf("the path of an issue must be an array of names and indexes: %w", err)
	}
	for _, s := range segments {
		var name string
		var index int
		switch {
		case json.Unmarshal(s, &name) == nil:
			i.Path = joinPath(i.Path, name)
		case json.Unmarshal(s, &index) == nil:
			i.Path += "[" + strconv.Itoa(index) + "]"
		default:
			return fmt.Errorf("the path of an issue holds %.40s, which is neither a name nor an index", s)
		}
	}
	return nil
}

// Issues is a list of issues that is an error.
type Issues []Issue

// Error joins the issues with semicolons.
func (is Issues) Error() string {
	texts := make([]string, len(is))
	for k, i := range is {
		texts[k] = i.String()
	}
	return strings.Join(texts, "; ")
}

// joinPath appends a field name to a path.
func joinPath(path, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r == '.' || r == '[' || r == ']' || r == '"' || r < ' '
	}) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// splitPath returns the names and indexes of a path.
func splitPath(path string) []any {
	segments := []any{}
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if rest, ok := strings.CutPrefix(path, "["); ok {
			if quoted, err := strconv.QuotedPrefix(rest); err == nil {
				name, _ := strconv.Unquote(quoted)
				segments = append(segments, name)
				path = strings.TrimPrefix(rest[len(quoted):], "]")
				continue
			}
			number, after, _ := strings.Cut(rest, "]")
			index, err := strconv.Atoi(number)
			if err != nil {
				return append(segments, path)
			}
			segments = append(segments, index)
			path = after
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end == 0 {
			return append(segments, path)
		}
		if end < 0 {
			end = len(path)
		}
		segments = append(segments, path[:end])
		path = path[end:]
	}
	return segments
}

// sortIssues orders issues by path, indexes as numbers, then by code.
func sortIssues(issues []Issue) {
	if len(issues) < 2 {
		return
	}
	slices.SortStableFunc(issues, func(a, b Issue) int {
		return cmp.Or(comparePaths(a.Path, b.Path), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
}

func comparePaths(a, b string) int {
	if a == b {
		return 0
	}
	return slices.CompareFunc(splitPath(a), splitPath(b), func(x, y any) int {
		xi, xIsIndex := x.(int)
		yi, yIsIndex := y.(int)
		switch {
		case xIsIndex && yIsIndex:
			return cmp.Compare(xi, yi)
		case xIsIndex:
			return -1
		case yIsIndex:
			return 1
		}
		return cmp.Compare(x.(string), y.(string))
	})
}
