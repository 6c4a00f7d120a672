package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// Bridge is a running bridge, or one that has exited. Its methods are safe for concurrent use.
type Bridge struct {
	o            Options
	declarations map[string]*protocol.ProviderDeclaration
	kinds        map[string]*extension.Kinds // by provider
	methods      map[string]protocol.MethodSpec
	capabilities protocol.Capabilities // set before Start returns

	proc     *process.Process
	peer     *wire.Peer
	recorder *record.Recorder
	clock    holdClock
	ctx      context.Context // of requests of the bridge
	cancel   context.CancelCauseFunc

	working sync.WaitGroup // goroutines that the reader started
	reaped  chan struct{}  // closed when exit is set
	done    chan struct{}  // closed when all is over
	exit    *ExitError

	// of the reader's goroutine
	batch protocol.DeltaBatch
	ready protocol.Deltas

	mu       sync.Mutex
	threads  map[string]*thread
	requests map[string]*request
	inFlight int
	stopping bool // no new calls
	asked    bool // Stop or Kill
	over     bool // nothing may be started any more
	stop     chan struct{}
	garbage  string
}

// Start starts a bridge and shakes hands with it. The context bounds only that. A program that does not exist is a
// *process.NotFoundError, a bridge that does not open the connection as it should a *HandshakeError; nothing of it runs
// any more then. The caller owns the Bridge until it has ended: call Stop.
func Start(ctx context.Context, o Options) (*Bridge, error) {
	b := &Bridge{
		o: o, declarations: map[string]*protocol.ProviderDeclaration{}, kinds: map[string]*extension.Kinds{},
		methods: map[string]protocol.MethodSpec{},
		reaped:  make(chan struct{}), done: make(chan struct{}),
		threads: map[string]*thread{}, requests: map[string]*request{},
	}
	for _, spec := range protocol.CoreToBridge() {
		b.methods[spec.Method] = spec
	}
	if err := b.prepare(); err != nil {
		return nil, err
	}
	var tee func(sent bool, line []byte)
	if o.RecordDir != "" {
		var err error
		if b.recorder, err = record.New(record.Options{Dir: o.RecordDir, Env: o.Env}); err != nil {
			return nil, err
		}
		tee = b.recorder.Connect(record.CoreToBridge, record.BridgeToCore, b.o.Declarations[0].ID).Tee
	}
	proc, err := process.Start(ctx, process.Options{Command: o.Command, Dir: o.Dir, Env: o.Env})
	if err != nil {
		b.closeRecorder()
		return nil, fmt.Errorf("host: the bridge of the plugin %s: %w", o.Plugin.ID, err)
	}
	b.proc = proc
	b.ctx, b.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	b.peer = wire.NewPeer(proc.Stdout, proc.Stdin, wire.Options{Request: b.request, Notify: b.notify, Dropped: b.dropped, Tee: tee})
	go b.run()
	if err := b.handshake(ctx); err != nil {
		b.Kill()
		<-b.done
		err.Stderr = b.Stderr()
		return nil, err
	}
	return b, nil
}

// prepare checks the options and fills in the defaults.
func (b *Bridge) prepare() error {
	o := &b.o
	o.Timeouts = o.Timeouts.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Client.Name == "" {
		o.Client.Name = "bb"
	}
	if o.Client.Version == "" {
		o.Client.Version = "0"
	}
	var problems []error
	if len(o.Command) == 0 {
		problems = append(problems, errors.New("the Command is empty: name the bridge's program"))
	}
	if o.Plugin.ID == "" || o.Plugin.Version == "" {
		problems = append(problems, errors.New("the Plugin needs an ID and a Version"))
	}
	if len(o.Declarations) == 0 {
		problems = append(problems, errors.New("the list of Declarations is empty: a bridge serves at least one provider"))
	}
	for i := range o.Declarations {
		d := &o.Declarations[i]
		for _, issue := range d.Check() {
			problems = append(problems, fmt.Errorf("the declaration of %q: %s", d.ID, issue))
		}
		if b.declarations[d.ID] != nil {
			problems = append(problems, fmt.Errorf("the provider %q is declared twice", d.ID))
		}
		b.declarations[d.ID] = d
		kinds, err := extension.New(*d)
		if err != nil {
			problems = append(problems, err)
		}
		b.kinds[d.ID] = kinds
	}
	if len(problems) > 0 {
		return fmt.Errorf("host: the options: %w", errors.Join(problems...))
	}
	return nil
}

