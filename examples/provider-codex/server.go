package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

const (
	// maxServerLine is the longest line that an app-server may send: room for images in base64.
	maxServerLine = 32 << 20
	// exitGrace is how long an app-server has from the end of its input to being terminated: enough to save a thread.
	exitGrace = time.Second
	// maxEnd bounds its end: the grace, and that of process.TermGrace.
	maxEnd = exitGrace + process.TermGrace + time.Second
	// handshakeTimeout is for a program that starts and says nothing; Codex answers within a second.
	handshakeTimeout = 10 * time.Second
	// maxLastWords is how much of standard error is shown when it dies: the end of a stack trace.
	maxLastWords = 2 << 10
	// maxDropLogs is how many lines that are no messages are logged: a program that prints them prints many.
	maxDropLogs = 20
)

// server is a running app-server.
type server struct {
	proc   *record.Agent
	peer   *wire.Peer
	about  schema.InitializeResult
	kill   context.CancelFunc
	gone   chan struct{} // closed when the process and all that it started have ended
	exit   process.Exit  // once gone
	broken atomic.Pointer[string]
	hidden []string // values of its environment that nobody may read
}

// launch is how an app-server is started.
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

// launch starts an app-server, which ends with the context at the latest, and shakes hands with it.
func (p *provider) launch(ctx context.Context, l launch) (*server, error) {
	command := append(append([]string{}, l.command...), "app-server")
	proc, err := record.Child(ctx, record.ChildOptions{ProviderID: l.providerID, ThreadID: l.threadID,
		Process: process.Options{Command: command, Dir: l.dir, Env: l.env}})
	if err != nil {
		return nil, missing(err)
	}
	a := &server{proc: proc, gone: make(chan struct{}), hidden: secrets(l.env)}
	dropped := 0
	a.peer = wire.NewPeer(&versioned{in: proc.Stdout}, proc.Stdin, wire.Options{Request: l.request, Notify: l.notify, MaxLine: maxServerLine,
		Dropped: func(err *wire.DroppedError) {
			switch {
			case err.Reason == wire.OverLong: // what it said is lost, and with it perhaps the end of the turn
				a.breaks(fmt.Sprintf("Codex sent a line of more than %d MiB", maxServerLine>>20))
			case err.Reason == wire.LateResponse:
			default:
				if dropped++; dropped <= maxDropLogs { // on the goroutine that reads
					l.log("a line of Codex is no message: " + string(err.Reason))
				}
			}
		}})
	var life context.Context
	life, a.kill = context.WithCancel(ctx)
	p.work.Add(1)
	go func() {
		defer p.work.Done()
		a.attend(life, p.ending)
	}()
	hello, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	err = a.call(hello, schema.Initialize, schema.InitializeParams{ClientInfo: schema.Client{Name: "bb", Title: "bb", Version: "0.1.0"},
		Capabilities: schema.Capabilities{ExperimentalAPI: true}}, &a.about)
	if err == nil {
		err = a.peer.Notify(hello, schema.Initialized, nil)
	}
	if err != nil {
		a.end()
		if hello.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("it said nothing for %s", handshakeTimeout)
		}
		return nil, fmt.Errorf("%s does not serve as app-server of Codex: %w", l.command[0], err)
	}
	return a, nil
}

// missing tells how to install a program that is not there.
func missing(err error) error {
	var notFound *process.NotFoundError
	if !errors.As(err, &notFound) {
		return err
	}
	return protocol.MissingExecutable.Errorf("%w; install Codex with npm install -g %s, see %s, or name the program in the bridge option command", err, npmPackage, installURL)
}

// attend reads what the app-server says until it ends, or its life does, and then ends everything that it started.
func (a *server) attend(life, ending context.Context) {
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

// end ends the app-server and waits until it has ended.
func (a *server) end() {
	a.kill()
	<-a.gone
}

// breaks ends an app-server that cannot be understood any longer.
func (a *server) breaks(why string) {
	a.broken.CompareAndSwap(nil, &why)
	a.kill()
}

// call asks the app-server for something and reads its answer into result.
func (a *server) call(ctx context.Context, method string, params, result any) error {
	raw, err := a.peer.Call(ctx, method, params)
	var answer *wire.Error
	if errors.As(err, &answer) {
		return &wire.Error{Code: answer.Code, Message: cut(a.hide(answer.Message), maxLastWords)} // what else is in it may be anything
	}
	if err != nil {
		return a.explain(ctx, err)
	}
	if result == nil || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("the answer of Codex to %s makes no sense: %w", method, err)
	}
	return nil
}

