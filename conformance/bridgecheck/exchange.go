package bridgecheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

const (
	// maxLines and maxBytes bound what is kept of one process; a bridge that writes more than this during a check
	// floods, and is ended.
	maxLines = 50_000
	maxBytes = 64 << 20

	// queuedLines is how many lines wait for a bridge that does not read. The checks send fewer.
	queuedLines = 256

	// exitGrace is how long a process may take to end after its standard input is closed, when a check is over.
	exitGrace = 2 * time.Second
)

var (
	errEnded   = errors.New("the process ended")
	errFlood   = fmt.Errorf("the bridge floods: more than %d lines or %d MiB during one check", maxLines, maxBytes>>20)
	errTimeout = errors.New("nothing came in time")
)

// line is a line of an exchange, understood as far as possible.
type line struct {
	sent    bool
	at      time.Duration
	text    []byte
	msg     wire.Message
	dropped error   // why it is no message
	deltas  []delta // of a thread/delta
}

// exchange is one process of the bridge and every line to and from it.
type exchange struct {
	proc    *process.Process
	started time.Time
	respond func(wire.Message) []byte // the answer to a request of the bridge; nil leaves it open

	out    chan []byte
	ended  chan struct{} // closed when both goroutines are done
	closed chan struct{} // closed by close: the writer ends

	mu      sync.Mutex
	lines   []line
	bytes   int
	changed chan struct{} // closed and replaced when lines or over change
	over    error         // no more lines come
	nextID  int
}

// open starts a process and begins to keep its lines.
func open(ctx context.Context, o process.Options, respond func(wire.Message) []byte) (*exchange, error) {
	p, err := process.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	x := &exchange{
		proc: p, started: time.Now(), respond: respond,
		out: make(chan []byte, queuedLines), ended: make(chan struct{}), closed: make(chan struct{}), changed: make(chan struct{}),
	}
	var wg sync.WaitGroup
	wg.Go(x.read)
	wg.Go(x.write)
	go func() {
		wg.Wait()
		close(x.ended)
	}()
	return x, nil
}

// read keeps every line until the stream ends.
func (x *exchange) read() {
	r := wire.NewLineReader(x.proc.Stdout, wire.MaxLine)
	for {
		text, err := r.Next()
		var long *wire.LongLineError
		if err != nil && !errors.As(err, &long) {
			x.finish(errEnded)
			return
		}
		l := line{at: time.Since(x.started)}
		if long != nil {
			l.text, l.dropped = []byte(long.Start), long
		} else {
			l.text = bytes.Clone(text)
			if l.msg, err = wire.Parse(l.text); err != nil {
				l.dropped = err
			}
		}
		if l.msg.Kind == wire.NotificationKind && l.msg.Method == "thread/delta" {
			l.deltas = readDeltas(l.msg.Params)
		}
		if !x.keep(l) {
			x.finish(errFlood)
			x.proc.Kill()
			_, _ = io.Copy(io.Discard, x.proc.Stdout)
			return
		}
		if l.msg.Kind == wire.RequestKind {
			if answer := x.respond(l.msg); answer != nil {
				x.send(answer)
			}
		}
	}
}

// write sends what is queued until close.
func (x *exchange) write() {
	for {
		select {
		case text := <-x.out:
			if _, err := x.proc.Stdin.Write(append(text, '\n')); err != nil {
				return
			}
		case <-x.closed:
			return
		}
	}
}

// keep appends a line, unless that would be too much.
func (x *exchange) keep(l line) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over != nil {
		return true
	}
	if len(x.lines) >= maxLines || x.bytes+len(l.text) > maxBytes {
		return false
	}
	x.lines = append(x.lines, l)
	x.bytes += len(l.text)
	x.wake()
	return true
}

func (x *exchange) finish(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over == nil {
		x.over = why
		x.wake()
	}
}

