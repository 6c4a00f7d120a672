package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// agent is a thread th1 with an agent that follows a script: just as much of the services as bb talks to.
type agent struct {
	t      testing.TB
	script func(a *agent, turn, said string)
	open   []threadapi.Interaction // what the thread waits for from the beginning
	cutAt  int64                   // the stream breaks once behind this event
	hidden bool                    // the thread cannot be listed

	mu      sync.Mutex
	events  []threadapi.Event
	wake    chan struct{} // closed at the next event
	ended   bool
	turns   int
	cuts    int
	answers chan threadapi.ResolveInput
	stops   chan threadapi.StopInput
	busy    map[string]error // what resolving gives, by id
	scripts sync.WaitGroup
	life    context.Context
}

func newAgent(t testing.TB, script func(a *agent, turn, said string)) *agent {
	ctx, cancel := context.WithCancel(context.Background())
	a := &agent{t: t, script: script, wake: make(chan struct{}), answers: make(chan threadapi.ResolveInput, 10), stops: make(chan threadapi.StopInput, 10), busy: map[string]error{}, life: ctx}
	t.Cleanup(func() { cancel(); a.scripts.Wait() })
	return a
}

// emit appends an event of a turn.
func (a *agent) emit(kind, turn, item, payload string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := threadapi.Event{ThreadID: "th1", Seq: int64(len(a.events)) + 1, At: time.Unix(0, 0).UTC(), Type: kind, ItemID: item, Payload: json.RawMessage(payload), Scope: threadapi.Scope{Kind: "thread"}}
	if turn != "" {
		e.Scope = threadapi.Scope{Kind: "turn", TurnID: turn}
	}
	a.events = append(a.events, e)
	close(a.wake)
	a.wake = make(chan struct{})
}

// says emits a message in two pieces.
func (a *agent) says(turn, first, second string) {
	a.emit("item.started", turn, turn+"-m", `{"item":{"kind":"message","text":""},"presentation":{"label":"x","icon":"x"}}`)
	a.emit("item.text", turn, turn+"-m", fmt.Sprintf(`{"stream":"text","text":%q}`, first))
	a.emit("item.text", turn, turn+"-m", fmt.Sprintf(`{"stream":"text","text":%q}`, second))
	a.emit("item.completed", turn, turn+"-m", fmt.Sprintf(`{"status":"completed","partial":false,"item":{"kind":"message","text":%q},"presentation":{"label":"x","icon":"x"}}`, first+second))
}

func (a *agent) settles(turn, status string) {
	a.emit("turn.completed", turn, "", `{"status":"`+status+`","error":null,"checkpointId":null,"mergedInto":null}`)
}

