package bridgecheck

import "strings"

// Status is the grade of a rule.
type Status string

// The grades.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Skip Status = "skip" // not graded; the detail says why
)

// Report is the outcome of a run: one result a rule, in the order of Rules.
type Report struct {
	Command    []string `json:"command"`
	Results    []Result `json:"results"`
	Passed     int      `json:"passed"`
	Failed     int      `json:"failed"`
	Skipped    int      `json:"skipped"`
	DurationMs int64    `json:"durationMs"`
}

// Result is the grade of one rule over all profiles: fail when it failed in one, else pass when it passed in one, else
// skip.
type Result struct {
	Rule       string    `json:"rule"`
	Status     Status    `json:"status"`
	Detail     string    `json:"detail"` // why it failed or was skipped, in one line; "" for a pass
	DurationMs int64     `json:"durationMs"`
	Profiles   []Outcome `json:"profiles"` // one a profile of the fixture
}

// Outcome is the grade of one rule in one profile.
type Outcome struct {
	Profile    int    `json:"profile"` // index into the fixture's profiles
	Status     Status `json:"status"`
	Detail     string `json:"detail"`
	BlockedBy  string `json:"blockedBy,omitempty"` // of a skip: the rule that has to hold first
	Lines      []Line `json:"lines,omitempty"`     // what was exchanged around the breach
	Stderr     string `json:"stderr,omitempty"`    // the end of what the bridge wrote to its standard error
	Exit       string `json:"exit,omitempty"`      // how the process had ended, when it had
	DurationMs int64  `json:"durationMs"`

	unresponsive bool // nothing came, or the process ended: what builds on this rule would only wait again
}

// Line is a line between the kit and the bridge.
type Line struct {
	Sent bool    `json:"sent"` // to the bridge
	AtMs float64 `json:"atMs"` // since the process was started
	Text string  `json:"text"` // at most 600 bytes of it
}

// count fills the totals.
func (r *Report) count() {
	for _, result := range r.Results {
		switch result.Status {
		case Pass:
			r.Passed++
		case Fail:
			r.Failed++
		default:
			r.Skipped++
		}
	}
}

// conclude makes one result of the outcomes in each profile.
func conclude(rule string, outcomes []Outcome) Result {
	r := Result{Rule: rule, Status: Skip, Profiles: outcomes}
	worst := -1
	for i, o := range outcomes {
		r.DurationMs += o.DurationMs
		switch {
		case o.Status == Fail && r.Status != Fail:
			r.Status, worst = Fail, i
		case o.Status == Pass && r.Status == Skip:
			r.Status, worst = Pass, i
		case worst < 0:
			worst = i
		}
	}
	if r.Status != Pass && worst >= 0 {
		r.Detail = outcomes[worst].Detail
	}
	return r
}

// elsewhere stands in the detail of a rule that failed because of what another rule is about.
const elsewhere = " did not hold here: "

// blockedPrefix begins the detail of a rule that is blocked.
func blockedPrefix(by string) string { return "blocked by " + by + ": " }

// settleBlocked turns a skip that is blocked into a failure when the rule that blocks it neither fails nor is blocked
// itself: then the breach was seen here and nowhere else, and must not be lost.
func settleBlocked(outcomes map[string]*Outcome) {
	blocked := func(o *Outcome) bool { return o != nil && o.Status == Skip && o.BlockedBy != "" }
	var lost []*Outcome
	for _, o := range outcomes {
		if !blocked(o) {
			continue
		}
		by := outcomes[o.BlockedBy]
		for range outcomes { // as many steps as there are rules lead to the end of every chain that has one
			if !blocked(by) {
				break
			}
			by = outcomes[by.BlockedBy]
		}
		direct := outcomes[o.BlockedBy]
		if blocked(by) || by == direct && (direct == nil || direct.Status != Fail) {
			lost = append(lost, o)
		}
	}
	for _, o := range lost {
		o.Detail = o.BlockedBy + elsewhere + strings.TrimPrefix(o.Detail, blockedPrefix(o.BlockedBy))
		o.Status, o.BlockedBy = Fail, ""
	}
}