// run reads what the bridge sends until it ends, and cleans up behind it.
func (b *Bridge) run() {
	defer close(b.done)
	cause := b.peer.Run(context.Background())
	// A bridge that closed its standard output and lives on is of no use any more.
	exit := b.proc.Stop(context.Background(), b.o.Timeouts.Shutdown)
	b.peer.Close()
	b.proc.Stdout.Close()

	b.mu.Lock()
	b.over = true
	stopped, stop := b.asked, b.stop
	b.mu.Unlock()
	b.exit = &ExitError{Exit: exit, Stderr: b.proc.Stderr(), Stopped: stopped, Cause: cause}
	close(b.reaped)
	b.cancel(ErrExited)
	b.working.Wait()
	if stop != nil {
		<-stop
	}
	b.closeRecorder()
	if b.o.Handler.Exit == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			b.o.Log.Error("the handler of the exit panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	b.o.Handler.Exit(b.exit)
}

func (b *Bridge) closeRecorder() {
	if b.recorder == nil {
		return
	}
	if err := b.recorder.Close(); err != nil {
		b.o.Log.Warn("the recording is incomplete", "error", err)
	}
}

// Stop ends the bridge: it sends shutdown, interrupts what the bridge waits for, closes its standard input after the answer,
// and gives it Timeouts.Shutdown altogether to exit; then the process group gets SIGTERM, and SIGKILL after two seconds. When the
// context ends it is killed at once. Stop returns nil when the process is gone and every function of Handler has
// returned, and the context's error, with the process gone all the same, when it had to hurry. Further calls wait for the
// same end.
func (b *Bridge) Stop(ctx context.Context) error {
	b.mu.Lock()
	b.asked, b.stopping = true, true
	if b.stop == nil && !b.over {
		stop := make(chan struct{})
		b.stop = stop
		go func() {
			defer close(stop)
			b.shutdown()
		}()
	}
	b.mu.Unlock()
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		b.Kill()
		<-b.proc.Done()
		return ctx.Err()
	}
}

// endShare is the part of the shutdown grace that is kept for the end of standard input: a bridge that does not answer
// shutdown may still end with it.
const endShare = 5

// shutdown asks the bridge to end and sees to it that it does.
func (b *Bridge) shutdown() {
	grace := b.o.Timeouts.Shutdown
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), grace-grace/endShare)
	defer cancel()
	_, err := b.peer.CallSent(ctx, protocol.MethodShutdown, protocol.ShutdownParams{GraceMs: grace.Milliseconds()}, b.interruptAll)
	if err != nil {
		b.interruptAll()
		b.o.Log.Warn("the bridge did not answer shutdown", "error", err)
	}
	b.proc.Stop(context.Background(), grace-time.Since(begin))
}

func (b *Bridge) interruptAll() {
	b.interruptWhere(ErrInterrupted, func(*request) bool { return true })
}

// Kill kills the bridge and everything that it started. It does not wait; Done tells when it is over. It may be called
// from anywhere.
func (b *Bridge) Kill() {
	b.mu.Lock()
	b.asked, b.stopping = true, true
	b.mu.Unlock()
	b.proc.Kill()
}

// Done is closed when the bridge has ended, however it did, and every function of Handler has returned.
func (b *Bridge) Done() <-chan struct{} { return b.done }

// Exit says how the bridge ended, nil while it runs.
func (b *Bridge) Exit() *ExitError {
	select {
	case <-b.reaped:
		return b.exit
	default:
		return nil
	}
}

// Stderr returns the last 64 KiB of the bridge's standard error.
func (b *Bridge) Stderr() []byte { return b.proc.Stderr() }

// PID returns the number of the bridge's process, which is also that of its group.
func (b *Bridge) PID() int { return b.proc.PID() }

// Capabilities returns what the bridge reported in the handshake.
func (b *Bridge) Capabilities() protocol.Capabilities { return b.capabilities }