// deathError says how an app-server ended that should not have.
type deathError struct{ message string }

func (e *deathError) Error() string { return e.message }

// explain turns the end of the connection into what is known about the end of the app-server.
func (a *server) explain(ctx context.Context, err error) error {
	if !errors.Is(err, wire.ErrClosed) && a.alive() || ctx.Err() != nil {
		return err
	}
	select {
	case <-a.gone:
	case <-ctx.Done():
		return err
	}
	return a.death()
}

// death says how the app-server ended, once it is gone, with what it wrote last and without secrets.
func (a *server) death() error {
	if why := a.broken.Load(); why != nil {
		return &deathError{*why + ", and was ended"}
	}
	message := fmt.Sprintf("Codex %s", a.exit)
	if words := a.hide(lastWords(a.proc.Stderr())); words != "" {
		message += ": " + words
	}
	return &deathError{message}
}

// alive tells whether the app-server has not ended.
func (a *server) alive() bool {
	select {
	case <-a.gone:
		return false
	default:
		return true
	}
}

// hide takes out of a text what looks like a credential, and those of the environment.
func (a *server) hide(text string) string {
	for _, secret := range a.hidden {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return hideKeys(text)
}

// secrets are the values of an environment under names of secrets, those that are too short to be one excepted.
func secrets(environ []string) (values []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if len(value) >= minSecret && secretName.MatchString(name) {
			values = append(values, value)
		}
	}
	return values
}

// minSecret is the shortest value that is taken for a secret, as in recordings.
const minSecret = 8

var secretName = regexp.MustCompile(`KEY|TOKEN|SECRET|PASSWORD`)

// version is Codex's version, from the agent that it is towards its model: "bb/0.171.0 (Debian …".
func (a *server) version() string {
	_, rest, _ := strings.Cut(a.about.UserAgent, "/")
	version, _, _ := strings.Cut(rest, " ")
	return version
}

// lastWords is the end of a standard error, in whole lines when it has any, without colours.
func lastWords(stderr []byte) string {
	if len(stderr) > maxLastWords {
		stderr = stderr[len(stderr)-maxLastWords:]
		if i := bytes.IndexByte(stderr, '\n'); i >= 0 {
			stderr = stderr[i+1:]
		}
	}
	return strings.TrimSpace(withoutColours(valid(string(stderr))))
}

// versioned puts the member jsonrpc, which Codex leaves out, in front of each object of a stream of lines.
type versioned struct {
	in     io.ReadCloser
	inLine bool   // something of the line has been passed on
	held   []byte // the start of a line, as long as it is too short to tell
	ready  []byte // to be handed out, behind what has been
	out    int    // how much of it has been
	err    error
}

const (
	versionMember = `{"jsonrpc"`
	versionInsert = `{"jsonrpc":"2.0",`
)

func (v *versioned) Read(b []byte) (int, error) {
	for v.out == len(v.ready) && v.err == nil {
		n, err := v.in.Read(b)
		v.take(b[:n])
		if v.err = err; err != nil {
			v.ready = append(v.ready, v.held...) // the beginning of a line that was cut off
			v.held = nil
		}
	}
	n := copy(b, v.ready[v.out:])
	v.out += n
	if n == 0 && len(b) > 0 {
		return 0, v.err
	}
	return n, nil
}

// take works on a piece of the stream.
func (v *versioned) take(piece []byte) {
	v.ready, v.out = v.ready[:0], 0
	for len(piece) > 0 {
		if v.inLine {
			end := bytes.IndexByte(piece, '\n')
			if end < 0 {
				v.ready = append(v.ready, piece...)
				return
			}
			v.ready = append(v.ready, piece[:end+1]...)
			piece, v.inLine = piece[end+1:], false
			continue
		}
		v.held = append(v.held, piece[0])
		last := piece[0]
		piece = piece[1:]
		switch text := string(v.held); {
		case text == versionMember, last == '\n', text[0] != '{', text == "{}":
			v.ready = append(v.ready, text...)
		case strings.HasPrefix(versionMember, text):
			continue
		default:
			v.ready = append(append(v.ready, versionInsert...), text[1:]...)
		}
		v.held, v.inLine = v.held[:0], last != '\n'
	}
}

// Close closes the stream.
func (v *versioned) Close() error { return v.in.Close() }
