package threadapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/contracttest"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// rendered is how a result of a method reads.
func rendered(t *testing.T, s *kernelcontract.Service, method string, v any, r kernelcontract.Render) string {
	t.Helper()
	def, err := s.Def()
	if err != nil {
		t.Fatal(err)
	}
	out, err := text.Result(def.Method(method), v, r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func row(id, kind, status, data string) threadapi.Row {
	return threadapi.Row{ID: id, Seq: 1, Kind: kind, Status: status, TurnID: "t1", Data: json.RawMessage(data)}
}

func TestTimeline(t *testing.T) {
	in := func(parent string, r threadapi.Row) threadapi.Row { r.ParentID = parent; return r }
	of := func(event string, r threadapi.Row) threadapi.Row { r.Type = event; return r }
	long := strings.Repeat(`l\n`, 20)
	for _, tc := range []struct {
		name string
		out  threadapi.TimelineOutput
		want string
	}{
		{"nothing", threadapi.TimelineOutput{}, "(nothing happened yet)"},
		{"pages", threadapi.TimelineOutput{Rows: []threadapi.Row{row("m", threadapi.RowMessage, "completed", `{"kind":"message","text":"Hi"}`)}, Earlier: true, Later: true},
			"… earlier rows: --before 1\nHi\n… later rows: --after 1"},
		{"every kind", threadapi.TimelineOutput{Thread: threadapi.Thread{Status: threadapi.Waiting}, Rows: []threadapi.Row{
			row("1", threadapi.RowUser, "completed", `{"input":["Do it"],"by":"user:local"}`),
			row("2", threadapi.RowReasoning, "completed", `{"kind":"reasoning","text":"hm","summary":""}`),
			row("3", threadapi.RowMessage, "completed", `{"kind":"message","text":"Well"}`),
			row("4", threadapi.RowPlan, "completed", `{"kind":"plan","text":"1. Go"}`),
			row("5", threadapi.RowCompaction, "completed", `{"kind":"compaction"}`),
			row("6", threadapi.RowCommand, "completed", `{"kind":"command","command":"ls","output":"`+long+`","exitCode":0}`),
			row("7", threadapi.RowTool, "completed", `{"kind":"tool","tool":"search","arguments":{},"result":"1 hit"}`),
			row("8", threadapi.RowFileChange, "completed", `{"kind":"file_change","changes":[{"path":"a","change":"add"}]}`),
			row("9", threadapi.RowTask, "completed", `{"kind":"task","label":"Look","summary":"seen"}`),
			in("9", row("10", threadapi.RowCommand, "open", `{"kind":"command","command":"pwd"}`)),
			row("11", threadapi.RowTodo, "completed", `{"steps":[{"text":"a","status":"active"}]}`),
			row("12", threadapi.RowInteraction, "open", `{"request":{"kind":"approval","subject":{"kind":"command","command":"rm"},"decisions":["deny"]},"resolution":null,"by":null}`),
			row("13", threadapi.RowInteraction, "completed", `{"request":{"kind":"approval","subject":{"kind":"plan","plan":"p"},"decisions":["deny"]},"resolution":{"kind":"approval","decision":"allow_for_session"},"by":"user:local"}`),
			row("14", threadapi.RowInteraction, "completed", `{"request":{"kind":"approval","subject":{"kind":"plan","plan":"p"},"decisions":["deny"]},"resolution":{"kind":"approval","decision":"allow_once"},"by":"system:auto-allow"}`),
			row("15", "demo/card", "completed", `{"kind":"demo/card","payload":{}}`),
			row("16", threadapi.RowUsage, "completed", `{"last":{"inputTokens":1,"outputTokens":2},"total":{"totalTokens":3}}`),
			of("provider.warning", row("17", threadapi.RowNotice, "completed", `{"category":"x","summary":"careful"}`)),
			row("18", threadapi.RowTurn, "failed", `{"status":"failed","error":{"message":"no"}}`),
			{ID: "19", Kind: threadapi.RowMessage, Status: "completed", Suppress: true, Data: json.RawMessage(`{"kind":"message","text":"hidden"}`)},
		}}, "> Do it\nhm\nWell\nPlan\n  1. Go\nthe agent made room in its context\n$ ls\n" + strings.Repeat("  l\n", 12) + "  … 8 more lines\n  exit 0\n" +
			"* search\n  1 hit\n+ a\n+ Look\n  seen\n  $ pwd\n    …\n[>] a\n? May it run: rm?\n  answer: bb interaction resolve 12 deny\n" +
			"? Shall it follow this plan\n  allowed for the session by user:local\n* demo/card\ntokens: 1 in, 2 out; 3 in all\nwarning: careful\nThe turn failed: no\nThe thread is waiting."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(rendered(t, threadapi.Threads, "timeline", tc.out, kernelcontract.Render{}), tc.want)
			is.Equal(withoutStyles(rendered(t, threadapi.Threads, "timeline", tc.out, kernelcontract.Render{Color: true, Width: 80})), tc.want)
		})
	}
}

func TestResults(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	yes := true
	thread := threadapi.Thread{ID: "th1", ProviderID: "echo", Title: "Fix", Status: threadapi.Idle, Cwd: "/w", Permission: threadapi.Auto, Escalation: threadapi.Ask, Tokens: 1500, CreatedAt: at, UpdatedAt: at}
	turn := threadapi.Turn{ID: "tn1", Status: threadapi.TurnFailed, Error: "no quota"}
	ask := threadapi.Interaction{ID: "in_1", ThreadID: "th1", Kind: "approval", Status: threadapi.Pending,
		Request: json.RawMessage(`{"kind":"approval","subject":{"kind":"permission_grant","toolName":"web","permissions":{"network":{"enabled":true},"fileSystem":{"read":["/etc"],"write":["/tmp"]}}},"decisions":["allow_once","deny"]}`)}
	answered := ask
	answered.Status, answered.Resolution, answered.ResolvedBy = threadapi.Resolved, json.RawMessage(`{"kind":"approval","decision":"allow_once"}`), "user:local"
	provider := threadapi.Provider{ID: "echo", DisplayName: "Echo", PluginID: "echo", State: threadapi.ProviderRunning, Installed: &yes, Threads: 2,
		PermissionModes: []threadapi.Mode{threadapi.Full}, Capabilities: threadapi.Capabilities{SessionRestore: true, Fork: "tip", Steer: "native", ThreadGoal: true}}
	for _, tc := range []struct {
		service *kernelcontract.Service
		method  string
		v       any
		want    string
	}{
		{threadapi.Threads, "get", thread, "id: th1\ntitle: Fix\nstatus: idle\nprovider: echo\ncwd: /w\npermission: auto, else ask\ntokens: 1.5k\ncreated: 2026-01-02 03:04 UTC"},
		{threadapi.Threads, "list", []threadapi.Thread{thread}, "id   status  provider  title  cwd  updated\nth1  idle    echo      Fix    /w   2026-01-02 03:04 UTC"},
		{threadapi.Threads, "list", []threadapi.Thread{}, "(none)"},
		{threadapi.Threads, "send", turn, "turn tn1 failed: no quota"},
		{threadapi.Threads, "send", threadapi.Turn{ID: "tn1", Status: threadapi.TurnQueued}, "turn tn1 is stored and waits for its turn"},
		{threadapi.Threads, "wait", threadapi.WaitOutput{Thread: thread, Turn: &turn}, "thread th1 idle\nturn tn1 failed: no quota"},
		{threadapi.Interactions, "get", ask, "in_1 of thread th1\n? May web have the network, reading /etc, writing /tmp?\n  answer: bb interaction resolve in_1 allow_once|deny"},
		{threadapi.Interactions, "resolve", answered, "in_1 of thread th1\n? May web have the network, reading /etc, writing /tmp?\n  allowed by user:local"},
		{threadapi.Interactions, "list", []threadapi.Interaction{ask}, "id    thread  status   asked\nin_1  th1     pending  May web have the network, reading /etc, writing /tmp"},
		{threadapi.Providers, "list", []threadapi.Provider{provider}, "id    name  installed  state    threads\necho  Echo  yes        running        2"},
		{threadapi.Providers, "get", provider, "id: echo\nname: Echo\nplugin: echo\nstate: running\ninstalled: yes\nthreads: 2\npermissions: full\ncan: resume, steer, fork, goal"},
		{threadapi.Providers, "models", []threadapi.Model{{ID: "m1", Label: "One", IsDefault: true, ReasoningLevels: []string{"low", "high"}, DefaultReasoningLevel: "low"}, {ID: "m2", Label: "Two"}},
			"id  label  default  reasoning\nm1  One    yes      low* high\nm2  Two    -        -"},
		{threadapi.Providers, "health", threadapi.Health{Status: "not_installed", Hint: "run: bb provider install echo"}, "not installed\nrun: bb provider install echo"},
		{threadapi.Providers, "health", threadapi.Health{Status: "ready", AccountEmail: "a@b", Plan: "pro", InstalledVersion: "1.2"}, "ready\naccount: a@b\nplan: pro\nversion: 1.2"},
		{threadapi.Providers, "install", threadapi.InstallOutput{Command: "npm i x", Text: "fetching\n"}, "$ npm i x\nfetching"},
		{threadapi.Providers, "install", threadapi.InstallOutput{Done: true, OK: true}, "installed"},
		{threadapi.Providers, "install", threadapi.InstallOutput{Done: true}, "not installed"},
	} {
		t.Run(tc.method, func(t *testing.T) {
			is := is.New(t)
			is.Equal(rendered(t, tc.service, tc.method, tc.v, kernelcontract.Render{}), tc.want)
		})
	}
}

// TestSurfaces proves that every method has words, routes, a schema and a text of its own.
func TestSurfaces(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	thread := threadapi.Thread{ID: "th1", Title: "Fix", ProviderID: "echo", Status: threadapi.Idle, Cwd: "/w", Permission: threadapi.Auto, Escalation: threadapi.Ask, CreatedAt: at, UpdatedAt: at}
	turn := threadapi.Turn{ID: "tn1", ThreadID: "th1", Status: threadapi.TurnQueued, CreatedAt: at}
	event := happened(completed, "m", item("completed", `"kind":"message","text":"Hi"`))
	line := row("m", threadapi.RowMessage, "completed", `{"kind":"message","text":"Hi"}`)
	ask := threadapi.Interaction{ID: "in_1", ThreadID: "th1", Kind: "question", Status: threadapi.Pending, Request: json.RawMessage(`{"kind":"question","questions":[]}`), CreatedAt: at}
	provider := threadapi.Provider{ID: "echo", DisplayName: "Echo", PluginID: "echo", State: threadapi.ProviderStopped, PermissionModes: []threadapi.Mode{threadapi.Full}, Actions: []threadapi.Action{},
		Capabilities: threadapi.Capabilities{Fork: "none", ApprovalEnforcedBy: "runtime", Steer: "none"}}
	samples := map[string]contracttest.Samples{
		"threads/threads": {
			"create": thread, "send": turn, "steer": turn, "fork": thread, "stop": thread, "wait": threadapi.WaitOutput{Thread: thread, Turn: &turn}, "get": thread,
			"list": []threadapi.Thread{thread}, "rename": thread, "archive": thread, "unarchive": thread, "goalSet": thread, "goalClear": thread, "events": event,
			"timeline": threadapi.TimelineOutput{Thread: thread, Rows: []threadapi.Row{line}, LastSeq: 1},
		},
		"threads/interactions": {"list": []threadapi.Interaction{ask}, "get": ask, "resolve": ask},
		"providers/providers": {
			"list": []threadapi.Provider{provider}, "get": provider, "restart": provider, "health": threadapi.Health{Status: "ready"},
			"models":  []threadapi.Model{{ID: "m1", Label: "One", ReasoningLevels: []string{}, ServiceTiers: []string{}}},
			"install": threadapi.InstallOutput{Text: "done", Done: true, OK: true},
		},
	}
	for _, s := range threadapi.Services() {
		t.Run(s.ID, func(t *testing.T) { contracttest.ExpectDerivedSurfaces(t, s, samples[s.ID]) })
	}
}
