package record

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// ChildOptions says which agent to start, and for whom.
type ChildOptions struct {
	Process    process.Options
	ProviderID string
	ThreadID   string // "": the agent serves more than one thread
}

// Agent is the process of an agent that Child started, or what stands for it in a replay.
type Agent struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	stop   func(ctx context.Context, grace time.Duration) process.Exit
	stderr func() []byte
	done   <-chan struct{}
}

// Child starts the agent of a bridge. Under WithRecorder its two lanes are recorded; under WithPlayback nothing is
// started, and the recording answers. Variable is taken out of the agent's environment. Errors are those of
// process.Start.
func Child(ctx context.Context, o ChildOptions) (*Agent, error) {
	if p, ok := ctx.Value(playbackKey{}).(*Playback); ok {
		return p.agent(), nil
	}
	env := []string{}
	for _, variable := range o.Process.Env {
		if !strings.HasPrefix(variable, Variable+"=") {
			env = append(env, variable)
		}
	}
	o.Process.Env = env
	p, err := process.Start(ctx, o.Process)
	if err != nil {
		return nil, err
	}
	a := &Agent{Stdin: p.Stdin, Stdout: p.Stdout, stop: p.Stop, stderr: p.Stderr, done: p.Done()}
	if r, ok := ctx.Value(recorderKey{}).(*Recorder); ok && r != nil {
		r.redactToo(env)
		a.Stdin = &laneWriter{p.Stdin, splitter{keep: func(line []byte) { r.Append(BridgeToProvider, o.ProviderID, o.ThreadID, line) }}}
		a.Stdout = &laneReader{p.Stdout, splitter{keep: func(line []byte) { r.Append(ProviderToBridge, o.ProviderID, o.ThreadID, line) }}}
	}
	return a, nil
}

// Stop ends the agent as process.Process.Stop does.
func (a *Agent) Stop(ctx context.Context, grace time.Duration) process.Exit {
	return a.stop(ctx, grace)
}

// Stderr returns the end of what the agent wrote to standard error.
func (a *Agent) Stderr() []byte { return a.stderr() }

// Done is closed when the agent has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

type (
	recorderKey struct{}
	playbackKey struct{}
)

// WithRecorder returns a context under which Child records. The runtime of bridgekit gives such contexts to the functions
// of a bridge that records.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// WithPlayback returns a context under which Child answers from a recording.
func WithPlayback(ctx context.Context, p *Playback) context.Context {
	return context.WithValue(ctx, playbackKey{}, p)
}

// splitter cuts a stream into lines. Of a line over the limit of the wire only the start is kept. It is safe for
// concurrent use, since the pipe that it stands before is.
type splitter struct {
	keep func(line []byte)
	mu   sync.Mutex
	part []byte
}

func (s *splitter) add(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			s.part = append(s.part, b[:min(len(b), max(0, wire.MaxLine-len(s.part)))]...)
			return
		}
		if len(s.part) == 0 {
			s.keep(b[:i])
		} else {
			s.keep(append(s.part, b[:min(i, max(0, wire.MaxLine-len(s.part)))]...))
			s.part = slices.Delete(s.part, 0, len(s.part))
		}
		b = b[i+1:]
	}
}

// end keeps a last line that has no end.
func (s *splitter) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.part) > 0 {
		s.keep(s.part)
		s.part = nil
	}
}

// laneWriter records lines before they are written.
type laneWriter struct {
	w *process.Writer
	s splitter
}

func (l *laneWriter) Write(b []byte) (int, error) {
	l.s.add(b)
	return l.w.Write(b)
}

// SetWriteDeadline bounds writes, as that of process.Writer does: a recording changes nothing for the bridge.
func (l *laneWriter) SetWriteDeadline(t time.Time) error { return l.w.SetWriteDeadline(t) }

func (l *laneWriter) Close() error {
	l.s.end()
	return l.w.Close()
}

// laneReader records lines before they are handed on.
type laneReader struct {
	r *process.Reader
	s splitter
}

func (l *laneReader) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	l.s.add(b[:n])
	if err != nil {
		l.s.end()
	}
	return n, err
}

// SetReadDeadline bounds reads, as that of process.Reader does.
func (l *laneReader) SetReadDeadline(t time.Time) error { return l.r.SetReadDeadline(t) }

func (l *laneReader) Close() error { return l.r.Close() }
