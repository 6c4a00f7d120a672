package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func ptr[T any](v T) *T { return &v }

// policies are the three presets, with both escalations where there is one.
var policies = map[string]protocol.PermissionPolicy{
	"full":              {Mode: protocol.ModeFull, Scope: protocol.ScopeFull},
	"accept-edits":      {Mode: protocol.ModeAcceptEdits, Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerUser, Escalation: protocol.EscalateAsk},
	"accept-edits-deny": {Mode: protocol.ModeAcceptEdits, Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerUser, Escalation: protocol.EscalateDeny},
	"auto":              {Mode: protocol.ModeAuto, Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerAutomatic, Escalation: protocol.EscalateAsk},
	"auto-deny":         {Mode: protocol.ModeAuto, Scope: protocol.ScopeWorkspace, Reviewer: protocol.ReviewerAutomatic, Escalation: protocol.EscalateDeny},
}

func TestDecide(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside := filepath.Join(dir, "work"), filepath.Join(dir, "elsewhere")
	for _, d := range []string{filepath.Join(root, "sub"), outside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, target string) {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("out", outside)                                                     // leads out
	link("dangling", filepath.Join(outside, "new"))                          // leads to what does not exist, outside
	link("in", filepath.Join(root, "sub"))                                   // stays inside
	link("loop", "loop")                                                     // leads nowhere
	link("sub/up", "../..")                                                  // relative, leads out
	if err := os.Symlink(root, filepath.Join(outside, "back")); err != nil { // leads in
		t.Fatal(err)
	}

	change := func(scope *string) *protocol.Approval {
		return &protocol.Approval{Subject: &protocol.FileChangeSubject{WriteScope: scope}}
	}
	command := func(cwd *string, actions ...protocol.CommandAction) *protocol.Approval {
		return &protocol.Approval{Subject: &protocol.CommandSubject{Command: "x", Cwd: cwd, Actions: actions}}
	}
	read, list := &protocol.ReadAction{Command: "cat a"}, &protocol.ListFilesAction{Command: "ls"}
	search, unknown := &protocol.SearchAction{Command: "rg"}, &protocol.UnknownAction{Command: "make"}
	with := func(a *protocol.Approval, offered ...protocol.DecisionKind) *protocol.Approval {
		a.Decisions = offered
		return a
	}
	in := ptr(filepath.Join(root, "sub"))

	const once, session, deny, ask = protocol.AllowOnce, protocol.AllowForSession, protocol.Deny, protocol.DecisionKind("")
	for _, tt := range []struct {
		name, policy string
		byProvider   bool
		approval     *protocol.Approval
		paths        []string
		want         protocol.DecisionKind
	}{
		{"deny comes before all else", "accept-edits-deny", false, change(in), nil, deny},
		{"deny also without an offer", "auto-deny", false, with(change(in), once), nil, deny},
		{"deny a plan", "auto-deny", false, &protocol.Approval{Subject: &protocol.PlanSubject{}}, nil, deny},
		{"deny is left to a provider that enforces", "accept-edits-deny", true, change(&outside), nil, ask},
		{"a provider that enforces still has edits allowed", "accept-edits-deny", true, change(in), nil, once},

		{"full allows a command", "full", false, command(nil, unknown), nil, once},
		{"full allows a permission", "full", false, &protocol.Approval{Subject: &protocol.PermissionSubject{}}, nil, once},
		{"full allows outside", "full", false, change(&outside), nil, once},
		{"full allows for the session when that is all", "full", false, with(change(in), session, protocol.Deny), nil, session},
		{"full with only a denial asks", "full", false, with(change(in), protocol.Deny), nil, ask},

		{"accept-edits allows a change inside", "accept-edits", false, change(in), nil, once},
		{"accept-edits allows the root itself", "accept-edits", false, change(&root), nil, once},
		{"accept-edits allows known paths inside", "accept-edits", false, change(nil), []string{"sub/a", *in}, once},
		{"accept-edits asks about a path outside", "accept-edits", false, change(in), []string{"sub/a", filepath.Join(outside, "a")}, ask},
		{"accept-edits asks about a scope outside", "accept-edits", false, change(&outside), []string{"sub/a"}, ask},
		{"accept-edits asks when nothing is known", "accept-edits", false, change(nil), nil, ask},
		{"accept-edits asks about a sibling with the same start", "accept-edits", false, change(ptr(root + "-2")), nil, ask},
		{"accept-edits asks about commands", "accept-edits", false, command(in, read), nil, ask},
		{"accept-edits asks about a plan", "accept-edits", false, &protocol.Approval{Subject: &protocol.PlanSubject{}}, nil, ask},
		{"accept-edits asks when once is not offered", "accept-edits", false, with(change(in), session, protocol.Deny), nil, ask},

		{"relative paths start at the working directory", "accept-edits", false, change(ptr("sub")), nil, once},
		{"dots lead out", "accept-edits", false, change(ptr("../elsewhere")), nil, ask},
		{"dots come back", "accept-edits", false, change(ptr("sub/../sub/./new")), nil, once},
		{"a link leads out", "accept-edits", false, change(ptr("out/new")), nil, ask},
		{"a link leads out to what is missing", "accept-edits", false, change(ptr("dangling")), nil, ask},
		{"a relative link leads out", "accept-edits", false, change(ptr("sub/up/elsewhere")), nil, ask},
		{"a link stays inside", "accept-edits", false, change(ptr("in/new")), nil, once},
		{"a link leads in", "accept-edits", false, change(ptr(filepath.Join(outside, "back", "sub"))), nil, once},
		{"dots are taken after the link", "accept-edits", false, change(ptr("out/../elsewhere")), nil, ask},
		{"dots after a link that leads in", "accept-edits", false, change(ptr(filepath.Join(outside, "back") + "/../work/sub")), nil, once},
		{"a loop asks", "accept-edits", false, change(ptr("loop/a")), nil, ask},
		{"dots behind what is missing ask", "accept-edits", false, change(ptr("nowhere/../sub")), nil, ask},
		{"new folders inside", "accept-edits", false, change(ptr("new/newer/newest")), nil, once},
		{"an empty path asks", "accept-edits", false, change(ptr("")), nil, ask},
		{"a zero byte asks", "accept-edits", false, change(ptr("sub/\x00")), nil, ask},

		{"auto allows a change inside", "auto", false, change(in), nil, once},
		{"auto allows looking", "auto", false, command(in, read, list, search), nil, once},
		{"auto looks from the session's folder", "auto", false, command(nil, read), nil, once},
		{"auto asks about other actions", "auto", false, command(in, read, unknown), nil, ask},
		{"auto asks about unknown commands", "auto", false, command(in), nil, ask},
		{"auto asks about looking outside", "auto", false, command(&outside, read), nil, ask},
		{"auto asks about looking through a link", "auto", false, command(ptr("out"), read), nil, ask},
		{"auto asks about permissions", "auto", false, &protocol.Approval{Subject: &protocol.PermissionSubject{}}, nil, ask},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			s := host.Situation{Policy: policies[tt.policy], WriteRoots: []string{"", "/nowhere/at/all", root}, Cwd: root, Paths: tt.paths}
			s.Capabilities.ApprovalEnforcedBy = protocol.EnforcedByRuntime
			if tt.byProvider {
				s.Capabilities.ApprovalEnforcedBy = protocol.EnforcedByProvider
			}
			got := host.Decide(s, tt.approval)
			if tt.want == ask {
				is.Equal(got, nil) // a person is asked
				return
			}
			is.True(got != nil) // decided without a person
			is.Equal(got.Kind, tt.want)
			is.Equal(got.Granted, nil)
		})
	}
	t.Run("no write roots allow nothing", func(t *testing.T) {
		is := is.New(t)
		is.Equal(host.Decide(host.Situation{Policy: policies["auto"], Cwd: root}, change(in)), nil)
	})
	t.Run("a relative root starts at the working directory", func(t *testing.T) {
		is := is.New(t)
		s := host.Situation{Policy: policies["auto"], Cwd: root, WriteRoots: []string{"sub"}}
		is.True(host.Decide(s, change(in)) != nil)
		is.Equal(host.Decide(s, change(&root)), nil)
	})
}
