package protocol

import (
	"fmt"
	"reflect"
	"strings"
)

// DeltaError says what is wrong with one delta.
type DeltaError struct {
	Index  int       // in its list; -1 when it stands alone
	Kind   DeltaKind // "" when the delta does not say
	Item   ItemKind  // the kind of its item; "" when it has none or does not say
	Issues []Issue   // sorted by path; the paths begin at the delta
}

// Error names the place of each issue: "deltas[3]: item.open: message: text: missing".
func (e *DeltaError) Error() string {
	prefix := ""
	if e.Index >= 0 {
		prefix = fmt.Sprintf("deltas[%d]: ", e.Index)
	}
	if e.Kind != "" {
		prefix += string(e.Kind) + ": "
	}
	texts := make([]string, len(e.Issues))
	for k, i := range e.Issues {
		texts[k] = prefix + i.String()
		if rest, ok := strings.CutPrefix(i.Path, "item."); ok && e.Item != "" {
			texts[k] = prefix + string(e.Item) + ": " + Issue{rest, i.Code, i.Message}.String()
		}
	}
	return strings.Join(texts, "; ")
}

// DeltaErrors are the errors of the deltas of a list.
type DeltaErrors []*DeltaError

// Error joins the errors with semicolons.
func (es DeltaErrors) Error() string {
	texts := make([]string, len(es))
	for k, e := range es {
		texts[k] = e.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (es DeltaErrors) Unwrap() []error {
	list := make([]error, len(es))
	for k, e := range es {
		list[k] = e
	}
	return list
}

// deltaDepth is how deep a delta lies in the params of thread/delta.
const deltaDepth = 2

// ParseDelta reads one delta, strictly.
func ParseDelta(raw []byte) (Delta, *DeltaError) {
	d := decoder{scanner: scanner{data: raw, depth: deltaDepth}, strict: true}
	var delta Delta
	d.space()
	if d.value(shapeOf(reflect.TypeFor[Delta]()), reflect.ValueOf(&delta).Elem()) {
		d.end()
	}
	if issues := d.result(); len(issues) > 0 {
		return nil, deltaError(-1, raw, issues)
	}
	return delta, nil
}

// deltaError finds out what kind of delta it is that is wrong.
func deltaError(index int, raw []byte, issues []Issue) *DeltaError {
	e := &DeltaError{Index: index, Issues: issues}
	d := decoder{scanner: scanner{data: raw}}
	if d.space() != '{' {
		return e
	}
	deltas, items := shapeOf(reflect.TypeFor[Delta]()).sum, shapeOf(reflect.TypeFor[Item]()).sum
	tag, state, ok := d.findTag(deltas)
	if !ok || state != tagFound {
		return e
	}
	if _, known := deltas.byTag[string(tag)]; !known {
		return e
	}
	e.Kind = DeltaKind(tag)
	d.enter()
	for first := true; ; first = false {
		name, more, ok := d.key(first)
		if !ok || !more {
			return e
		}
		if string(name) == "item" && d.space() == '{' {
			tag, state, ok = d.findTag(items)
			if ok && state == tagFound {
				if _, core := items.byTag[string(tag)]; core || isExtensionKind(tag) {
					e.Item = ItemKind(tag)
				}
			}
			return e
		}
		if !d.skip() {
			return e
		}
	}
}

// UnmarshalJSON reads a list of deltas, strictly. The error is a DeltaErrors, one for each delta that is wrong, or an
// *Error when the value is no list.
func (ds *Deltas) UnmarshalJSON(raw []byte) error {
	d := decoder{scanner: scanner{data: raw, depth: deltaDepth - 1}, strict: true}
	if d.space() != '[' {
		if d.mismatch(&shape{kind: kindList}) {
			d.end()
		}
		return invalid(d.result())
	}
	var batch DeltaBatch
	if !d.deltas(&batch) || !d.end() {
		return invalid(d.result())
	}
	var errs DeltaErrors
	list := make(Deltas, len(batch.Deltas))
	for k, decoded := range batch.Deltas {
		list[k] = decoded.Delta
		if decoded.Err != nil {
			errs = append(errs, decoded.Err)
		}
	}
	if errs != nil {
		return errs
	}
	*ds = list
	return nil
}

// MarshalJSON writes the list, [] when it is nil.
func (ds Deltas) MarshalJSON() ([]byte, error) { return Marshal(ds) }

// DecodedDelta is a delta of a batch: Delta, or Err when it is wrong. Raw is its JSON, a part of the text that was read.
type DecodedDelta struct {
	Delta Delta
	Err   *DeltaError
	Raw   []byte
}

// DeltaBatch is what the params of thread/delta hold. The zero value is ready; a batch that is used again keeps its
// memory.
type DeltaBatch struct {
	ThreadID string
	Deltas   []DecodedDelta
	last     ItemText // whose strings are used again when they are the same
}

// ParseDeltaParams reads the params of thread/delta into a batch. A delta that is wrong does not spoil the others: its
// error is in the batch. What is wrong with the params themselves is the result, InvalidParams; the batch is empty then.
func ParseDeltaParams(raw []byte, into *DeltaBatch) *Error {
	lastThread := into.ThreadID
	into.ThreadID, into.Deltas = "", into.Deltas[:0]
	d := decoder{scanner: scanner{data: raw}, strict: true}
	d.space()
	if !d.deltaParams(into, lastThread) || !d.end() || len(d.issues) > 0 {
		into.ThreadID, into.Deltas = "", into.Deltas[:0]
		return invalid(d.result())
	}
	return nil
}

func (d *decoder) deltaParams(into *DeltaBatch, lastThread string) bool {
	if d.space() != '{' {
		return d.mismatch(&shape{kind: kindObject})
	}
	if !d.enter() {
		return false
	}
	const threadID, deltas = "threadId", "deltas"
	hasThread, hasDeltas := false, false
	for first := true; ; first = false {
		name, more, ok := d.key(first)
		if !ok {
			return false
		}
		if !more {
			break
		}
		c := d.space()
		switch {
		case string(name) == threadID && !hasThread:
			hasThread = true
			d.path = append(d.path, step{threadID, -1})
			if c != '"' {
				ok = d.mismatch(&shape{kind: kindString})
			} else {
				var text []byte
				if text, ok = d.plainText(); ok {
					into.ThreadID = again(lastThread, text)
					if len(text) == 0 {
						d.issue(IssueTooSmall, "must not be empty")
					}
				}
			}
			d.path = d.path[:0]
		case string(name) == deltas && !hasDeltas:
			hasDeltas = true
			if c != '[' {
				d.path = append(d.path, step{deltas, -1})
				ok = d.mismatch(&shape{kind: kindList})
				d.path = d.path[:0]
			} else {
				ok = d.deltas(into)
			}
		case string(name) == threadID || string(name) == deltas:
			d.issueAt(string(name), IssueDuplicateKey, "is given twice")
			ok = d.skipQuietly()
		default:
			d.issueAt(string(name), IssueUnrecognizedKey, "is not a field of this object")
			ok = d.skipQuietly()
		}
		if !ok {
			return false
		}
	}
	if !hasThread {
		d.issueAt(threadID, IssueRequired, "missing")
	}
	if !hasDeltas {
		d.issueAt(deltas, IssueRequired, "missing")
	}
	return true
}

// plainText reads a string; what it returns may be a part of the text.
func (d *decoder) plainText() ([]byte, bool) {
	raw, escaped, ok := d.text()
	if ok && escaped {
		raw = unescape(raw)
	}
	return raw, ok
}

// again returns text as a string, the old one when it is the same.
func again(old string, text []byte) string {
	if string(text) == old {
		return old
	}
	return string(text)
}

// deltas reads the list of deltas that begins here into a batch, each with the issues that are its own.
func (d *decoder) deltas(into *DeltaBatch) bool {
	if !d.enter() {
		return false
	}
	s := shapeOf(reflect.TypeFor[Delta]())
	outer, left, path := d.issues, d.left, d.path
	defer func() { d.issues, d.left, d.path = outer, left, path }()
	for n := 0; ; n++ {
		more, ok := d.element(n == 0)
		if !ok || !more {
			return ok
		}
		start := d.pos
		if t := d.itemText(&into.last); t != nil {
			into.Deltas = append(into.Deltas, DecodedDelta{Delta: t, Raw: d.data[start:d.pos]})
			continue
		}
		d.issues, d.left, d.path = nil, 0, path[len(path):]
		var decoded DecodedDelta
		if !d.value(s, reflect.ValueOf(&decoded.Delta).Elem()) {
			return false
		}
		decoded.Raw = d.data[start:d.pos]
		if issues := d.result(); len(issues) > 0 {
			decoded.Delta, decoded.Err = nil, deltaError(n, decoded.Raw, issues)
		}
		into.Deltas = append(into.Deltas, decoded)
	}
}
