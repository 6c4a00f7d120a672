package threads_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// user is who calls in these tests.
var user = kernelcontract.Principal{Actor: "user:local"}

// puppets is the plugin whose provider does whatever it is told.
func puppets(hooks bridge.ProviderHooks) *pluginsdk.Plugin {
	return &pluginsdk.Plugin{
		ID: "puppet", Version: "1", Summary: "Pulls strings", Providers: []protocol.ProviderDeclaration{puppetDeclaration()},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.ProvideBridge("puppet", bridge.Program{Command: puppetCommand(), Hooks: hooks})
			return nil
		},
	}
}

// rig is a kernel with threads.
type rig struct {
	*testing.T
	is     *is.I
	kernel *kernelcore.Kernel
	caller kernelcontract.Caller
	cwd    string
	dir    string // of its data
}

type setup struct {
	store   store.Store
	threads threads.Options
	plugins []*pluginsdk.Plugin
	hooks   bridge.ProviderHooks
	dir     string
	url     string
}

// start starts a kernel, which ends with the test unless close was called.
func start(t *testing.T, s setup) *rig {
	t.Helper()
	is := is.New(t)
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	if s.store == nil {
		var err error
		s.store, err = sqlitestore.Open(t.Context(), s.dir, sqlitestore.Options{})
		is.NoErr(err)
	}
	plugins := append(threads.Plugins(s.threads), puppets(s.hooks))
	k, err := kernelcore.New(kernelcore.Options{
		Plugins: append(plugins, s.plugins...), Store: s.store, DataDir: s.dir, URL: s.url, Development: true,
		Log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	is.NoErr(err)
	for _, p := range k.Problems() {
		t.Fatalf("problem: %v", p)
	}
	r := &rig{T: t, is: is, kernel: k, caller: k.As(user), cwd: t.TempDir(), dir: s.dir}
	t.Cleanup(func() { _ = k.Close() })
	return r
}

// sub is the rig for a part of the test.
func (r *rig) sub(t *testing.T) *rig {
	s := *r
	s.T, s.is = t, is.New(t)
	return &s
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	if l.t.Context().Err() == nil && !strings.Contains(string(p), "trying again") {
		l.t.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}

func (r *rig) create(change ...func(*threadapi.CreateInput)) threadapi.Thread {
	r.Helper()
	in := threadapi.CreateInput{ProviderID: "puppet", Cwd: r.cwd, Permission: threadapi.AcceptEdits, Escalation: threadapi.Ask}
	for _, c := range change {
		c(&in)
	}
	out, err := threadapi.Create.Call(r.Context(), r.caller, in)
	r.is.NoErr(err)
	return out
}

func (r *rig) send(thread, text string) threadapi.Turn {
	r.Helper()
	out, err := threadapi.Send.Call(r.Context(), r.caller, threadapi.SendInput{Thread: thread, Input: []threadapi.Part{threadapi.Text(text)}})
	r.is.NoErr(err)
	return out
}

func (r *rig) steer(thread, text string) threadapi.Turn {
	r.Helper()
	out, err := threadapi.Steer.Call(r.Context(), r.caller, threadapi.SendInput{Thread: thread, Input: []threadapi.Part{threadapi.Text(text)}})
	r.is.NoErr(err)
	return out
}

// wait waits for the end of a turn.
func (r *rig) wait(thread, turn string) threadapi.Turn {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	out, err := threadapi.Wait.Call(ctx, r.caller, threadapi.WaitInput{Thread: thread, Turn: turn})
	r.is.NoErr(err)
	if out.Turn == nil {
		return threadapi.Turn{}
	}
	return *out.Turn
}

// patience is how long tests wait for what must come.
const patience = 30 * time.Second

// until polls until ok.
func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.Fatalf("it never came: %s", what)
		}
	}
}

func (r *rig) get(thread string) threadapi.Thread {
	r.Helper()
	out, err := threadapi.Get.Call(r.Context(), r.caller, threadapi.ThreadInput{Thread: thread})
	r.is.NoErr(err)
	return out
}

func (r *rig) status(thread string, want threadapi.Status) {
	r.Helper()
	r.until("status "+string(want), func() bool { return r.get(thread).Status == want })
}

func (r *rig) stop(thread string) threadapi.Thread {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	out, err := threadapi.Stop.Call(ctx, r.caller, threadapi.StopInput{Thread: thread, Intent: threadapi.Interrupt})
	r.is.NoErr(err)
	return out
}

