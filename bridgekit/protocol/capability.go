package protocol

import "slices"

// CapabilityWidens lists the capabilities in which a bridge reports more than its declaration allows, by their names on
// the wire and in their order there: a true where false is declared, a wider fork or steer, and any difference in
// approvalEnforcedBy.
func CapabilityWidens(declared, reported Capabilities) []string {
	var wider []string
	for _, c := range []struct {
		name  string
		wider bool
	}{
		{"sessionRestore", reported.SessionRestore && !declared.SessionRestore},
		{"threadArchive", reported.ThreadArchive && !declared.ThreadArchive},
		{"threadRename", reported.ThreadRename && !declared.ThreadRename},
		{"threadGoal", reported.ThreadGoal && !declared.ThreadGoal},
		{"fork", rank(reported.Fork.values(), string(reported.Fork)) > rank(declared.Fork.values(), string(declared.Fork))},
		{"approvalEnforcedBy", reported.ApprovalEnforcedBy != declared.ApprovalEnforcedBy},
		{"steer", rank(reported.Steer.values(), string(reported.Steer)) > rank(declared.Steer.values(), string(declared.Steer))},
	} {
		if c.wider {
			wider = append(wider, c.name)
		}
	}
	return wider
}

// rank returns the place of a value in a list that goes from narrow to wide; "" is the narrowest, as in a Go literal,
// and a value that is not in the list is wider than all.
func rank(values []string, value string) int {
	if value == "" {
		return 0
	}
	if i := slices.Index(values, value); i >= 0 {
		return i
	}
	return len(values)
}

// Check returns everything that is wrong with a declaration, sorted by path.
func (d *ProviderDeclaration) Check() []Issue {
	if d == nil {
		return []Issue{{"", IssueInvalidType, "must be a declaration, not nil"}}
	}
	return Validate(d)
}

// Text returns the texts of the input, joined by newlines; images and files are left out.
func (p TurnStartParams) Text() string {
	var text []byte
	first := true
	for _, i := range p.Input {
		t, ok := i.(*TextInput)
		if !ok || t == nil {
			continue
		}
		if !first {
			text = append(text, '\n')
		}
		first = false
		text = append(text, t.Text...)
	}
	return string(text)
}
