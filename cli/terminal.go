package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
)

// terminalOf finds out which files are a terminal.
func terminalOf(o Options) Terminal {
	if o.Terminal != nil {
		return *o.Terminal
	}
	fd := func(v any) (int, bool) {
		f, ok := v.(*os.File)
		if !ok {
			return 0, false
		}
		return int(f.Fd()), term.IsTerminal(int(f.Fd()))
	}
	var t Terminal
	in, isIn := fd(o.Stdin)
	out, isOut := fd(o.Stdout)
	_, t.Stderr = fd(o.Stderr)
	t.Stdin, t.Stdout = isIn, isOut
	if isOut {
		t.Width, _, _ = term.GetSize(out)
	}
	if isIn {
		t.ReadSecret = func() (string, error) {
			line, err := term.ReadPassword(in)
			return string(line), err
		}
	}
	return t
}

// echo returns a function that gives the terminal its echo back: a prompt for a secret that is interrupted does not do so
// itself.
func (a *app) echo() (restore func()) {
	f, ok := a.o.Stdin.(*os.File)
	if !ok {
		return func() {}
	}
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		return func() {}
	}
	return func() { _ = term.Restore(int(f.Fd()), state) } // there is nothing else to try
}

// width returns the columns to fit text to.
func (a *app) width() int {
	if n, err := strconv.Atoi(a.o.Env("COLUMNS")); err == nil && n > 0 {
		return min(max(n, kernelcontract.MinWidth), kernelcontract.MaxWidth)
	}
	if a.term.Width > 0 {
		return min(max(a.term.Width, kernelcontract.MinWidth), kernelcontract.MaxWidth)
	}
	return kernelcontract.DefaultWidth
}

// render says what text the server shall render. Where no screen is, nothing need be shortened to fit one.
func (a *app) render() kernelcontract.Render {
	r := kernelcontract.Render{Width: a.width(), TTY: a.term.Stdout, Color: a.color()}
	if !a.term.Stdout && a.o.Env("COLUMNS") == "" {
		r.Width = kernelcontract.MaxWidth
	}
	return r
}

func (a *app) color() bool {
	return a.term.Stdout && !a.globals.noColor && a.o.Env("NO_COLOR") == "" && a.o.Env("TERM") != "dumb"
}

// strip removes what a terminal would obey from text that the server sent, except the colours that were asked for.
func (a *app) strip(s string) string {
	if a.color() {
		return text.StripButColors(s)
	}
	return text.Strip(s)
}

// sink is an output that ends quietly when nobody reads it any more.
type sink struct {
	w      io.Writer
	stop   func() // called when the pipe is closed
	closed atomic.Bool
	err    error // any other failure
}

func (s *sink) Write(p []byte) (int, error) {
	if s.closed.Load() || s.err != nil {
		return len(p), nil // what follows is of no use
	}
	n, err := s.w.Write(p)
	switch {
	case err == nil:
	case isClosedPipe(err):
		s.closed.Store(true)
		s.stop()
	default:
		s.err = err
		s.stop()
	}
	return n, err
}

// watch ends everything when the output is a pipe that nobody reads any more, even while there is nothing to write. The
// function that it returns ends the watch.
func (s *sink) watch() (stop func()) {
	f, ok := s.w.(*os.File)
	if !ok {
		return func() {}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return func() {}
	}
	return watchPipe(f, func() {
		s.closed.Store(true)
		s.stop()
	})
}

// print writes text with exactly one line break at its end.
func (s *sink) print(text string) {
	_, _ = io.WriteString(s, strings.TrimRight(text, "\n")+"\n") // the sink keeps its failure
}

// What Windows says of a pipe that nobody reads: ERROR_BROKEN_PIPE and ERROR_NO_DATA.
const (
	windowsBrokenPipe = syscall.Errno(109)
	windowsNoData     = syscall.Errno(232)
)

func isClosedPipe(err error) bool {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		return true
	}
	return os.PathSeparator == '\\' && (errors.Is(err, windowsBrokenPipe) || errors.Is(err, windowsNoData))
}

// warnf prints a line on standard error.
func (a *app) warnf(format string, args ...any) {
	a.err.print("bb: " + text.Strip(fmt.Sprintf(format, args...)))
}

// MaxInput bounds what is read from a file or standard input for one value, in bytes: a call carries 1 MiB, and base64
// grows by a third.
const MaxInput = 1 << 20

// input is standard input. What was read stays at hand, so that a command line that is parsed again finds it.
type input struct {
	r     io.Reader
	lines *bufio.Reader
	all   []byte
	read  bool
}

// content reads all of it.
func (in *input) content(ctx context.Context) ([]byte, error) {
	if in.read {
		return in.all, nil
	}
	content, err := cancellable(ctx, func() ([]byte, error) { return readLimited(in.buffered(), "standard input") })
	if err == nil {
		in.all, in.read = content, true
	}
	return content, err
}

// line reads a line, without its end. An input that ends without one gives what there is.
func (in *input) line(ctx context.Context) (string, error) {
	r := in.buffered()
	return cancellable(ctx, func() (string, error) {
		var line []byte
		for len(line) < MaxInput {
			b, err := r.ReadByte()
			if err == io.EOF && len(line) > 0 || err == nil && b == '\n' {
				break
			}
			if err != nil {
				return "", err
			}
			line = append(line, b)
		}
		return strings.TrimSuffix(string(line), "\r"), nil
	})
}

func (in *input) buffered() *bufio.Reader {
	if in.lines == nil {
		in.lines = bufio.NewReader(in.r)
	}
	return in.lines
}

// readLimited reads at most MaxInput bytes.
func readLimited(r io.Reader, name string) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, MaxInput+1))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	if len(content) > MaxInput {
		return nil, fmt.Errorf("%s holds more than %d MiB, which is what a call carries", name, MaxInput>>20)
	}
	return content, nil
}

// cancellable waits for fn or for ctx. A read of a terminal cannot be cut short: when ctx ends first, the goroutine stays
// behind with nothing to do until the input ends, which an interrupted program does next.
func cancellable[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := fn()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// source reads what @path or - on the command line points to.
func (a *app) source(name string) ([]byte, error) {
	if name == "-" {
		return a.in.content(a.ctx)
	}
	f, err := os.Open(a.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f, name)
}

// secret asks for a value without echo, or reads it from standard input.
func (a *app) secret(ask string) (string, error) {
	if !a.term.Stdin {
		content, err := a.in.content(a.ctx)
		return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), err
	}
	_, _ = io.WriteString(a.err, ask) // the sink keeps its failure
	read := a.term.ReadSecret
	if read == nil {
		read = func() (string, error) { return a.in.line(a.ctx) }
	}
	restore := a.echo()
	value, err := cancellable(a.ctx, read)
	if a.ctx.Err() != nil {
		restore()
	}
	_, _ = io.WriteString(a.err, "\n")
	return value, err
}

// confirm asks y/N on the terminal.
func (a *app) confirm(question string) (bool, error) {
	_, _ = io.WriteString(a.err, text.Strip(question)+" [y/N] ")
	answer, err := a.in.line(a.ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
