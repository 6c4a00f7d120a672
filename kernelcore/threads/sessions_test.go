package threads_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

type whoIn struct{}

type whoOut struct {
	Actor  string `json:"actor"`
	Via    string `json:"via"`
	Thread string `json:"thread"`
}

var who = &kernelcontract.Query[whoIn, whoOut]{
	Ref: "who/who.am", Summary: "Say who calls",
	Tool: &kernelcontract.Tool{Instructions: "Ask who you are.", Presentation: kernelcontract.Presentation{Pending: "Asking", Completed: "Asked", Icon: "user", Intent: "generic"}},
}

var whoService = &kernelcontract.Service{ID: "who/who", Summary: "Say who calls", Methods: []kernelcontract.Method{who}}

// whoPlugin has a tool and a skill.
func whoPlugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{
		ID: "who", Version: "1", Summary: "Says who calls", Services: []*kernelcontract.Service{whoService},
		Skills: fstest.MapFS{"asking/SKILL.md": {Data: []byte("---\nname: asking\ndescription: How to ask\n---\nAsk.\n")}},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.Provide(whoService, who.Handle(func(ctx context.Context, _ whoIn) (whoOut, error) {
				call := kernelcontract.CallFrom(ctx)
				return whoOut{call.Principal.Actor, string(call.Principal.Via), call.Context.ThreadID}, nil
			}))
			return nil
		},
	}
}

// last returns what the agent said last, to an input.
func (r *rig) last(thread, text string) string {
	r.Helper()
	r.is.Equal(r.wait(thread, r.send(thread, text).ID).Status, threadapi.TurnCompleted)
	said := r.said(thread)
	return said[len(said)-1]
}