func (x *exchange) wake() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// send queues a line for the bridge. What a bridge that has ended is sent goes nowhere: the wait that follows says so.
func (x *exchange) send(text []byte) {
	l := line{sent: true, at: time.Since(x.started), text: text}
	if msg, err := wire.Parse(text); err == nil {
		l.msg = msg
	}
	x.keep(l)
	select {
	case x.out <- text:
	default:
		x.finish(errors.New("the bridge does not read its standard input"))
	}
}

// request sends a request and returns its id.
func (x *exchange) request(method string, params any) wire.ID {
	x.mu.Lock()
	x.nextID++
	id := x.nextID
	x.mu.Unlock()
	return x.requestAs(wire.ID(fmt.Sprint(id)), method, params)
}

// requestAs is request under an id of the caller's.
func (x *exchange) requestAs(id wire.ID, method string, params any) wire.ID {
	x.send(encode(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params}))
	return id
}

// position is the index of the next line.
func (x *exchange) position() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.lines)
}

// all returns the lines so far. They are never changed.
func (x *exchange) all() []line {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lines[:len(x.lines):len(x.lines)]
}

// await returns the index of the first line of the bridge from index from on that matches. Lines that came before the
// end of the process count. A wait ends with errTimeout, with why no more lines come, or with ctx.
func (x *exchange) await(ctx context.Context, from int, timeout time.Duration, match func(*line) bool) (int, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		x.mu.Lock()
		lines, over, changed := x.lines, x.over, x.changed
		x.mu.Unlock()
		for ; from < len(lines); from++ {
			if !lines[from].sent && match(&lines[from]) {
				return from, nil
			}
		}
		if over != nil {
			return -1, over
		}
		select {
		case <-changed:
		case <-timer.C:
			return -1, errTimeout
		case <-ctx.Done():
			return -1, ctx.Err()
		}
	}
}

// drain waits until the bridge has closed its output, and reports whether it did within the time.
func (x *exchange) drain(ctx context.Context, timeout time.Duration) bool {
	_, err := x.await(ctx, x.position(), timeout, func(*line) bool { return false })
	return errors.Is(err, errEnded)
}

// exit says how the process ended, or "".
func (x *exchange) exit() string {
	select {
	case <-x.proc.Done():
		e, _ := x.proc.Wait(context.Background()) // it has ended
		return e.String()
	default:
		return ""
	}
}

// close ends the process and everything that belongs to it.
func (x *exchange) close() {
	close(x.closed)
	x.proc.Stop(context.Background(), exitGrace)
	<-x.ended
	_ = x.proc.Stdout.Close()
}

const (
	excerptLines = 8   // lines shown before and after a breach
	excerptBytes = 600 // bytes shown of each
)

// excerpt returns the lines around index at; a negative index is the end.
func (x *exchange) excerpt(at int) []Line {
	lines := x.all()
	if at < 0 || at >= len(lines) {
		at = len(lines) - 1
	}
	from, to := max(0, at-excerptLines), min(len(lines), at+excerptLines+1)
	shown := make([]Line, 0, max(0, to-from))
	for _, l := range lines[min(from, len(lines)):to] {
		shown = append(shown, Line{Sent: l.sent, AtMs: float64(l.at.Microseconds()) / 1000, Text: clip(l.text)})
	}
	return shown
}

// clip shortens foreign text to what is shown of it.
func clip(text []byte) string {
	rest := ""
	if len(text) > excerptBytes {
		text, rest = text[:excerptBytes], fmt.Sprintf("… (%d bytes)", len(text))
	}
	return strings.ToValidUTF8(string(text), "\uFFFD") + rest
}

// encode makes a line of a value of the kit's own.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // the values are the kit's, and the fixture's that was checked
		return fmt.Appendf(nil, `{"error":%q}`, err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// environment is base with the variables of extra in the place of those of the same name.
func environment(base []string, extra map[string]string) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := extra[name]
		return replaced
	})
	for name, value := range extra {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
