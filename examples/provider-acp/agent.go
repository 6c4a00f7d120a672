package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

const (
	// maxAgentLine is the longest line that an agent may send: room for images in base64, which the protocol sends whole.
	maxAgentLine = 32 << 20
	// exitGrace is how long an agent has from the end of its input to being terminated: enough to save a session.
	exitGrace = time.Second
	// maxEnd bounds the end of an agent: the grace, and that of process.TermGrace.
	maxEnd = exitGrace + process.TermGrace + time.Second
	// maxLastWords is how much of an agent's standard error is shown when it dies: the end of a stack trace.
	maxLastWords = 2 << 10
	// maxDropLogs is how many lines that are no messages are logged: an agent that prints them prints many.
	maxDropLogs = 20
)

// agent is a running agent.
type agent struct {
	proc   *record.Agent
	peer   *wire.Peer
	about  schema.InitializeResult
	kill   context.CancelFunc
	gone   chan struct{} // closed when the process and all that it started have ended
	exit   process.Exit  // once gone
	broken atomic.Pointer[string]
}

// launch is how an agent is started.
type launch struct {
	command    []string
	dir        string
	env        []string
	providerID string
	threadID   string
	request    func(context.Context, *wire.Request)
	notify     func(context.Context, wire.Notification)
	log        func(string) // a line that was no message
}

// launch starts an agent, which ends with its life at the latest, and shakes hands with it.
func (p *provider) launch(ctx, life context.Context, l launch) (*agent, error) {
	proc, err := record.Child(life, record.ChildOptions{ProviderID: l.providerID, ThreadID: l.threadID,
		Process: process.Options{Command: l.command, Dir: l.dir, Env: l.env}})
	if err != nil {
		return nil, err
	}
	a := &agent{proc: proc, gone: make(chan struct{})}
	dropped := 0
	a.peer = wire.NewPeer(proc.Stdout, proc.Stdin, wire.Options{Request: l.request, Notify: l.notify, MaxLine: maxAgentLine,
		Dropped: func(err *wire.DroppedError) {
			switch {
			case err.Reason == wire.OverLong: // what it said is lost, and with it perhaps the end of the turn
				a.breaks(fmt.Sprintf("the agent sent a line of more than %d MiB", maxAgentLine>>20))
			case err.Reason == wire.LateResponse:
			default:
				if dropped++; dropped <= maxDropLogs { // on the goroutine that reads
					l.log(err.Error())
				}
			}
		}})
	life, a.kill = context.WithCancel(life)
	p.work.Add(1)
	go func() {
		defer p.work.Done()
		a.attend(life, p.ending)
	}()
	raw, err := a.peer.Call(ctx, schema.Initialize, schema.InitializeParams{ProtocolVersion: schema.Version,
		ClientCapabilities: schema.ClientCapabilities{FS: schema.FileSystem{ReadTextFile: true, WriteTextFile: true}, Terminal: true},
		ClientInfo:         schema.Implementation{Name: "bb", Version: "0.1.0"}})
	if err == nil {
		err = json.Unmarshal(raw, &a.about)
	}
	if err != nil {
		err = fmt.Errorf("%s does not speak the Agent Client Protocol: %w", l.command[0], a.explain(ctx, err))
	} else if v := a.about.ProtocolVersion; v != schema.Version {
		err = &versionError{v}
	}
	if err != nil {
		a.end()
		return nil, err
	}
	return a, nil
}

// versionError says that the agent speaks another version of the protocol.
type versionError struct{ version int }

func (e *versionError) Error() string {
	return fmt.Sprintf("the agent speaks version %d of the Agent Client Protocol, and this bridge version %d: update the agent", e.version, schema.Version)
}

// attend reads what the agent says until it ends, or its life does, and then ends everything that it started.
func (a *agent) attend(life, ending context.Context) {
	defer a.kill()
	read := make(chan struct{})
	go func() {
		defer close(read)
		a.peer.Run(context.WithoutCancel(life)) // ends with the streams, and with Close
	}()
	select {
	case <-life.Done():
	case <-a.proc.Done():
	case <-read: // it closed its output: nothing more will come of it
	}
	select {
	case <-read: // what it still said before it ended
	case <-life.Done():
	case <-time.After(exitGrace):
	}
	bounded, cancel := context.WithTimeout(ending, maxEnd)
	defer cancel()
	a.exit = a.proc.Stop(bounded, exitGrace)
	a.peer.Close()
	<-read
	close(a.gone)
}

// end ends the agent and waits until it has ended.
func (a *agent) end() {
	a.kill()
	<-a.gone
}

// breaks ends an agent that cannot be understood any longer.
func (a *agent) breaks(why string) {
	a.broken.CompareAndSwap(nil, &why)
	a.kill()
}

// call asks the agent for something and reads its answer into result.
func (a *agent) call(ctx context.Context, method string, params, result any) error {
	raw, err := a.peer.Call(ctx, method, params)
	if err != nil {
		return a.explain(ctx, err)
	}
	if result == nil || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("the agent's answer to %s makes no sense: %w", method, err)
	}
	return nil
}

// deathError says how an agent ended that should not have.
type deathError struct{ message string }

func (e *deathError) Error() string { return e.message }

// explain turns the end of the connection into what is known about the end of the agent.
func (a *agent) explain(ctx context.Context, err error) error {
	if !errors.Is(err, wire.ErrClosed) && a.alive() || ctx.Err() != nil {
		return err
	}
	var answer *wire.Error
	if errors.As(err, &answer) {
		return err // it said so before
	}
	select {
	case <-a.gone:
	case <-ctx.Done():
		return err
	}
	if why := a.broken.Load(); why != nil {
		return &deathError{*why + ", and was ended"}
	}
	message := fmt.Sprintf("the agent %s", a.exit)
	if words := lastWords(a.proc.Stderr()); words != "" {
		message += ": " + words
	}
	return &deathError{message}
}

// alive tells whether the agent has not ended.
func (a *agent) alive() bool {
	select {
	case <-a.gone:
		return false
	default:
		return true
	}
}

// lastWords is the end of a standard error, in whole lines when it has any.
func lastWords(stderr []byte) string {
	if len(stderr) > maxLastWords {
		stderr = stderr[len(stderr)-maxLastWords:]
		for i, b := range stderr {
			if b == '\n' {
				stderr = stderr[i+1:]
				break
			}
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(stderr), "\uFFFD"))
}