func TestSessionEnvironment(t *testing.T) {
	r := start(t, setup{url: "http://127.0.0.1:1", plugins: []*pluginsdk.Plugin{whoPlugin()}})
	th := r.create(func(in *threadapi.CreateInput) { in.ProjectID = "p1" })
	env := map[string]string{}
	for line := range strings.SplitSeq(r.last(th.ID, "env"), "\n") {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	r.is.Equal(env["BB_THREAD_ID"], th.ID)
	r.is.Equal(env["BB_PROJECT_ID"], "p1")
	r.is.Equal(env["BB_SERVER_URL"], "http://127.0.0.1:1")
	r.is.Equal(env["BB_MCP_URL"], "http://127.0.0.1:1/mcp")
	r.is.True(strings.HasPrefix(env["BB_TOKEN"], "bbs_"))
	r.is.Equal(env["BB_MCP_TOKEN"], env["BB_TOKEN"])
	info, err := os.Stat(env["BB_THREAD_STORAGE"])
	r.is.NoErr(err)
	r.is.True(info.IsDir())
	t.Run("the credential is the agent's, and ends with the session", func(t *testing.T) {
		r := r.sub(t)
		s := httptest.NewServer(r.kernel.Handler())
		defer s.Close()
		call := func() int {
			q, err := http.NewRequest(http.MethodGet, s.URL+"/api/v1/who/who/am", nil)
			r.is.NoErr(err)
			q.Header.Set("Authorization", "Bearer "+env["BB_TOKEN"])
			a, err := http.DefaultClient.Do(q)
			r.is.NoErr(err)
			r.is.NoErr(a.Body.Close())
			return a.StatusCode
		}
		r.is.Equal(call(), 200)
		_, err := threadapi.Stop.Call(t.Context(), r.caller, threadapi.StopInput{Thread: th.ID, Intent: threadapi.Release})
		r.is.NoErr(err)
		r.is.Equal(call(), 401)
	})
}

func TestToolsOfAgents(t *testing.T) {
	r := start(t, setup{plugins: []*pluginsdk.Plugin{whoPlugin()}})
	th := r.create()
	r.is.True(strings.Contains(r.last(th.ID, "tools"), "who_who_am"))
	said := r.last(th.ID, "tool who_who_am {}")
	r.is.True(strings.Contains(said, "agent:"+th.ID))
	r.is.True(strings.Contains(said, `thread: `+th.ID))
	r.is.True(strings.Contains(r.last(th.ID, "tool nothing {}"), `"success":false`))
	r.is.True(strings.Contains(r.last(th.ID, "options"), "Ask who you are.")) // the instructions of its tools
}

func TestSkills(t *testing.T) {
	r := start(t, setup{plugins: []*pluginsdk.Plugin{whoPlugin()}})
	th := r.create()
	roots := map[string]string{}
	for line := range strings.SplitSeq(r.last(th.ID, "skills"), "\n") {
		id, path, _ := strings.Cut(line, "=")
		roots[id] = path
	}
	for _, id := range []string{"bb", "who/asking"} {
		raw, err := os.ReadFile(filepath.Join(roots[id], "SKILL.md"))
		r.is.NoErr(err)
		r.is.True(strings.HasPrefix(string(raw), "---\nname: "))
	}
}

func TestProviderHooks(t *testing.T) {
	var fail error
	r := start(t, setup{hooks: bridge.ProviderHooks{DeriveProviderOptions: func(_ context.Context, q bridge.OptionsRequest) (protocol.JSONObject, error) {
		return protocol.JSONObject{"operation": []byte(`"` + q.Operation + `"`)}, fail
	}}})
	th := r.create(func(in *threadapi.CreateInput) { in.Model = "m1" })
	r.is.Equal(strings.Fields(r.last(th.ID, "options"))[:3], []string{"m1", "accept-edits", `{"operation":"send"}`})
	fail = errors.New("no idea")
	_, err := threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text("say x")}})
	r.is.True(codeIs(err, kernelcontract.ProviderOptionsFailed))
	_, err = threadapi.Create.Call(t.Context(), r.caller, threadapi.CreateInput{ProviderID: "puppet", Cwd: r.cwd})
	r.is.True(codeIs(err, kernelcontract.ProviderOptionsFailed))
	_, err = threadapi.Fork.Call(t.Context(), r.caller, threadapi.ForkInput{Thread: th.ID})
	r.is.True(codeIs(err, kernelcontract.ProviderOptionsFailed))
	all, err := threadapi.List.Call(t.Context(), r.caller, threadapi.ListInput{Limit: 10})
	r.is.NoErr(err)
	r.is.Equal(len(all), 1) // nothing of it is stored
	r.sound(th.ID)
}

func TestBridgeEnvFails(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  map[string]string
		err  error
		says string
	}{
		{"error", nil, errors.New("no secret"), "no secret"},
		{"reserved", map[string]string{"BB_X": "y"}, nil, "BB_X"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, setup{hooks: bridge.ProviderHooks{BridgeEnv: func(context.Context, bridge.EnvRequest) (map[string]string, error) { return tc.env, tc.err }}})
			th := r.create()
			turn := r.wait(th.ID, r.send(th.ID, "say x").ID)
			r.is.Equal(turn.Status, threadapi.TurnFailed)
			r.is.True(strings.Contains(turn.Error, tc.says))
			r.sound(th.ID)
		})
	}
}

func TestSettingsCountFromThenOn(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	turn, err := threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{
		Thread: th.ID, Input: []threadapi.Part{threadapi.Text("options")}, Model: "m2", Permission: threadapi.Full,
	})
	r.is.NoErr(err)
	r.wait(th.ID, turn.ID)
	r.is.True(strings.HasPrefix(r.said(th.ID)[0], "m2 full"))
	r.is.True(strings.HasPrefix(r.last(th.ID, "options"), "m2 full"))
	r.is.Equal(r.get(th.ID).Permission, threadapi.Full)
}

