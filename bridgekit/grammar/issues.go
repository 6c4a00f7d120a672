package grammar

import (
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// scoped tells whether deltas of a kind carry a scope.
func scoped(k protocol.DeltaKind) bool {
	switch k {
	case protocol.KindItemOpen, protocol.KindItemText, protocol.KindItemOutput, protocol.KindItemProgress,
		protocol.KindItemClose, protocol.KindProviderError, protocol.KindProviderWarning, protocol.KindProviderUnhandled:
		return true
	}
	return false
}

// ruleOf returns the rule that the issues of a delta break.
func ruleOf(k protocol.DeltaKind, issues []protocol.Issue) Rule {
	rule := SchemaValid
	for _, i := range issues {
		switch {
		case scoped(k) && (i.Path == "scope" || i.Path == "turnKey"):
			return ScopeExplicit
		case i.Path == "presentation" && (k == protocol.KindItemOpen || k == protocol.KindItemClose):
			rule = PresentationPresent
		}
	}
	return rule
}

// invalid holds a Go value to the schema of its kind. In it a presentation that was left out is the zero one.
func invalid(d protocol.Delta) *Violation {
	if d == nil {
		return &Violation{Rule: SchemaValid, Detail: "nil"}
	}
	issues := protocol.Validate(d)
	if len(issues) == 0 {
		return nil
	}
	v := &Violation{Rule: ruleOf(d.Kind(), issues), Kind: d.Kind(), Detail: detail(issues)}
	if p := presentationOf(d); v.Rule == SchemaValid && p != nil && *p == (protocol.Presentation{}) {
		v.Rule = PresentationPresent
	}
	return v
}

// presentationOf returns the presentation that a delta must have, nil when it must have none.
func presentationOf(d protocol.Delta) *protocol.Presentation {
	switch d := d.(type) {
	case *protocol.ItemOpen:
		if d != nil {
			return &d.Presentation
		}
	case *protocol.ItemClose:
		if d != nil {
			return &d.Presentation
		}
	}
	return nil
}

func detail(issues []protocol.Issue) string {
	texts := make([]string, len(issues))
	for i, issue := range issues {
		texts[i] = issue.String()
	}
	return strings.Join(texts, "; ")
}
