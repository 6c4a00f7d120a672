package route

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Issues returns everything that is wrong with a query string that Decode refuses, so that a caller learns it at once as
// with a body: Decode's issues, and those that check, the method's validator, finds in the fields that can be read.
func Issues(in *schema.Schema, kind kernelcontract.Kind, rawQuery string, check func(input json.RawMessage) []schema.Issue) []schema.Issue {
	_, _, issues := Decode(in, kind, rawQuery)
	if in == nil || kind == kernelcontract.KindMutation || len(rawQuery) > MaxURL {
		return issues
	}
	d := decoder{in: in, kind: kind}
	d.parse(rawQuery)
	failed := map[any]bool{}
	for _, i := range issues {
		if len(i.Path) == 0 {
			return issues // there are too many already
		}
		failed[i.Path[0]] = i.Code != schema.IssueUnrecognizedKey
	}
	if failed[InputParam] {
		return issues // which fields it gives is open
	}
	raw, given := d.whole()
	if !given {
		for i := range d.n {
			if failed[d.param(i).key] {
				d.param(i).property = noProperty
			}
		}
		raw = d.fields(len(rawQuery))
	}
	for _, i := range check(raw) {
		if len(i.Path) == 0 || !failed[i.Path[0]] { // else it misses what cannot be read
			issues = append(issues, i)
		}
	}
	slices.SortStableFunc(issues, func(a, b schema.Issue) int { return cmp.Compare(rank(in, a), rank(in, b)) })
	return bounded(issues, false)
}

// rank is where an issue stands: unrecognized keys, the transport's parameters, the fields in schema order, the rest.
func rank(in *schema.Schema, i schema.Issue) int {
	switch {
	case i.Code == schema.IssueUnrecognizedKey:
		return -2
	case len(i.Path) == 0:
		return len(in.Properties)
	}
	return slices.IndexFunc(in.Properties, func(p schema.Property) bool { return p.Name == i.Path[0] })
}

// report returns the issues that decoding found.
func (d *decoder) report() []schema.Issue {
	slices.SortFunc(d.unknown, func(a, b schema.Issue) int { return strings.Compare(a.Path[0].(string), b.Path[0].(string)) })
	return bounded(append(d.unknown, d.issues...), d.cut)
}

// bounded cuts issues to MaxIssues, the last of which says that there are more.
func bounded(issues []schema.Issue, more bool) []schema.Issue {
	if len(issues) <= MaxIssues && !more {
		return issues
	}
	issues = issues[:min(len(issues), MaxIssues-1)]
	return append(issues, schema.Issue{Path: []any{}, Code: schema.IssueInvalidValue, Message: "more issues were left out; fix these first"})
}
