package acp

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

const (
	// maxTerminals is how many terminals a session may have at once: agents forget to release them.
	maxTerminals = 64
	// maxTerminalOutput is how much output a terminal keeps, its end, whatever the agent asks for.
	maxTerminalOutput = 1 << 20
)

// terminal is a program that the agent runs through the bridge, in a process group of its own.
type terminal struct {
	line, dir string // its command line and working directory
	proc      *process.Process
	limit     int
	exited    chan struct{} // closed when the group is gone and its output read
	shownBy   *call         // the open call that shows it; under the mutex of the session

	mu        sync.Mutex
	output    []byte
	truncated bool
	exit      *process.Exit
}

// createTerminal answers terminal/create.
func (s *Session) createTerminal(p schema.TerminalParams) (any, error) {
	command := append([]string{p.Command}, p.Args...)
	t := &terminal{line: strings.Join(command, " "), dir: s.params.Cwd, limit: maxTerminalOutput, exited: make(chan struct{})}
	if _, err := exec.LookPath(p.Command); err != nil && len(p.Args) == 0 { // many agents send a line for the shell
		command = []string{"sh", "-c", p.Command}
		if runtime.GOOS == "windows" {
			command = []string{"cmd", "/C", p.Command}
		}
	}
	if p.Cwd != nil && *p.Cwd != "" {
		t.dir = s.path(*p.Cwd)
	}
	if n := p.OutputByteLimit; n != nil && *n >= 0 && *n < t.limit {
		t.limit = *n
	}
	env := map[string]string{}
	for _, v := range p.Env {
		env[v.Name] = v.Value
	}
	if err := checkEnv("env", env); err != nil {
		return nil, &wire.Error{Code: schema.CodeInvalidParams, Message: err.Error()}
	}
	s.mu.Lock()
	full := len(s.terminals) >= maxTerminals
	s.mu.Unlock()
	if full || s.ctx.Err() != nil {
		return nil, &wire.Error{Code: schema.CodeInternal, Message: "there are too many terminals: release those that are done"}
	}
	var err error
	t.proc, err = process.Start(s.ctx, process.Options{Command: command, Dir: t.dir, Env: withEnv(s.p.environ(s.config, s.params.Env), env),
		OnStderr: func(chunk []byte) { s.printed(t, chunk) }})
	if err != nil {
		return nil, &wire.Error{Code: schema.CodeInvalidParams, Message: err.Error()}
	}
	t.proc.Stdin.Close() // nobody types
	s.mu.Lock()
	id := s.name("terminal")
	s.terminals[id] = t
	if s.ended {
		t.kill()
	}
	s.mu.Unlock()
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		s.follow(t)
	}()
	return map[string]string{"terminalId": id}, nil
}

// follow reads what the program prints until it has ended, or the session has.
func (s *Session) follow(t *terminal) {
	defer context.AfterFunc(s.ctx, t.kill)()
	chunk := make([]byte, 32<<10)
	for {
		n, err := t.proc.Stdout.Read(chunk)
		s.printed(t, chunk[:n])
		if err != nil {
			if err != io.EOF {
				t.kill()
			}
			break
		}
	}
	exit, _ := t.proc.Wait(context.WithoutCancel(s.ctx)) // it ends with its output, or is killed with the session
	t.mu.Lock()
	t.exit = &exit
	t.mu.Unlock()
	close(t.exited)
}

// printed takes output, and shows it in the call that shows the terminal.
func (s *Session) printed(t *terminal, chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	t.mu.Lock()
	t.output = append(t.output, chunk...)
	if over := len(t.output) - t.limit; over > 0 {
		t.truncated = true
		for over < len(t.output) && t.output[over]&0xC0 == 0x80 { // not within a character
			over++
		}
		t.output = append(t.output[:0], t.output[over:]...)
	}
	t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := t.shownBy; c != nil && s.turn != nil && !s.turn.stopping && c.opened && !c.closed {
		s.turn.send(c.stream(s.turn)...)
	}
}

// shown is the output that is kept, in whole characters, and whether some is missing in front of it.
func (t *terminal) shown() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	output := t.output
	if t.exit == nil { // the rest of the last character may be on its way
		for back := 1; back <= min(utf8.UTFMax, len(output)); back++ {
			if end := output[len(output)-back:]; utf8.RuneStart(end[0]) {
				if !utf8.FullRune(end) {
					output = output[:len(output)-back]
				}
				break
			}
		}
	}
	return strings.ToValidUTF8(string(output), "\uFFFD"), t.truncated
}

// status is how the program ended, nil while it runs.
func (t *terminal) status() *schema.ExitStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.exit == nil:
		return nil
	case t.exit.Signal != "":
		return &schema.ExitStatus{Signal: protocol.Ptr(t.exit.Signal)}
	}
	return &schema.ExitStatus{ExitCode: protocol.Ptr(t.exit.Code)}
}

func (t *terminal) kill() { t.proc.Kill() }

// find finds a terminal by its id.
func (s *Session) find(id string) (*terminal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.terminals[id]; t != nil {
		return t, nil
	}
	return nil, &wire.Error{Code: schema.CodeResourceNotFound, Message: "there is no terminal " + cut(id, maxShown)}
}

// terminalOutput answers terminal/output.
func (s *Session) terminalOutput(p schema.TerminalParams) (any, error) {
	t, err := s.find(p.TerminalID)
	if err != nil {
		return nil, err
	}
	status := t.status() // first: output behind an end would look complete
	text, truncated := t.shown()
	return schema.TerminalOutputResult{Output: text, Truncated: truncated, ExitStatus: status}, nil
}

// killTerminal answers terminal/kill.
func (s *Session) killTerminal(p schema.TerminalParams) (any, error) {
	t, err := s.find(p.TerminalID)
	if err != nil {
		return nil, err
	}
	t.kill()
	return struct{}{}, nil
}

// releaseTerminal answers terminal/release. Calls that show the terminal keep what it printed.
func (s *Session) releaseTerminal(p schema.TerminalParams) (any, error) {
	t, err := s.find(p.TerminalID)
	if err != nil {
		return nil, err
	}
	t.kill()
	<-t.exited
	s.mu.Lock()
	delete(s.terminals, p.TerminalID)
	s.mu.Unlock()
	return struct{}{}, nil
}

// waitTerminal answers terminal/wait_for_exit when the program has ended. Waiting takes none of the slots of a session.
func (s *Session) waitTerminal(ctx context.Context, r *wire.Request) {
	var p schema.TerminalParams
	err := json.Unmarshal(r.Params, &p)
	if err != nil {
		s.answer(r, nil, &wire.Error{Code: schema.CodeInvalidParams, Message: err.Error()})
		return
	}
	t, err := s.find(p.TerminalID)
	if err != nil {
		s.answer(r, nil, err)
		return
	}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		select {
		case <-t.exited:
			s.reply(r, t.status(), nil)
		case <-ctx.Done(): // the agent is gone
		}
	}()
}