func TestActions(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	turn, err := threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{Thread: th.ID, Actions: []threadapi.Action{threadapi.Compact}})
	r.is.NoErr(err)
	r.wait(th.ID, turn.ID)
	r.is.Equal(r.said(th.ID), []string{"compact"})
	_, err = threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{Thread: th.ID})
	r.is.True(codeIs(err, kernelcontract.InvalidInput))
	_, err = threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{Thread: th.ID, Actions: []threadapi.Action{threadapi.Plan}})
	r.is.True(codeIs(err, threadapi.Unsupported))
	r.sound(th.ID)
}

func TestAgentsBorrowNoPermission(t *testing.T) {
	r := start(t, setup{})
	own := r.create()
	wide := r.create(func(in *threadapi.CreateInput) { in.Permission = threadapi.Full })
	r.last(wide.ID, "say x")
	agent := r.kernel.As(kernelcontract.Principal{Actor: "agent:" + own.ID})
	_, err := threadapi.Send.Call(t.Context(), agent, threadapi.SendInput{Thread: wide.ID, Input: []threadapi.Part{threadapi.Text("say y")}})
	r.is.True(codeIs(err, kernelcontract.Forbidden))
	_, err = threadapi.Fork.Call(t.Context(), agent, threadapi.ForkInput{Thread: wide.ID})
	r.is.True(codeIs(err, kernelcontract.Forbidden))
	_, err = threadapi.GoalSet.Call(t.Context(), agent, threadapi.GoalInput{Thread: wide.ID, Goal: "rule"})
	r.is.True(codeIs(err, kernelcontract.Forbidden))
	_, err = threadapi.Discard.Call(t.Context(), agent, threadapi.ThreadInput{Thread: own.ID})
	r.is.True(codeIs(err, kernelcontract.Forbidden))
	turn, err := threadapi.Send.Call(t.Context(), agent, threadapi.SendInput{Thread: own.ID, Input: []threadapi.Part{threadapi.Text("say z")}})
	r.is.NoErr(err)
	r.is.Equal(r.wait(own.ID, turn.ID).SentBy, "agent:"+own.ID)
}

func TestInteractionOutlivesItsClients(t *testing.T) {
	r := start(t, setup{})
	s := httptest.NewServer(r.kernel.Handler())
	th := r.create()
	turn := r.send(th.ID, "ask ls")
	ctx, leave := context.WithCancel(t.Context())
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/threads/threads/events?follow=true&thread="+th.ID, nil)
	r.is.NoErr(err)
	a, err := http.DefaultClient.Do(q)
	r.is.NoErr(err)
	i := r.pending(th.ID)
	leave()
	_ = a.Body.Close()
	s.CloseClientConnections()
	s.Close()
	r.is.Equal(r.get(th.ID).Status, threadapi.Waiting)
	_, err = r.resolve(i.ID, threadapi.AllowForSession)
	r.is.NoErr(err)
	r.wait(th.ID, turn.ID)
	r.is.Equal(r.said(th.ID), []string{"decision: allow_for_session"})
	r.sound(th.ID)
}

func TestSkillsThatCannotBeStaged(t *testing.T) {
	many := fstest.MapFS{"many/SKILL.md": {Data: []byte("x")}}
	for i := range 256 {
		many[fmt.Sprintf("many/%d.md", i)] = &fstest.MapFile{Data: []byte("x")}
	}
	for name, skills := range map[string]fstest.MapFS{
		"a file that is too large": {"large/SKILL.md": {Data: make([]byte, 256<<10+1)}},
		"too many files":           many,
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, setup{plugins: []*pluginsdk.Plugin{{ID: "skilled", Version: "1", Summary: "Brings skills", Skills: skills}}})
			th := r.create()
			r.is.Equal(r.last(th.ID, "skills"), "") // the session works without them, and says why
			var warned bool
			for _, e := range r.events(th.ID) {
				warned = warned || e.Type == "provider.warning" && strings.Contains(string(e.Payload), `"category":"config"`)
			}
			r.is.True(warned)
			r.sound(th.ID)
		})
	}
}
