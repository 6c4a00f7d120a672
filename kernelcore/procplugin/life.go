package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// How programs are started again.
const (
	FirstBackoff = 200 * time.Millisecond // before the first new start; it doubles with each
	MaxBackoff   = 10 * time.Second
	// MaxCrashes within CrashWindow make the plugin failed: it would crash for ever.
	MaxCrashes  = 3
	CrashWindow = time.Minute
	// restartTimeout bounds a new start, as the first one is bounded by the kernel.
	restartTimeout = kernelcore.SetupTimeout
)

// life is a plugin that is set up: one program after the other, until it stops.
type life struct {
	program *program
	host    *pluginsdk.Host
	kernel  *kernelcore.Kernel // nil in tests without one

	serverID, dataDir, tempDir string
	temporary                  string // a folder to be removed, "" for none

	required required
	current  atomic.Pointer[child]
	stop     context.CancelFunc // ends the supervision
	over     sync.WaitGroup
}

// setup is the plugin's Setup.
func (p *program) setup(ctx context.Context, h *pluginsdk.Host) (err error) {
	l := &life{program: p, host: h, kernel: kernelcore.Of(ctx)}
	if err := l.folders(); err != nil {
		return err
	}
	c, err := p.spawn(ctx, l)
	if err != nil {
		return errors.Join(err, l.clean())
	}
	l.current.Store(c)
	supervised, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.over.Go(func() { l.supervise(supervised, c) })
	h.OnStop(l.end)
	for _, s := range p.services {
		h.Provide(s, l.handlers(s)...)
	}
	if c.setup.Guards {
		h.Guard(l.guard)
	}
	for id, b := range c.setup.Bridges {
		h.ProvideBridge(id, bridge.Program{Command: b.Command, Options: b.Options, Agent: b.Agent})
	}
	p.latest.Store(l)
	return nil
}

// folders makes the plugin's folders for its files.
func (l *life) folders() error {
	id := l.program.contract.ID
	switch {
	case l.kernel != nil:
		l.serverID, l.dataDir = l.kernel.ServerID(), l.kernel.PluginDir(id)
	case l.program.o.DataDir != "":
		l.dataDir = l.program.o.DataDir
	default:
		dir, err := os.MkdirTemp("", "bb-plugin-"+id+"-")
		if err != nil {
			return fmt.Errorf("the plugin's folder for its files: %w", err)
		}
		l.dataDir, l.temporary = dir, dir
	}
	l.tempDir = filepath.Join(l.dataDir, "tmp")
	if err := os.MkdirAll(l.tempDir, 0o700); err != nil {
		return fmt.Errorf("the plugin's folder for its files: %w", err)
	}
	return nil
}

func (l *life) clean() error {
	if l.temporary == "" {
		return nil
	}
	return os.RemoveAll(l.temporary)
}

// handlers answer the methods of a service by the program that runs at the time.
func (l *life) handlers(s *kernelcontract.Service) []kernelcontract.Handler {
	var list []kernelcontract.Handler
	for _, m := range s.Methods {
		d, ok := m.(*kernelcontract.Described)
		if !ok {
			continue // contract.Define makes no others
		}
		if d.Kind == kernelcontract.KindStream {
			list = append(list, d.HandleStream(l.openStream))
			continue
		}
		list = append(list, d.Handle(l.call))
	}
	return list
}

func (l *life) call(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
	c, err := l.running()
	if err != nil {
		return nil, err
	}
	return c.call(ctx, in)
}

func (l *life) openStream(ctx context.Context, in json.RawMessage) (iter.Seq2[stdio.Event, error], error) {
	c, err := l.running()
	if err != nil {
		return nil, err
	}
	return c.openStream(ctx, in)
}

// guard lets nothing pass while the program does not run: it would have been asked.
func (l *life) guard(ctx context.Context, info *kernelcontract.CallInfo, input json.RawMessage) error {
	c, err := l.running()
	if err != nil {
		return err
	}
	return c.guard(ctx, info, input)
}

func (l *life) render(ref string, v json.RawMessage, r kernelcontract.Render) (string, error) {
	c, err := l.running()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(c.ctx, stdio.RenderTimeout)
	defer cancel()
	out, err := ask[stdio.RenderResult](ctx, c, stdio.Render, stdio.RenderParams{
		Ref: ref, Value: v, Render: stdio.RenderOptions{Width: r.Width, Color: r.Color, TTY: r.TTY},
	})
	return out.Text, err
}

// running returns the program that runs. The error says that none does.
func (l *life) running() (*child, error) {
	c := l.current.Load()
	if c == nil {
		return nil, l.down()
	}
	if c.ctx.Err() != nil {
		return nil, c.unavailable()
	}
	return c, nil
}

func (l *life) down() error {
	e := kernelcontract.ServiceUnavailable.Errorf("the program of the plugin %s does not run now: `bb plugin show %s` says why", l.program.contract.ID, l.program.contract.ID)
	e.Retryable = true
	return e
}

// supervise starts the program again when it ends, until ctx does.
func (l *life) supervise(ctx context.Context, c *child) {
	var crashes []time.Time
	backoff := FirstBackoff
	for {
		select {
		case <-c.gone:
		case <-ctx.Done():
			return // end stops it
		}
		err := c.lastWords(c.reason())
		l.current.Store(nil)
		for {
			if ctx.Err() != nil {
				return
			}
			now := time.Now()
			crashes = append(crashes, now)
			for now.Sub(crashes[0]) > CrashWindow {
				crashes = crashes[1:]
				backoff = FirstBackoff
			}
			l.host.Log().Error("the plugin's program has ended", "problem", err)
			if len(crashes) >= MaxCrashes {
				l.fail(fmt.Errorf("its program has ended %d times within %s: `bb plugin logs %s` shows what it said, `bb plugin reload %s` starts it again: %w",
					len(crashes), CrashWindow, l.program.contract.ID, l.program.contract.ID, err))
				return
			}
			l.degrade(fmt.Errorf("its program has ended and is started again: %w", err))
			select {
			case <-time.After(backoff):
			case <-ctx.Done():
				return
			}
			backoff = min(2*backoff, MaxBackoff)
			var next *child
			if next, err = l.restart(ctx); err == nil {
				c = next
				l.current.Store(c)
				l.degrade(nil)
				break
			}
		}
	}
}

// restart starts the program anew.
func (l *life) restart(ctx context.Context) (*child, error) {
	ctx, cancel := context.WithTimeout(ctx, restartTimeout)
	defer cancel()
	if l.kernel != nil {
		l.kernel.Restarted(kernelcore.PluginProgram, l.program.contract.ID)
	}
	return l.program.spawn(ctx, l)
}

// problemKey is what the plugin's own problem is kept under.
const problemKey = "program"

func (l *life) degrade(err error) {
	if l.kernel != nil {
		l.kernel.Degrade(l.program.contract.ID, problemKey, err)
	}
}

// fail takes the plugin out of the catalog. It waits for nothing, since taking it out ends this life.
func (l *life) fail(err error) {
	if l.kernel != nil && l.program.latest.Load() == l {
		l.kernel.Fail(l.program.plugin, err)
	}
}

// end is the plugin's stop function.
func (l *life) end(ctx context.Context) error {
	l.stop()
	l.over.Wait()
	if c := l.current.Load(); c != nil {
		grace := pluginsdk.StopGrace
		if deadline, ok := ctx.Deadline(); ok {
			grace = min(grace, time.Until(deadline)/2)
		}
		c.end(ctx, grace)
	}
	l.degrade(nil)
	return l.clean()
}
