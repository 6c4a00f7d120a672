// Package talk follows a thread from the command line while an agent works: it shows what happens, asks for what the agent
// asks, and stops the turn when it is interrupted (docs/spec/cli-threads.md).
package talk

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/sdk"
)

const (
	// Pause is how long nothing happens before a person is asked: text that still comes would tear the question, and a rule
	// answers many approvals at once.
	Pause = 100 * time.Millisecond
	// settleWait is how long the end of a turn is waited for after a stop of it has returned: it is on its way.
	settleWait = 5 * time.Second
	// answerWait bounds the call that passes an answer on.
	answerWait = 30 * time.Second
)

// ErrEnded says that the events of the thread ended before the turn: the thread was deleted.
var ErrEnded = errors.New("the thread's events ended before the turn did")

// Conversation is how a thread is followed.
type Conversation struct {
	Client *sdk.Client
	Render kernelcontract.Render
	// Text writes text of the conversation as it is.
	Text func(string)
	// Line, when not nil, takes the events as they are, and Text gets nothing.
	Line func(json.RawMessage)
	// Note writes a line beside the conversation.
	Note func(string)
	// Terminal asks a person; nil: nobody can be asked.
	Terminal *Terminal
	// Interrupt is closed when the turn shall be stopped.
	Interrupt <-chan struct{}
}

// Terminal asks a person.
type Terminal struct {
	// Say writes a prompt as it is.
	Say func(string)
	// ReadLine returns the next line, without its end.
	ReadLine func(context.Context) (string, error)
}

// Target is what is followed.
type Target struct {
	Thread  string
	Turn    string // "": that of the first input
	Request string // of the input that the person has just typed, which is not shown again; "": the first one
	Since   string // the cursor before the input
	Waiting bool   // the thread waits for answers already
}

// Outcome is how a turn ended.
type Outcome struct {
	Status  threadapi.TurnStatus
	Stopped bool // a stop was asked for here
}

// Follow follows a thread until the turn has ended; a turn that was merged ends with the one that took it. ctx ends it at
// once, and Interrupt by a stop of the turn.
func (c *Conversation) Follow(ctx context.Context, t Target) (Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{c: c, ctx: ctx, target: t, printer: threadapi.Printer{Render: c.Render, Prompts: c.Terminal != nil}, seen: map[string]bool{},
		lines: make(chan line), stopped: make(chan error, 1)}
	defer r.wait.Wait()
	defer cancel()
	if t.Waiting && c.Terminal != nil {
		r.pending()
	}
	return r.loop(r.frames())
}

// frame is what comes from the stream of events.
type frame struct {
	event  threadapi.Event
	raw    json.RawMessage
	opened bool // the stream was opened again
	err    error
}

// frames reads the events of the thread.
func (r *run) frames() <-chan frame {
	frames := make(chan frame)
	send := func(f frame) bool {
		select {
		case frames <- f:
			return true
		case <-r.ctx.Done():
			return false
		}
	}
	input, err := json.Marshal(threadapi.EventsInput{Thread: r.target.Thread, Follow: true})
	opened := false
	req := sdk.Request{
		Signature: kernelcontract.Signature{Ref: threadapi.Events.Ref, Kind: kernelcontract.KindStream, Resumable: true},
		Input:     input, Since: r.target.Since,
		OnOpen: func(sdk.Answer) {
			if opened {
				send(frame{opened: true})
			}
			opened = true
		},
	}
	r.wait.Go(func() {
		defer close(frames)
		if err != nil {
			send(frame{err: err})
			return
		}
		for item, err := range r.c.Client.Follow(r.ctx, req) {
			f := frame{raw: item.Item, err: err}
			if err == nil {
				f.err = json.Unmarshal(item.Item, &f.event)
			}
			if !send(f) || f.err != nil {
				return
			}
		}
	})
	return frames
}

// run is a conversation under way. Everything but the reading happens on one goroutine.
type run struct {
	c       *Conversation
	ctx     context.Context
	target  Target
	printer threadapi.Printer
	wait    sync.WaitGroup
	spoken  bool // the input of the person has been met

	stop    bool       // a stop was asked for
	stopped chan error // the call has returned

	seen    map[string]bool         // interactions that were met
	open    []threadapi.Interaction // those that wait for an answer
	asking  *asking                 // the first of them, when it was asked for
	lines   chan line               // what the person types
	reading bool                    // a line is waited for
}

