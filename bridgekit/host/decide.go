package host

import "github.com/bb-kernel/bb/bridgekit/protocol"

// AutoDenyActor is who denied an approval that the policy does not let through.
const AutoDenyActor = "system:auto-deny"

// Situation is what an automatic decision depends on, beside the request.
type Situation struct {
	Policy       protocol.PermissionPolicy
	Capabilities protocol.Capabilities
	WriteRoots   []string // where the agent may write; relative ones start at Cwd
	Cwd          string   // of the session, absolute
	Paths        []string // the files of the file_change item that the request names, as far as they are known
}

// Decide decides about an approval without a person, and returns nil when a person has to be asked. The first that
// fits wins:
//
//   - an escalation of deny denies when core enforces the policy (the actor is AutoDenyActor); a provider that enforces
//     it denies by itself;
//   - the mode full allows;
//   - accept-edits and auto allow a file_change when its write scope and all known paths lie in the write roots, and at
//     least one of them is known;
//   - auto allows a command whose working directory lies in the write roots and whose actions are known and only read,
//     list or search.
//
// An allowance is for once. Where the agent does not offer that, only the mode full allows for the session, since a
// grant outlives what was looked at here. Questions and open interactions are never decided.
//
// Paths are compared after every symbolic link and ".." in them has been followed on this machine; what cannot be
// followed asks. The answer holds for the moment: a link that is replaced afterwards leads elsewhere, so Decide is a
// convenience for people, and no sandbox.
func Decide(s Situation, a *protocol.Approval) *protocol.Decision {
	p := s.Policy
	switch {
	case p.Escalation == protocol.EscalateDeny && s.Capabilities.ApprovalEnforcedBy == protocol.EnforcedByRuntime:
		return &protocol.Decision{Kind: protocol.Deny}
	case p.Mode == protocol.ModeFull:
		if offers(a, protocol.AllowOnce) {
			return &protocol.Decision{Kind: protocol.AllowOnce}
		}
		if offers(a, protocol.AllowForSession) {
			return &protocol.Decision{Kind: protocol.AllowForSession}
		}
	case p.Mode == protocol.ModeAcceptEdits && s.allowsChange(a.Subject),
		p.Mode == protocol.ModeAuto && (s.allowsChange(a.Subject) || s.allowsCommand(a.Subject)):
		if offers(a, protocol.AllowOnce) {
			return &protocol.Decision{Kind: protocol.AllowOnce}
		}
	}
	return nil
}

// offers tells whether the agent takes the decision.
func offers(a *protocol.Approval, k protocol.DecisionKind) bool {
	if a.Decisions == nil {
		return k != protocol.AllowForSession
	}
	for _, d := range a.Decisions {
		if d == k {
			return true
		}
	}
	return false
}

// allowsChange tells whether the subject is a file change inside the write roots.
func (s Situation) allowsChange(subject protocol.Subject) bool {
	change, ok := subject.(*protocol.FileChangeSubject)
	if !ok {
		return false
	}
	paths := s.Paths
	if change.WriteScope != nil {
		paths = append([]string{*change.WriteScope}, paths...)
	}
	return len(paths) > 0 && s.inside(paths)
}

// allowsCommand tells whether the subject is a command that only looks, inside the write roots.
func (s Situation) allowsCommand(subject protocol.Subject) bool {
	command, ok := subject.(*protocol.CommandSubject)
	if !ok || len(command.Actions) == 0 {
		return false
	}
	for _, a := range command.Actions {
		switch a.(type) {
		case *protocol.ReadAction, *protocol.ListFilesAction, *protocol.SearchAction:
		default:
			return false
		}
	}
	cwd := s.Cwd
	if command.Cwd != nil {
		cwd = *command.Cwd
	}
	return s.inside([]string{cwd})
}

// inside tells whether all paths lie in the write roots.
func (s Situation) inside(paths []string) bool {
	var roots []string
	for _, root := range s.WriteRoots {
		if r, err := resolve(s.Cwd, root); err == nil {
			roots = append(roots, r)
		}
	}
	for _, path := range paths {
		p, err := resolve(s.Cwd, path)
		if err != nil || !within(roots, p) {
			return false
		}
	}
	return true
}
