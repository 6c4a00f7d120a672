package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// Limits of a child.
const (
	// MaxRequests is how many requests of a program are answered at once; further ones are refused, since waiting would keep
	// the answers to the kernel's own requests from being read.
	MaxRequests = 1024
	// lastWords is how much of the standard error of a program is shown when it has ended.
	lastWords = 2 << 10
)

// child is a running program.
type child struct {
	id      string // of the plugin
	host    *pluginsdk.Host
	proc    *process.Process
	peer    *wire.Peer
	streams stdio.Streams
	setup   stdio.SetupResult

	slots chan struct{} // calls that are under way
	asks  atomic.Int64  // requests of the program that are being answered

	ctx    context.Context // ends when the program has
	cancel context.CancelFunc
	work   sync.WaitGroup // everything that is under way for it
	gone   chan struct{}  // closed when the program has ended and is read to its end

	required *required

	mu    sync.Mutex
	calls map[string]context.Context    // by call id: whom the program may act for
	open  map[string]context.CancelFunc // streams that the program has opened, by its ids
	fault string                        // why it was ended, "" when it ended by itself
	junk  int                           // lines that were no messages
}

// spawn starts the program and shakes hands. The error shows the program's last words.
func (p *program) spawn(ctx context.Context, l *life) (*child, error) {
	c := &child{id: p.contract.ID, host: l.host, required: &l.required, slots: make(chan struct{}, stdio.MaxCalls), gone: make(chan struct{}),
		calls: map[string]context.Context{}, open: map[string]context.CancelFunc{}}
	lines := &stderrLines{log: l.host.Log()}
	proc, err := process.Start(ctx, process.Options{Command: p.command, Dir: l.dataDir, Env: p.environ(l.dataDir, l.tempDir), OnStderr: lines.write})
	var missing *process.NotFoundError
	switch {
	case errors.As(err, &missing):
		return nil, fmt.Errorf("its program %s cannot be run: build it, or name another one in the contract's \"run\": %w", p.command[0], err)
	case err != nil:
		return nil, fmt.Errorf("its program %s does not start: %w", p.command[0], err)
	}
	c.proc = proc
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.peer = wire.NewPeer(proc.Stdout, proc.Stdin, wire.Options{
		Request: c.request, Notify: c.notify, Dropped: c.dropped, MaxLine: stdio.MaxLine, WriteTimeout: p.waits.write,
	})
	go c.run() // ends with the program; end and the supervisor wait for gone
	if err := c.handshake(ctx, l); err != nil {
		c.end(ctx, 0)
		return nil, c.lastWords(err)
	}
	c.work.Go(func() { c.ping(p.waits) })
	return c, nil
}

// run reads what the program says until it has ended.
func (c *child) run() {
	defer close(c.gone)
	err := c.peer.Run(c.ctx)
	if errors.Is(err, wire.ErrStalled) {
		c.blame("it does not read its standard input")
	}
	c.proc.Kill() // a program whose output has ended is of no use
	_, _ = c.proc.Wait(context.Background())
	c.cancel()
	c.peer.Close()
	c.streams.Fail(c.unavailable())
	c.work.Wait()
}

// blame notes why the program is ended; the first reason counts.
func (c *child) blame(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == "" {
		c.fault = fmt.Sprintf(format, args...)
	}
}

// lastWords adds to an error what the program wrote to standard error at its end.
func (c *child) lastWords(err error) error {
	said := strings.TrimSpace(string(c.proc.Stderr()))
	if len(said) > lastWords {
		said = "…" + strings.ToValidUTF8(said[len(said)-lastWords:], "")
	}
	if said == "" {
		return err
	}
	return fmt.Errorf("%w; it last said:\n%s", err, said)
}

// reason says why the program has ended.
func (c *child) reason() error {
	exit, _ := c.proc.Wait(context.Background())
	c.mu.Lock()
	fault := c.fault
	c.mu.Unlock()
	if fault == "" {
		return fmt.Errorf("its program %s", exit)
	}
	return errors.New(fault)
}

