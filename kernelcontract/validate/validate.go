// Package validate checks JSON text against a schema in one pass, without decoding it.
//
// It reads exactly the subset of JSON Schema that package schema holds, reports every issue in a stable order, fills
// defaults and writes integers so that encoding/json reads them exactly; docs/spec/schemas.md states the rules. It is a
// package of its own so that programs which only describe methods do not link it.
package validate

import (
	"sync"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// MaxDepth is the number of objects and arrays that may nest. It is far beyond what people write and keeps the
// recursion of every reader of the text small.
const MaxDepth = 64

// MaxIssues is the number of issues that one value can have. A value with more gets MaxIssues-1 of them and one that
// says how many were left out: nobody reads more, and an answer must not be larger than what it answers.
const MaxIssues = 100

// Validator checks values against one schema. It is safe for concurrent use and must not be copied.
type Validator struct {
	root *node
	runs sync.Pool // of *run that ended without issues
}

// begin returns a run over raw, and end keeps it for the next one when nothing of it is referred to.
func (v *Validator) begin(raw []byte, input bool) *run {
	r, _ := v.runs.Get().(*run)
	if r == nil {
		r = &run{}
	}
	r.in, r.input = raw, input
	r.path = r.pathBuf[:0]
	return r
}

func (v *Validator) end(r *run) {
	clear(r.pathBuf[:])
	clear(r.keys)
	*r = run{pathBuf: r.pathBuf, keys: r.keys[:0]}
	v.runs.Put(r)
}

// Input checks a value that a caller sends and fills the defaults of members that are missing, at every level.
//
// normalized is what a handler decodes: raw itself when there was nothing to fill and nothing to rewrite, else a copy.
// Integers written as 1.0 or 1e3 come out as plain digits. When there are issues, normalized is nil. Text that is not
// JSON has exactly one issue, schema.IssueInvalidJSON.
func (v *Validator) Input(raw []byte) (normalized []byte, issues []schema.Issue) {
	r := v.begin(raw, true)
	if !r.document(v.root) {
		return nil, r.report()
	}
	normalized = r.result()
	v.end(r)
	return normalized, nil
}

// Value checks a value as it is, such as the result of a handler: no defaults, nothing rewritten.
func (v *Validator) Value(raw []byte) []schema.Issue {
	r := v.begin(raw, false)
	if !r.document(v.root) {
		return r.report()
	}
	v.end(r)
	return nil
}