// events returns all events of a thread.
func (r *rig) events(thread string) []threadapi.Event {
	r.Helper()
	var all []threadapi.Event
	for e, err := range threadapi.Events.Stream(r.Context(), r.caller, threadapi.EventsInput{Thread: thread}) {
		r.is.NoErr(err)
		all = append(all, e)
	}
	return all
}

// types returns the types of a thread's events.
func (r *rig) types(thread string) []string {
	r.Helper()
	var all []string
	for _, e := range r.events(thread) {
		all = append(all, e.Type)
	}
	return all
}

func (r *rig) rows(thread string) []threadapi.Row {
	r.Helper()
	out, err := threadapi.Timeline.Call(r.Context(), r.caller, threadapi.TimelineInput{Thread: thread, Limit: 500})
	r.is.NoErr(err)
	return out.Rows
}

// said returns the texts of the agent's messages.
func (r *rig) said(thread string) []string {
	r.Helper()
	var all []string
	for _, row := range r.rows(thread) {
		if row.Kind == threadapi.RowMessage {
			var m struct{ Text string }
			r.is.NoErr(json.Unmarshal(row.Data, &m))
			all = append(all, m.Text)
		}
	}
	return all
}

// pending returns the interaction that waits in a thread.
func (r *rig) pending(thread string) threadapi.Interaction {
	r.Helper()
	var out []threadapi.Interaction
	r.until("an interaction", func() bool {
		var err error
		out, err = threadapi.ListInteractions.Call(r.Context(), r.caller, threadapi.ListInteractionsInput{Thread: thread, Status: threadapi.Pending, Limit: 50})
		r.is.NoErr(err)
		return len(out) > 0
	})
	return out[0]
}

func (r *rig) resolve(id string, d threadapi.Decision) (threadapi.Interaction, error) {
	return threadapi.Resolve.Call(r.Context(), r.caller, threadapi.ResolveInput{ID: id, Decision: d})
}

// sound checks what must hold whenever nothing is under way: the events have no gap, no turn, item or interaction is open,
// every input has exactly one end, and the thread is idle.
func (r *rig) sound(thread string) {
	r.Helper()
	r.status(thread, threadapi.Idle)
	next := int64(1)
	open, ends, sent, asks := map[string]bool{}, map[string]int{}, map[string]bool{}, map[string]bool{}
	for _, e := range r.events(thread) {
		from := e.Seq
		if len(e.Covers) == 2 {
			from = max(e.Covers[0], next) // compacted while it was read: the whole run comes again
		}
		if from != next {
			r.Fatalf("event %d comes after %d", from, next-1)
		}
		next = e.Seq + 1
		switch e.Type {
		case "item.started":
			open[e.ItemID] = true
		case "item.completed":
			delete(open, e.ItemID)
		case "turn.completed":
			ends[e.Scope.TurnID]++
		case "input.sent":
			var p threadapi.InputSent
			r.is.NoErr(json.Unmarshal(e.Payload, &p))
			if !p.Steers {
				sent[e.Scope.TurnID] = true
			}
		case "interaction.opened":
			var p threadapi.InteractionOpened
			r.is.NoErr(json.Unmarshal(e.Payload, &p))
			asks[p.InteractionID] = true
		case "interaction.resolved":
			var p threadapi.InteractionResolved
			r.is.NoErr(json.Unmarshal(e.Payload, &p))
			delete(asks, p.InteractionID)
		}
	}
	if len(open) > 0 || len(asks) > 0 {
		r.Fatalf("open items %v, open interactions %v", open, asks)
	}
	for turn := range sent {
		if ends[turn] != 1 {
			r.Fatalf("turn %s ended %d times", turn, ends[turn])
		}
	}
	for turn, n := range ends {
		if n != 1 {
			r.Fatalf("turn %s ended %d times", turn, n)
		}
	}
	for _, row := range r.rows(thread) {
		if row.Status == "open" {
			r.Fatalf("row %s of kind %s is open", row.ID, row.Kind)
		}
	}
	r.is.Equal(r.get(thread).Queued, 0)
}

// file makes a file in the directory of the agents.
func (r *rig) file(name string) (remove func()) {
	r.Helper()
	r.is.NoErr(os.WriteFile(r.cwd+"/"+name, nil, 0o600))
	return func() { r.is.NoErr(os.Remove(r.cwd + "/" + name)) }
}

func codeIs(err error, code kernelcontract.Code) bool { return errors.Is(err, code) }