func (c *child) unavailable() *kernelcontract.Error {
	e := kernelcontract.ServiceUnavailable.Errorf("the program of the plugin %s has ended and is started again: `bb plugin logs %s` shows what it said", c.id, c.id)
	e.Retryable = true
	return e
}

// ask sends a request to the program and decodes the answer.
func ask[R any](ctx context.Context, c *child, method string, params any) (R, error) {
	var out R
	raw, err := c.peer.Call(ctx, method, params)
	if err != nil {
		if errors.Is(err, wire.ErrClosed) || errors.Is(err, wire.ErrStalled) {
			return out, c.unavailable().WithCause(err)
		}
		return out, stdio.Failed(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("the program's answer to %s cannot be read: %w", method, err)
	}
	return out, nil
}

// handshake runs initialize and setup, and holds what the program provides against its contract.
func (c *child) handshake(ctx context.Context, l *life) error {
	begin, cancel := context.WithTimeout(ctx, l.program.waits.initialize)
	defer cancel()
	hello, err := ask[stdio.InitializeResult](begin, c, stdio.Initialize, stdio.InitializeParams{
		Protocol: stdio.Version, PluginID: c.id, ServerID: l.serverID, DataDir: l.dataDir, TempDir: l.tempDir,
	})
	switch {
	case err != nil && begin.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("its program did not answer within %s: it must read requests from standard input and answer on standard output", l.program.waits.initialize)
	case errors.Is(err, wire.ErrClosed) || errors.Is(err, wire.ErrStalled):
		return c.reason()
	case err != nil:
		return fmt.Errorf("its program refuses the connection: %w: install a build for version %d of the protocol", err, stdio.Version)
	case hello.Protocol != stdio.Version:
		return fmt.Errorf("its program speaks version %d of the protocol and this kernel %d: install a build for it", hello.Protocol, stdio.Version)
	case hello.PluginID != c.id:
		return fmt.Errorf("its program says that it is the plugin %q: the contract and the program are of two plugins", hello.PluginID)
	}
	c.setup, err = ask[stdio.SetupResult](ctx, c, stdio.Setup, stdio.SetupParams{})
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("its setup did not finish in time: %w", context.Cause(ctx))
	case errors.Is(err, wire.ErrClosed) || errors.Is(err, wire.ErrStalled):
		return c.reason()
	case err != nil:
		return err
	}
	return c.matches(l.program)
}

// matches says in what the program differs from its contract.
func (c *child) matches(p *program) error {
	var declared []string
	for _, s := range p.contract.Services {
		for _, m := range s.Methods {
			declared = append(declared, s.ID+"."+m.Method)
		}
	}
	var problems []string
	for _, ref := range declared {
		if !slices.Contains(c.setup.Methods, ref) {
			problems = append(problems, ref+" is in the contract and not in the program")
		}
	}
	for _, ref := range c.setup.Methods {
		if !slices.Contains(declared, ref) {
			problems = append(problems, ref+" is in the program and not in the contract")
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("its program differs from its contract: %s: write the contract anew with --package", strings.Join(problems, ", "))
	}
	return nil
}

// enter takes a place for a call, and makes it known as one that the program may act for.
func (c *child) enter(ctx context.Context, id string) (leave func(), err error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.ctx.Done():
		return nil, c.unavailable()
	}
	c.mu.Lock()
	c.calls[id] = ctx
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		<-c.slots
	}, nil
}

// cancelLater tells the program that a call is over which it still answers. Nobody waits for that.
func (c *child) cancelLater(p stdio.CancelParams) {
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, time.Second)
		defer cancel()
		_ = c.peer.Notify(ctx, stdio.Cancel, p)
	})
}