// asks emits a request and returns what is answered.
func (a *agent) asks(turn, id, request string) threadapi.ResolveInput {
	a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"`+id+`","request":`+request+`}`)
	select {
	case in := <-a.answers:
		raw, _ := json.Marshal(map[string]any{"kind": "approval", "decision": in.Decision})
		a.emit(threadapi.EventInteractionResolved, turn, "", `{"interactionId":"`+id+`","resolution":`+string(raw)+`,"by":"user:local"}`)
		return in
	case <-a.life.Done():
		return threadapi.ResolveInput{}
	}
}

// stopped waits for a stop.
func (a *agent) stopped() {
	select {
	case <-a.stops:
	case <-a.life.Done():
	}
}

// end ends the stream of events, as the deletion of the thread does.
func (a *agent) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	close(a.wake)
	a.wake = make(chan struct{})
}

func (a *agent) thread() threadapi.Thread {
	a.mu.Lock()
	defer a.mu.Unlock()
	return threadapi.Thread{ID: "th1", ProviderID: "echo", Title: "Fix it", Status: threadapi.Idle, Cwd: "/w", Permission: threadapi.Auto, Escalation: threadapi.Ask, LastSeq: int64(len(a.events)), Pending: len(a.open)}
}

// input takes an input and lets the script go on with it.
func (a *agent) input(parts []threadapi.Part, request string, steers bool) threadapi.Turn {
	var said []string
	raw := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		raw[i] = json.RawMessage(p)
		var s string
		var part threadapi.TextPart
		if json.Unmarshal(p, &s) == nil {
			said = append(said, s)
		} else if json.Unmarshal(p, &part) == nil {
			said = append(said, part.Text)
		}
	}
	a.mu.Lock()
	a.turns++
	turn := fmt.Sprintf("tn%d", a.turns)
	a.mu.Unlock()
	if request == "" {
		request = "rq-" + turn
	}
	payload, err := json.Marshal(threadapi.InputSent{ClientRequestID: request, Steers: steers, By: "user:local", Input: raw})
	if err != nil {
		a.t.Error(err)
	}
	a.emit(threadapi.EventInputSent, turn, "", string(payload))
	a.scripts.Go(func() { a.script(a, turn, strings.Join(said, " ")) })
	return threadapi.Turn{ID: turn, ThreadID: "th1", ClientRequestID: request, Status: threadapi.TurnQueued}
}

func (a *agent) follow(ctx context.Context, in threadapi.EventsInput) (iter.Seq2[threadapi.Event, error], error) {
	if in.Thread != "th1" {
		return nil, kernelcontract.NotFound.Errorf("no thread %s", in.Thread)
	}
	at := 0
	fmt.Sscan(kernelcontract.CallFrom(ctx).Since, &at)
	return func(yield func(threadapi.Event, error) bool) {
		for {
			a.mu.Lock()
			more, wake, ended := a.events[at:], a.wake, a.ended
			cut := a.cutAt > 0 && a.cuts == 0 && int64(len(a.events)) >= a.cutAt
			if cut {
				a.cuts++
				more = a.events[at:a.cutAt]
			}
			a.mu.Unlock()
			for _, e := range more {
				if !yield(e, nil) {
					return
				}
				at++
			}
			switch {
			case cut:
				yield(threadapi.Event{}, errCut)
				return
			case ended || !in.Follow:
				return
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
		}
	}, nil
}

// impls are the services as the fake server takes them.
func (a *agent) impls() []kernelcontract.Implementation {
	known := func(id string) error {
		if id != "th1" {
			return kernelcontract.NotFound.Errorf("no thread %s", id)
		}
		return nil
	}
	send := func(in threadapi.SendInput, steers bool) (threadapi.Turn, error) {
		if in.ClientRequestID == "again" {
			return threadapi.Turn{ID: "tn0", ThreadID: "th1", ClientRequestID: "again", Status: threadapi.TurnCompleted}, nil
		}
		if err := known(in.Thread); err != nil {
			return threadapi.Turn{}, err
		}
		return a.input(in.Input, in.ClientRequestID, steers), nil
	}
	return []kernelcontract.Implementation{
		{Service: threadapi.Threads, Handlers: []kernelcontract.Handler{
			threadapi.Create.Handle(func(_ context.Context, in threadapi.CreateInput) (threadapi.Thread, error) {
				if len(in.Input) > 0 {
					a.input(in.Input, "", false)
				}
				return a.thread(), nil
			}),
			threadapi.Send.Handle(func(_ context.Context, in threadapi.SendInput) (threadapi.Turn, error) { return send(in, false) }),
			threadapi.Steer.Handle(func(_ context.Context, in threadapi.SendInput) (threadapi.Turn, error) { return send(in, true) }),
			threadapi.Stop.Handle(func(_ context.Context, in threadapi.StopInput) (threadapi.Thread, error) {
				a.stops <- in
				return a.thread(), nil
			}),
			threadapi.Get.Handle(func(_ context.Context, in threadapi.ThreadInput) (threadapi.Thread, error) {
				return a.thread(), known(in.Thread)
			}),
			threadapi.List.Handle(func(ctx context.Context, _ threadapi.ListInput) ([]threadapi.Thread, error) {
				if a.hidden {
					<-ctx.Done()
				}
				return []threadapi.Thread{a.thread()}, nil
			}),
			threadapi.Events.Handle(a.follow),
		}},
		{Service: threadapi.Interactions, Handlers: []kernelcontract.Handler{
			threadapi.ListInteractions.Handle(func(context.Context, threadapi.ListInteractionsInput) ([]threadapi.Interaction, error) {
				return a.open, nil
			}),
			threadapi.Resolve.Handle(func(_ context.Context, in threadapi.ResolveInput) (threadapi.Interaction, error) {
				if err := a.busy[in.ID]; err != nil {
					return threadapi.Interaction{}, err
				}
				a.answers <- in
				return threadapi.Interaction{ID: in.ID, ThreadID: "th1", Kind: "approval", Status: threadapi.Resolved, Request: json.RawMessage(`{}`)}, nil
			}),
		}},
		{Service: threadapi.Providers, Handlers: []kernelcontract.Handler{
			threadapi.ListProviders.Handle(func(context.Context, threadapi.ListProvidersInput) ([]threadapi.Provider, error) {
				return []threadapi.Provider{{ID: "echo", DisplayName: "Echo"}}, nil
			}),
		}},
	}
}

// screen is what a person sees: it tells when text appears.
type screen struct {
	mu   sync.Mutex
	b    bytes.Buffer
	wake chan struct{}
}

func newScreen() *screen { return &screen{wake: make(chan struct{})} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.wake)
	s.wake = make(chan struct{})
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// await waits until the text stands there so many times.
func (s *screen) await(t testing.TB, text string, times int) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		s.mu.Lock()
		n, wake := strings.Count(s.b.String(), text), s.wake
		s.mu.Unlock()
		if n >= times {
			return
		}
		select {
		case <-wake:
		case <-deadline:
			t.Fatalf("%q does not stand there %d times: %q", text, times, s.String())
		}
	}
}