func (r *run) loop(frames <-chan frame) (Outcome, error) {
	pause := time.NewTimer(Pause)
	defer pause.Stop()
	interrupt := r.c.Interrupt
	var late <-chan time.Time
	for {
		select {
		case f, ok := <-frames:
			switch {
			case !ok && r.ctx.Err() != nil:
				return Outcome{}, r.ctx.Err()
			case !ok:
				r.finish()
				return Outcome{}, ErrEnded
			case f.err != nil:
				r.finish()
				return Outcome{}, f.err
			case f.opened:
				r.note("connected again")
			default:
				if done := r.event(f); done != "" {
					r.finish()
					return Outcome{done, r.stop}, nil
				}
			}
			pause.Reset(Pause)
		case <-pause.C:
			r.text(r.printer.Idle())
			r.ask()
		case l := <-r.lines:
			r.reading = false
			r.answer(l)
			pause.Reset(Pause)
		case <-interrupt:
			interrupt = nil
			r.halt("stopping the turn; Ctrl-C again leaves at once")
		case err := <-r.stopped:
			if err != nil {
				r.note("the turn was not stopped: " + kernelcontract.AsError(err).Message)
				continue
			}
			late = time.After(settleWait)
		case <-late:
			r.finish()
			return Outcome{threadapi.TurnInterrupted, true}, nil
		case <-r.ctx.Done():
			return Outcome{}, r.ctx.Err()
		}
	}
}

// event shows an event. It returns how the turn ended when it did.
func (r *run) event(f frame) threadapi.TurnStatus {
	e := &f.event
	show := true
	switch e.Type {
	case threadapi.EventInputSent:
		var v threadapi.InputSent
		if !r.spoken && json.Unmarshal(e.Payload, &v) == nil && (r.target.Request == "" || v.ClientRequestID == r.target.Request) {
			r.spoken, show = true, false
			if r.target.Turn == "" {
				r.target.Turn = e.Scope.TurnID
			}
		}
	case threadapi.EventInteractionOpened:
		var v threadapi.InteractionOpened
		if json.Unmarshal(e.Payload, &v) == nil {
			show = r.met(threadapi.Interaction{ID: v.InteractionID, ThreadID: e.ThreadID, Request: v.Request})
		}
	case threadapi.EventInteractionResolved:
		var v threadapi.InteractionResolved
		if json.Unmarshal(e.Payload, &v) == nil {
			r.gone(v.InteractionID)
		}
	}
	switch {
	case r.c.Line != nil:
		r.c.Line(f.raw)
	case show:
		r.text(r.printer.Event(*e))
	}
	if e.Type != "turn.completed" || e.Scope.TurnID != r.target.Turn || r.target.Turn == "" {
		return ""
	}
	var v struct {
		Status     threadapi.TurnStatus `json:"status"`
		MergedInto *string              `json:"mergedInto"`
	}
	if json.Unmarshal(e.Payload, &v) != nil {
		return threadapi.TurnFailed
	}
	if v.Status == threadapi.TurnMerged && v.MergedInto != nil {
		r.target.Turn = *v.MergedInto
		return ""
	}
	return v.Status
}

// halt asks the server to stop the turn.
func (r *run) halt(why string) {
	if r.stop {
		return
	}
	r.stop = true
	r.note(why)
	r.asking, r.open = nil, nil
	r.wait.Go(func() {
		_, err := threadapi.Stop.Call(r.ctx, r.c.Client, threadapi.StopInput{Thread: r.target.Thread, Intent: threadapi.Interrupt})
		r.stopped <- err
	})
}

// text writes text of the conversation. A prompt that stands on the screen gets a line of its own.
func (r *run) text(s string) {
	if s == "" || r.c.Line != nil {
		return
	}
	r.leave()
	r.c.Text(s)
}

// note writes a line beside the conversation, which shares a screen with it or not.
func (r *run) note(s string) {
	if r.c.Render.TTY {
		r.text(r.printer.Close())
	}
	r.leave()
	r.c.Note(s)
}

// finish ends the text.
func (r *run) finish() {
	r.text(r.printer.Close())
	r.leave()
}
