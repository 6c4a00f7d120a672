// Package process runs one child process and everything that it starts as a group that can be ended whole: a provider
// bridge, an agent, a plugin.
//
// The child gets pipes for its standard streams. Its standard error is always read, and the end of it is kept to be
// shown when the child dies. Stop asks first: it closes the child's standard input, then terminates the group, then
// kills it. When the first process of the group has exited, the rest is killed. On Linux the group's first process dies
// with this process, whatever ends it; on Windows all of it does. See docs/spec/bridges-process.md.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

const (
	// StderrLimit is how much of the end of standard error is kept by default, in bytes: the last words of a program,
	// without the noise before.
	StderrLimit = 64 << 10
	// TermGrace is how long a group has between the request to terminate and being killed.
	TermGrace = 2 * time.Second
	// drainGrace is how long a pipe may bring nothing after the exit before it counts as ended: something outside of the
	// group holds it open.
	drainGrace = 200 * time.Millisecond
)

// Options says what to start.
type Options struct {
	Command []string // the program and its arguments; a name without a slash is looked for in this process's PATH
	Dir     string   // the working directory; "" is this process's
	Env     []string // the whole environment, as KEY=value; nil is an empty one
	// StderrLimit is how many of the last bytes of standard error are kept; 0 means the constant.
	StderrLimit int
	// OnStderr is called with what the child writes to standard error, as it comes, on a goroutine of the Process. The
	// bytes are valid during the call. It is not called again after a panic, which is contained.
	OnStderr func(chunk []byte)
}

// NotFoundError says that there is no such program, or that it may not be run.
type NotFoundError struct {
	Name string // as it was asked for
	Err  error
}

// Error names the program and what to do.
func (e *NotFoundError) Error() string {
	if errors.Is(e.Err, fs.ErrPermission) {
		return fmt.Sprintf("cannot start %q: %v; make the file executable, or give another", e.Name, e.Err)
	}
	return fmt.Sprintf("cannot start %q: %v; install it, put it on the PATH, or give its full path", e.Name, e.Err)
}

// Unwrap returns the cause, such as exec.ErrNotFound.
func (e *NotFoundError) Unwrap() error { return e.Err }

// Exit is how a process ended.
type Exit struct {
	Code   int    // its status; -1 when a signal ended it
	Signal string // the name of that signal, "" for none
}

// String says it in words, such as "exited with status 3".
func (e Exit) String() string {
	if e.Signal != "" {
		return "ended by signal: " + e.Signal
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// Process is a running child, or one that has ended. Its methods are safe for concurrent use.
type Process struct {
	// Stdin is the child's standard input. It has SetWriteDeadline. Closing it is the request to end.
	Stdin *Writer
	// Stdout is the child's standard output. It ends with what the group wrote before it ended, also when something outside
	// of the group holds the pipe open. Close it when no more of it is wanted.
	Stdout *Reader

	cmd    *exec.Cmd
	group  group
	stderr *tail
	done   chan struct{} // closed when exit is known and everything of the group is gone
	exit   Exit

	mu     sync.Mutex
	reaped bool // the group must not be signalled any more: its number may be another's
}

// Start starts the child. The context only bounds the start. The caller owns the process until it has ended: call Stop,
// or Kill and Wait. A program that does not exist is a *NotFoundError.
func Start(ctx context.Context, o Options) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, errors.New("process: the command is empty: name the program to start")
	}
	if o.Dir != "" {
		if info, err := os.Stat(o.Dir); err != nil {
			return nil, fmt.Errorf("process: the working directory of %q: %w", o.Command[0], err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("process: the working directory of %q: %s is no directory", o.Command[0], o.Dir)
		}
	}
	if o.StderrLimit <= 0 {
		o.StderrLimit = StderrLimit
	}
	var pipes pipes
	if err := pipes.open(); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Dir = o.Dir
	cmd.Env = o.Env
	if o.Env == nil {
		cmd.Env = []string{}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.childIn, pipes.childOut, pipes.childErr
	p := &Process{
		Stdin: &Writer{pipes.in}, Stdout: &Reader{f: pipes.out},
		cmd: cmd, stderr: &tail{limit: o.StderrLimit}, done: make(chan struct{}),
	}
	started := make(chan error)
	go p.run(started, pipes, o.OnStderr)
	if err := <-started; err != nil {
		pipes.closeParent()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil, &NotFoundError{Name: o.Command[0], Err: err}
		}
		return nil, fmt.Errorf("process: cannot start %q: %w", o.Command[0], err)
	}
	return p, nil
}

// run starts the child, waits for it and cleans up behind it. It keeps its thread: on Linux the child dies with the
// thread that started it.
func (p *Process) run(started chan<- error, pipes pipes, onStderr func([]byte)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.group.start(p.cmd)
	pipes.closeChild()
	started <- err
	if err != nil {
		return
	}
	stderr := &Reader{f: pipes.err}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.drain(stderr, onStderr)
	}()

	p.group.awaitExit(p.cmd)
	p.mu.Lock()
	p.group.kill(p.cmd)
	p.cmd.Wait() // has no effect where awaitExit reaped
	p.reaped = true
	p.mu.Unlock()
	p.group.close()
	p.Stdin.Close()
	p.exit = exitOf(p.cmd.ProcessState)
	p.Stdout.exited()
	stderr.exited()
	<-drained
	pipes.err.Close()
	close(p.done)
}

// drain reads standard error to its end.
func (p *Process) drain(r io.Reader, onStderr func([]byte)) {
	chunk := make([]byte, 16<<10)
	for {
		n, err := r.Read(chunk)
		if n > 0 {
			p.stderr.write(chunk[:n])
			if onStderr != nil && !contained(onStderr, chunk[:n]) {
				onStderr = nil
			}
		}
		if err != nil {
			return
		}
	}
}

// contained calls a function of the caller and tells whether it returned.
func contained(f func([]byte), chunk []byte) (returned bool) {
	defer func() { _ = recover() }()
	f(chunk)
	return true
}

// PID returns the number of the group's first process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the last bytes that the child wrote to standard error.
func (p *Process) Stderr() []byte { return p.stderr.bytes() }

// Done is closed when the child has ended, its group is gone and its standard error is read. Standard output may hold
// more.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end and tells how it was.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// Stop ends the child: it closes its standard input and gives it grace to exit, then terminates the group, and kills it
// after TermGrace, or as soon as ctx ends. It returns when the group is gone. Further calls wait for the same end.
func (p *Process) Stop(ctx context.Context, grace time.Duration) Exit {
	p.Stdin.Close()
	if p.ended(ctx, grace) {
		return p.exit
	}
	p.signal(p.group.terminate)
	if p.ended(ctx, TermGrace) {
		return p.exit
	}
	p.Kill()
	<-p.done
	return p.exit
}

// ended waits for the end for at most d.
func (p *Process) ended(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// Kill kills the whole group. It does not wait.
func (p *Process) Kill() { p.signal(p.group.kill) }

func (p *Process) signal(send func(*exec.Cmd)) {
	select {
	case <-p.done:
		return
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		send(p.cmd)
	}
}
