package protocol

import (
	"fmt"
	"regexp"
	"strings"
)

// The patterns of names.
const (
	IDPattern            = `^[a-z][a-z0-9-]*$`       // ids of providers
	ExtensionKindPattern = `^[a-z0-9-]+/[a-z0-9-]+$` // names of extension kinds and of open interactions
)

// ReservedEnvPrefix begins the names of the variables that core fills itself; nothing else may set or pass them.
const ReservedEnvPrefix = "BB_"

func isID(s string) bool { return idPattern.MatchString(s) }

var idPattern = regexp.MustCompile(IDPattern)

// IsExtensionKind tells whether a name has the form of an extension kind, <pluginId>/<name>.
func IsExtensionKind(name string) bool { return isExtensionKind(name) }

func isExtensionKind[T string | []byte](name T) bool {
	slashes := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
		case c == '/' && i > 0 && i < len(name)-1:
			slashes++
		default:
			return false
		}
	}
	return slashes == 1
}

// one returns one issue.
func one(path string, code IssueCode, format string, args ...any) []Issue {
	return []Issue{{path, code, fmt.Sprintf(format, args...)}}
}

func (k *ItemKey) refine() []Issue {
	if k.ProviderItemID == "" && k.Channel == "" && k.ParentRef == "" {
		return one("", IssueInvalidValue, "must have a part that is not null")
	}
	return nil
}

func (*ItemKey) refinement() string {
	return `{"anyOf":[{"properties":{"providerItemId":{"type":"string"}}},{"properties":{"channel":{"type":"string"}}},{"properties":{"parentRef":{"type":"string"}}}]}`
}

func (e *ProviderError) refine() []Issue {
	var issues []Issue
	if e.SettlesTurn && e.Scope.Thread {
		issues = append(issues, one("settlesTurn", IssueInvalidValue, "needs scope turn")...)
	}
	if e.SettlesTurn && e.WillRetry {
		issues = append(issues, one("settlesTurn", IssueInvalidValue, "needs willRetry false")...)
	}
	return issues
}

func (*ProviderError) refinement() string {
	return `{"if":{"properties":{"settlesTurn":{"const":true}}},"then":{"properties":{"scope":{"const":"turn"},"willRetry":{"const":false}}}}`
}

func (q *Question) refine() []Issue {
	if len(q.Options) == 0 && !q.AllowFreeText {
		return one("options", IssueTooSmall, "may be empty only when free text is allowed")
	}
	return nil
}

func (*Question) refinement() string {
	return `{"if":{"properties":{"allowFreeText":{"const":false}}},"then":{"properties":{"options":{"minItems":1}}}}`
}

func (d *Decision) refine() []Issue {
	if d.Kind == Deny && d.Granted != nil {
		return one("granted", IssueInvalidValue, "must be null with deny")
	}
	return nil
}

func (*Decision) refinement() string {
	return `{"if":{"properties":{"decision":{"const":"deny"}}},"then":{"properties":{"granted":{"type":"null"}}}}`
}

func (p *PermissionPolicy) refine() []Issue {
	scope, reviewer := ScopeWorkspace, ReviewerUser
	switch p.Mode {
	case ModeAuto:
		reviewer = ReviewerAutomatic
	case ModeFull:
		scope, reviewer = ScopeFull, ""
	}
	var issues []Issue
	if p.Scope != scope {
		issues = append(issues, one("scope", IssueInvalidValue, "must be %s with mode %s", scope, p.Mode)...)
	}
	if p.Reviewer != reviewer {
		issues = append(issues, one("reviewer", IssueInvalidValue, "must be %s with mode %s", orNull(string(reviewer)), p.Mode)...)
	}
	switch {
	case p.Mode == ModeFull && p.Escalation != "":
		issues = append(issues, one("escalation", IssueInvalidValue, "must be null with mode full")...)
	case p.Mode != ModeFull && p.Escalation == "":
		issues = append(issues, one("escalation", IssueInvalidValue, "must be ask or deny with mode %s", p.Mode)...)
	}
	return issues
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

func (*PermissionPolicy) refinement() string {
	return `{"oneOf":[` +
		`{"properties":{"mode":{"const":"accept-edits"},"scope":{"const":"workspace"},"reviewer":{"const":"user"},"escalation":{"type":"string"}}},` +
		`{"properties":{"mode":{"const":"auto"},"scope":{"const":"workspace"},"reviewer":{"const":"automatic"},"escalation":{"type":"string"}}},` +
		`{"properties":{"mode":{"const":"full"},"scope":{"const":"full"},"reviewer":{"type":"null"},"escalation":{"type":"null"}}}]}`
}

func (p *TurnStartParams) refine() []Issue {
	if len(p.Input) == 0 && len(p.Actions) == 0 {
		return one("input", IssueTooSmall, "may be empty only with an action")
	}
	return nil
}

func (*TurnStartParams) refinement() string {
	return `{"anyOf":[{"properties":{"input":{"minItems":1}}},{"properties":{"actions":{"minItems":1}}}]}`
}

func (e *EnvAccess) refine() []Issue {
	var issues []Issue
	for i, name := range e.Passthrough {
		if strings.HasPrefix(name, ReservedEnvPrefix) {
			issues = append(issues, one(fmt.Sprintf("passthrough[%d]", i), IssueInvalidValue, "%s is reserved: names must not begin with BB_", quote(name))...)
		}
	}
	return issues
}

func (*EnvAccess) refinement() string {
	return `{"properties":{"passthrough":{"items":{"not":{"pattern":"^BB_"}}}}}`
}

func (k *ExtensionKind) refine() []Issue {
	if k.Item == nil && k.State == nil {
		return one("", IssueInvalidValue, "must have a schema for item or state")
	}
	return nil
}

func (*ExtensionKind) refinement() string {
	return `{"anyOf":[{"properties":{"item":{"not":{"type":"null"}}}},{"properties":{"state":{"not":{"type":"null"}}}}]}`
}

func (r *VersionRange) refine() []Issue {
	if r.Min > r.Max {
		return one("min", IssueTooBig, "must be at most max")
	}
	return nil
}

func (*VersionRange) refinement() string { return "" }

func (m *PromptMention) refine() []Issue {
	if m.Start > m.End {
		return one("start", IssueTooBig, "must be at most end")
	}
	return nil
}

func (*PromptMention) refinement() string { return "" }

// prepare fills in the decisions that every agent understands.
func (a *Approval) prepare() {
	if a.Decisions == nil {
		a.Decisions = []DecisionKind{AllowOnce, Deny}
	}
}

// prepare takes over what the request knows about itself, unless it is given.
func (p *InteractionParams) prepare() {
	key, scope := p.beside()
	if key == nil {
		return
	}
	if p.RequestKey == "" {
		p.RequestKey = *key
	}
	if p.Scope == (Scope{}) {
		p.Scope = *scope
	}
}

// complete tells the request what travels beside it.
func (p *InteractionParams) complete() {
	if key, scope := p.beside(); key != nil {
		*key, *scope = p.RequestKey, p.Scope
	}
}

// beside returns the fields of the request that travel beside it; nil without a request.
func (p *InteractionParams) beside() (*string, *Scope) {
	switch q := p.Request.(type) {
	case *Approval:
		if q != nil {
			return &q.RequestKey, &q.Scope
		}
	case *Questions:
		if q != nil {
			return &q.RequestKey, &q.Scope
		}
	case *OpenInteraction:
		if q != nil {
			return &q.RequestKey, &q.Scope
		}
	}
	return nil, nil
}