// call answers a query or a mutation.
func (c *child) call(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
	info := stdio.InfoOf(kernelcontract.CallFrom(ctx))
	leave, err := c.enter(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	deadline, _ := ctx.Deadline()
	out, err := ask[stdio.CallResult](ctx, c, stdio.Call, stdio.CallParams{Call: info, Input: input, Deadline: deadline})
	if ctx.Err() != nil {
		c.cancelLater(stdio.CancelParams{Call: info.ID})
		return nil, context.Cause(ctx)
	}
	if err == nil && out.Result == nil {
		return nil, errors.New("the program answered without a result")
	}
	return out.Result, err
}

// guard asks the program whether a call may run.
func (c *child) guard(ctx context.Context, info *kernelcontract.CallInfo, input json.RawMessage) error {
	leave, err := c.enter(ctx, info.ID)
	if err != nil {
		return err
	}
	defer leave()
	_, err = ask[stdio.Nothing](ctx, c, stdio.Guard, stdio.GuardParams{Call: stdio.InfoOf(info), Input: input})
	if ctx.Err() != nil {
		c.cancelLater(stdio.CancelParams{Call: info.ID})
	}
	return err
}

// openStream opens a stream. Its place is held until the sequence has been ranged over, or ctx ends.
func (c *child) openStream(ctx context.Context, input json.RawMessage) (iter.Seq2[stdio.Event, error], error) {
	info := stdio.InfoOf(kernelcontract.CallFrom(ctx))
	r, ok := c.streams.Open(info.ID)
	if !ok {
		return nil, fmt.Errorf("the stream %s is open already", info.ID)
	}
	c.mu.Lock()
	c.calls[info.ID] = ctx
	c.mu.Unlock()
	leave := sync.OnceFunc(func() {
		c.mu.Lock()
		delete(c.calls, info.ID)
		c.mu.Unlock()
		r.Close()
	})
	context.AfterFunc(ctx, leave) // whoever ranges over it or not
	_, err := ask[stdio.Nothing](ctx, c, stdio.StreamOpen, stdio.OpenParams{Call: info, Input: input, Credit: stdio.Credit})
	if err != nil {
		leave()
		if ctx.Err() != nil {
			c.cancelLater(stdio.CancelParams{Call: info.ID})
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return func(yield func(stdio.Event, error) bool) {
		defer leave()
		ended := false
		defer func() {
			if !ended {
				c.cancelLater(stdio.CancelParams{Call: info.ID})
			}
		}()
		for ev, err := range r.All(ctx, c.peer) {
			if err != nil {
				ended = ctx.Err() == nil
				yield(stdio.Event{}, err)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		ended = true
	}, nil
}

// ping ends the program when it does not answer.
func (c *child) ping(w waits) {
	t := time.NewTicker(w.pingEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-c.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, w.pingTimeout)
		_, err := c.peer.Call(ctx, stdio.Ping, stdio.Nothing{})
		late := err != nil && ctx.Err() != nil && c.ctx.Err() == nil
		cancel()
		if late {
			c.blame("it did not answer a ping within %s", w.pingTimeout)
			c.proc.Kill()
			return
		}
	}
}

// end asks the program to stop, and ends it when it does not within grace.
func (c *child) end(ctx context.Context, grace time.Duration) {
	if grace > 0 && c.ctx.Err() == nil {
		asked, cancel := context.WithTimeout(ctx, grace)
		_, _ = c.peer.Call(asked, stdio.Shutdown, stdio.ShutdownParams{GraceMs: grace.Milliseconds()})
		cancel()
	}
	c.proc.Stop(ctx, stopGrace)
	<-c.gone
}

// stopGrace is how long a program has between the end of its input and being terminated.
const stopGrace = 2 * time.Second

// dropped learns of lines that are no messages.
func (c *child) dropped(err *wire.DroppedError) {
	switch err.Reason {
	case wire.LateResponse, wire.UnknownID:
		return
	}
	c.mu.Lock()
	c.junk++
	first := c.junk == 1
	c.mu.Unlock()
	if first {
		c.host.Log().Warn("the program wrote something to standard output that is no message: it belongs to standard error", "problem", err.Error())
	}
}

// level returns the level of a name.
func level(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}
