package protocol

import (
	"errors"
	"fmt"
	"slices"
)

// Accepts checks that r is a Decision which the approval offered.
func (a *Approval) Accepts(r Resolution) error {
	d, ok := r.(*Decision)
	if !ok || d == nil {
		return unpaired("an approval", "a decision", r)
	}
	offered := a.Decisions
	if offered == nil {
		offered = []DecisionKind{AllowOnce, Deny}
	}
	if !slices.Contains(offered, d.Kind) {
		return fmt.Errorf("the decision %s was not offered; choose one of %v", quote(string(d.Kind)), offered)
	}
	return asError(Validate(d))
}

// Accepts checks that r has an answer to each question and no other, and that each answer selects among the question's
// options, one of them unless it is a multiple choice, and has text only where that is allowed.
func (q *Questions) Accepts(r Resolution) error {
	a, ok := r.(*Answers)
	if !ok || a == nil {
		return unpaired("a question", "answers", r)
	}
	issues := Validate(a)
	asked := make(map[string]bool, len(q.Questions))
	for _, question := range q.Questions {
		asked[question.ID] = true
		path := joinPath("answers", question.ID)
		answer, ok := a.Answers[question.ID]
		if !ok {
			issues = append(issues, Issue{path, IssueRequired, "missing"})
			continue
		}
		for i, selected := range answer.Selected {
			if !slices.ContainsFunc(question.Options, func(o QuestionOption) bool { return o.Value == selected }) {
				issues = append(issues, one(fmt.Sprintf("%s.selected[%d]", path, i), IssueInvalidValue, "%s is not among the options", quote(selected))...)
			}
		}
		if len(answer.Selected) > 1 && !question.MultiSelect {
			issues = append(issues, Issue{path + ".selected", IssueTooBig, "must have at most 1 element: the question is no multiple choice"})
		}
		if answer.FreeText != nil && !question.AllowFreeText {
			issues = append(issues, Issue{path + ".freeText", IssueInvalidValue, "must be null: the question allows no free text"})
		}
	}
	for id := range a.Answers {
		if !asked[id] {
			issues = append(issues, Issue{joinPath("answers", id), IssueUnrecognizedKey, "was not asked"})
		}
	}
	sortIssues(issues)
	return asError(issues)
}

// Accepts checks that r is a Submitted; what its data may be is the business of the plugin that declares the kind.
func (q *OpenInteraction) Accepts(r Resolution) error {
	s, ok := r.(*Submitted)
	if !ok || s == nil {
		return unpaired(quote(q.Name), "submitted data", r)
	}
	return asError(Validate(s))
}

func asError(issues []Issue) error {
	if len(issues) == 0 {
		return nil
	}
	return Issues(issues)
}

func unpaired(request, answer string, r Resolution) error {
	got := "nothing"
	switch r.(type) {
	case *Decision:
		got = "a decision"
	case *Answers:
		got = "answers"
	case *Submitted:
		got = "submitted data"
	case *InterruptedResolution:
		return errors.New("an interruption is no answer: on the wire it is the error INTERACTION_INTERRUPTED")
	}
	return fmt.Errorf("%s is answered by %s, not by %s", request, answer, got)
}

// ParseResolution reads the answer to an interaction. {"kind": "interrupted"} is refused: it is only ever stored, the
// wire answer is the error InteractionInterrupted.
func ParseResolution(raw []byte) (Resolution, *Error) {
	r, err := Decode[Resolution](raw)
	if err != nil {
		return nil, err
	}
	if _, stored := r.(*InterruptedResolution); stored {
		return nil, invalid(one("kind", IssueInvalidValue, "must not be interrupted: that answer is the error INTERACTION_INTERRUPTED"))
	}
	return r, nil
}
