package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
)

// Playback stands for an agent whose lanes were recorded. It gives the bridge each line that the agent sent once the
// bridge has written everything that it had written before that line, and checks that what the bridge writes is the same
// JSON. It is for one Child.
type Playback struct {
	entries []Entry // of the lanes with the agent

	mu    sync.Mutex
	moved *sync.Cond
	read  int    // entries before it, of the agent's lane, were given to the bridge
	wrote int    // entries before it, of the bridge's lane, were written by the bridge
	given []byte // what is left of a line that is being read
	ended bool   // the bridge has closed its end
	err   error
	done  chan struct{}
}

// NewPlayback makes the playback of a recording. It must hold lines of the agent's lanes.
func NewPlayback(r *Recording) (*Playback, error) {
	p := &Playback{entries: r.Lane(BridgeToProvider, ProviderToBridge), done: make(chan struct{})}
	if len(p.entries) == 0 {
		return nil, errors.New("record: the recording holds no lane of an agent: did the bridge start it with record.Child?")
	}
	p.moved = sync.NewCond(&p.mu)
	return p, nil
}

// Err tells how the replay went, once the bridge is done: the first line that was not as recorded, or what was left over.
func (p *Playback) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if e := p.next(BridgeToProvider, p.wrote); e < len(p.entries) {
		return fmt.Errorf("record: the bridge stopped before it wrote entry %d: %s", p.entries[e].Seq, p.entries[e].Line)
	}
	if e := p.next(ProviderToBridge, p.read); e < len(p.entries) {
		return fmt.Errorf("record: the bridge stopped before it read entry %d: %s", p.entries[e].Seq, p.entries[e].Line)
	}
	return nil
}

// next finds the first entry of a lane from an index on.
func (p *Playback) next(lane Lane, from int) int {
	for from < len(p.entries) && p.entries[from].Lane != lane {
		from++
	}
	return from
}

func (p *Playback) agent() *Agent {
	s := &splitter{keep: p.line}
	return &Agent{
		Stdin:  &playbackWriter{p, s},
		Stdout: (*playbackReader)(p),
		stop: func(context.Context, time.Duration) process.Exit {
			p.close()
			return process.Exit{}
		},
		stderr: func() []byte { return nil },
		done:   p.done,
	}
}

// line takes a line that the bridge wrote.
func (p *Playback) line(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.moved.Broadcast()
	if p.err != nil {
		return
	}
	e := p.next(BridgeToProvider, p.wrote)
	switch {
	case e == len(p.entries):
		p.err = fmt.Errorf("record: the bridge wrote more than was recorded: %s", line)
	case !same(p.entries[e].Line, string(line)):
		p.err = fmt.Errorf("record: entry %d: the bridge wrote\n%s\nwhere it had written\n%s", p.entries[e].Seq, line, p.entries[e].Line)
	default:
		p.wrote = e + 1
	}
}

// same compares lines as JSON, or as text when they are none.
func same(a, b string) bool {
	if a == b {
		return true
	}
	va, errA := exact(a)
	vb, errB := exact(b)
	return errA == nil && errB == nil && reflect.DeepEqual(va, vb)
}

func exact(line string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func (p *Playback) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		close(p.done)
	}
	p.moved.Broadcast()
}

type playbackWriter struct {
	p *Playback
	s *splitter
}

func (w *playbackWriter) Write(b []byte) (int, error) {
	w.s.add(b)
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if w.p.err != nil {
		return 0, w.p.err
	}
	return len(b), nil
}

func (w *playbackWriter) Close() error {
	w.s.end()
	w.p.close()
	return nil
}

type playbackReader Playback

func (r *playbackReader) Read(b []byte) (int, error) {
	p := (*Playback)(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.given) == 0 {
		e := p.next(ProviderToBridge, p.read)
		switch {
		case p.err != nil:
			return 0, p.err
		case e == len(p.entries):
			if p.ended || p.next(BridgeToProvider, p.wrote) == len(p.entries) {
				return 0, io.EOF
			}
			p.moved.Wait()
		case p.next(BridgeToProvider, p.wrote) < e:
			if p.ended {
				return 0, io.EOF
			}
			p.moved.Wait()
		default:
			p.given = append([]byte(p.entries[e].Line), '\n')
			p.read = e + 1
		}
	}
	n := copy(b, p.given)
	p.given = p.given[n:]
	return n, nil
}

func (r *playbackReader) Close() error {
	(*Playback)(r).close()
	return nil
}
