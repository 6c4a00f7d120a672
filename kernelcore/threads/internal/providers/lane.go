package providers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	bridgeprocess "github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// lane runs one process of a provider at a time: that for sessions, or that for questions.
type lane struct {
	pool        *Pool
	slot        *slot
	maintenance bool

	mu       sync.Mutex
	bridge   *Bridge       // the one that runs
	starting chan struct{} // closed when a start is over; nil when none is under way
	last     error         // why the last start failed, or the process died
	backoff  backoff
	crashed  bool // the last process ended by itself
	starts   int  // that worked
}

func newLane(p *Pool, s *slot, maintenance bool) *lane {
	return &lane{pool: p, slot: s, maintenance: maintenance}
}

// current returns the process that runs, or nil.
func (l *lane) current() *Bridge {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bridge
}

// get returns the running process, and starts one when there is none. All who ask meanwhile wait for the same start; after
// failures it comes as late as the backoff says.
func (l *lane) get(ctx context.Context) (*Bridge, error) {
	for {
		one, err := l.pool.needed(l.slot.id)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		if b := l.bridge; b != nil {
			fits := b.made == fingerprint(one) && !b.ended()
			l.mu.Unlock()
			if fits || b.liveThreads() > 0 && !b.ended() { // one of an older plugin goes on until its threads rest
				b.touch()
				return b, nil
			}
			l.end(ctx, b)
			select {
			case <-b.gone:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if wait := l.starting; wait != nil {
			l.mu.Unlock()
			select {
			case <-wait:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			l.mu.Lock()
			b, err := l.bridge, l.last
			l.mu.Unlock()
			if b == nil && err != nil {
				return nil, l.unavailable(one, err)
			}
			continue
		}
		if delay := l.backoff.wait(time.Now()); delay > 0 {
			l.mu.Unlock()
			timer := time.NewTimer(delay)
			select {
			case <-timer.C:
				continue
			case <-l.pool.ctx.Done():
				timer.Stop()
				return nil, kernelcontract.ServiceUnavailable.Errorf("the server is stopping")
			case <-ctx.Done():
				timer.Stop()
				return nil, context.Cause(ctx)
			}
		}
		done := make(chan struct{})
		l.starting, l.last = done, nil
		l.mu.Unlock()
		if !l.pool.goes(func() { l.start(one, done) }) {
			l.started(nil, errors.New("the server is stopping"), done)
			return nil, kernelcontract.ServiceUnavailable.Errorf("the server is stopping")
		}
	}
}

// start starts a process and settles those who wait for it. It then looks after the process until it has ended.
func (l *lane) start(one kernelcore.Provider, done chan struct{}) {
	b, err := l.launch(one)
	if err != nil {
		l.pool.log.Warn("a bridge does not start", "provider", l.slot.id, "plugin", one.PluginID, "error", err)
	}
	l.started(b, err, done)
	if b != nil {
		l.lookAfter(b)
	}
}

// started notes the outcome of a start.
func (l *lane) started(b *Bridge, err error, done chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bridge, l.last, l.starting = b, err, nil
	var handshake *host.HandshakeError
	switch {
	case b != nil:
		l.starts++
		if l.crashed {
			l.crashed = false
			l.pool.kernel.Restarted(kernelcore.BridgeProgram, b.ProviderID)
		}
	case errors.As(err, &handshake) && l.pool.ctx.Err() == nil:
		l.backoff.failed(time.Now(), 0) // a program that is not there or a hook that fails costs nothing to ask again
	}
	close(done)
}

// launch runs the program.
func (l *lane) launch(one kernelcore.Provider) (*Bridge, error) {
	p, d := l.pool, one.Declaration
	ctx := p.ctx
	b := &Bridge{
		ProviderID: d.ID, PluginID: one.PluginID, Declaration: d, Options: one.Program.Options, Serial: p.serial.Add(1),
		made: fingerprint(one), started: time.Now(), used: time.Now(), threads: map[string]int{}, gone: make(chan struct{}),
	}
	env, err := one.Program.Hooks.Env(ctx, bridge.EnvRequest{ProviderID: d.ID, Maintenance: l.maintenance})
	if err != nil {
		return nil, err
	}
	data := p.kernel.PluginDir(one.PluginID)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("the plugin's directory cannot be made: %w", err)
	}
	above := filepath.Join(p.scratchRoot(), one.PluginID)
	if err := os.MkdirAll(above, 0o700); err != nil {
		return nil, fmt.Errorf("the bridge's temporary directory cannot be made: %w", err)
	}
	if b.scratch, err = os.MkdirTemp(above, d.ID+"-"); err != nil {
		return nil, fmt.Errorf("the bridge's temporary directory cannot be made: %w", err)
	}
	o := host.Options{
		Command: absolute(one.Program.Command), Dir: b.scratch, Env: environment(d, env, data, b.scratch),
		Plugin: protocol.PluginInfo{ID: one.PluginID, Version: one.PluginVersion}, Declarations: []protocol.ProviderDeclaration{d},
		InteractionKinds: one.InteractionKinds, Ambient: p.ambient(), Timeouts: p.o.Timeouts, RecordDir: p.o.RecordDir,
		Log: p.log.With("provider", d.ID, "process", b.Serial),
	}
	if o.Plugin.Version == "" {
		o.Plugin.Version = "0"
	}
	if !l.maintenance {
		o.Handler = p.o.Sink.handler(b)
	}
	hb, err := host.Start(ctx, o)
	if err != nil {
		removeScratch(p, b)
		return nil, err
	}
	b.Bridge = hb
	if err := p.record(ctx, b); err != nil {
		p.log.Warn("a bridge is not recorded: nobody kills it if this program is killed", "provider", d.ID, "error", err)
	}
	b.run()
	return b, nil
}

// lookAfter waits for the end of a process, and cleans up behind it.
func (l *lane) lookAfter(b *Bridge) {
	<-b.Done()
	p, exit := l.pool, b.Exit()
	p.killStrays(b)
	removeScratch(p, b)
	if err := p.forgetRecord(context.WithoutCancel(p.ctx), b.PID()); err != nil {
		p.log.Warn("the record of a bridge that has ended stays behind", "provider", b.ProviderID, "error", err)
	}
	l.mu.Lock()
	l.bridge = nil
	l.last = nil
	if exit != nil && !exit.Stopped {
		l.last, l.crashed = exit, true
		l.backoff.failed(time.Now(), time.Since(b.started))
		p.log.Warn("a bridge has ended by itself", "provider", b.ProviderID, "error", exit)
	}
	l.mu.Unlock()
	if !l.maintenance && p.o.Sink.Exit != nil {
		p.o.Sink.Exit(b, exit)
	}
	close(b.gone)
}

func removeScratch(p *Pool, b *Bridge) {
	if err := os.RemoveAll(b.scratch); err != nil {
		p.log.Warn("a temporary directory stays behind", "dir", b.scratch, "error", err)
	}
}

// ended tells whether the process is over.
func (b *Bridge) ended() bool {
	select {
	case <-b.Done():
		return true
	default:
		return false
	}
}

// end stops a process in its order, and waits until that is over.
func (l *lane) end(ctx context.Context, b *Bridge) {
	b.notice(processes()) // what its end leaves behind is killed
	_ = b.Stop(ctx)       // it says only that ctx ended
	<-b.gone
}

// stop ends the lane's process and a start that is under way; the latter by the end of the pool's context.
func (l *lane) stop(ctx context.Context) {
	l.mu.Lock()
	b, starting := l.bridge, l.starting
	l.mu.Unlock()
	if starting != nil {
		select {
		case <-starting:
		case <-ctx.Done():
			return
		}
		b = l.current()
	}
	if b != nil {
		l.end(ctx, b)
	}
}

// endIdle stops the process if nobody has used it for so long.
func (l *lane) endIdle(now time.Time, limit time.Duration) {
	b := l.current()
	if b == nil {
		return
	}
	if since, idle := b.idleSince(); idle && now.Sub(since) >= limit {
		l.pool.goes(func() { l.end(l.pool.ctx, b) })
	}
}

// restart ends the process and forgets its failures.
func (l *lane) restart(ctx context.Context) {
	l.stop(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backoff.reset()
	l.last = nil
}

// state tells how the lane stands.
func (l *lane) state(now time.Time) (b *Bridge, waits bool, starts int, last error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bridge, l.bridge == nil && l.backoff.wait(now) > 0, l.starts, l.last
}

// unavailable says why a provider cannot be used, and what to do.
func (l *lane) unavailable(one kernelcore.Provider, err error) error {
	var known *kernelcontract.Error
	if errors.As(err, &known) { // of a hook
		return known
	}
	d := one.Declaration
	var missing *bridgeprocess.NotFoundError
	if errors.As(err, &missing) {
		return threadapi.ProviderUnavailable.Errorf("%s cannot be used: its bridge %q is not installed; %s", d.DisplayName, missing.Name, installHint(d))
	}
	return threadapi.ProviderUnavailable.Errorf("%s cannot be used: its bridge does not work: %s: %w", d.DisplayName, strings.TrimSpace(err.Error()), err)
}

// installHint says how a provider's program gets here.
func installHint(d protocol.ProviderDeclaration) string {
	switch {
	case d.Maintenance.Installation:
		return fmt.Sprintf("run `bb provider install %s`", d.ID)
	case d.Strings.InstallURL != "":
		return "see " + d.Strings.InstallURL
	}
	return "install it, or mend the command of its plugin"
}
