package bridgecheck

import (
	"testing"

	"github.com/matryer/is"
)

func TestConclude(t *testing.T) {
	pass, fail, skip := Outcome{Status: Pass}, Outcome{Status: Fail, Detail: "broken"}, Outcome{Status: Skip, Detail: "no prompt"}
	for _, c := range []struct {
		name     string
		outcomes []Outcome
		status   Status
		detail   string
	}{
		{"passes in one profile", []Outcome{skip, pass}, Pass, ""},
		{"fails in one profile", []Outcome{pass, fail, skip}, Fail, "broken"},
		{"skipped in all", []Outcome{skip, skip}, Skip, "no prompt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			r := conclude("a/rule", c.outcomes)
			is.Equal(r.Status, c.status)
			is.Equal(r.Detail, c.detail)
		})
	}
}

// TestBlocked: a breach that only a blocked rule saw is not lost.
func TestBlocked(t *testing.T) {
	skip := func(by string) *Outcome { return &Outcome{Status: Skip, BlockedBy: by} }
	for _, c := range []struct {
		name     string
		outcomes map[string]*Outcome
		want     map[string]Status
	}{
		{"the blocking rule fails", map[string]*Outcome{"a": skip("b"), "b": {Status: Fail}}, map[string]Status{"a": Skip, "b": Fail}},
		{"it fails at the end of a chain", map[string]*Outcome{"a": skip("b"), "b": skip("c"), "c": {Status: Fail}}, map[string]Status{"a": Skip, "b": Skip, "c": Fail}},
		{"it passes", map[string]*Outcome{"a": skip("b"), "b": {Status: Pass}}, map[string]Status{"a": Fail, "b": Pass}},
		{"it was not graded", map[string]*Outcome{"a": skip("b"), "b": {Status: Skip}}, map[string]Status{"a": Fail, "b": Skip}},
		{"it was not run", map[string]*Outcome{"a": skip("b")}, map[string]Status{"a": Fail}},
		{"the chain ends well", map[string]*Outcome{"a": skip("b"), "b": skip("c"), "c": {Status: Pass}}, map[string]Status{"a": Skip, "b": Fail, "c": Pass}},
		{"a circle", map[string]*Outcome{"a": skip("b"), "b": skip("a")}, map[string]Status{"a": Fail, "b": Fail}},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			settleBlocked(c.outcomes)
			for rule, want := range c.want {
				is.Equal(c.outcomes[rule].Status, want)
			}
		})
	}
}
