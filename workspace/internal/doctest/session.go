//go:build unix

package doctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// defaultPort is the port that the documentation shows. A session replaces it by a free one, in commands and in
	// their output, so that a server that already runs on the machine is left alone.
	defaultPort = "38886"

	// commandTimeout bounds one command. Most take milliseconds; one that compiles on a cold cache takes minutes.
	commandTimeout = 3 * time.Minute

	// stopGrace is how long a background command may take to end after it was told to.
	stopGrace = 10 * time.Second
)

// Session runs the commands of one document, top to bottom, as a reader would in one terminal: the working directory,
// exported variables and background commands carry over. It begins in Root with a home directory of its own. Commands
// are read by sh, which every unix has.
type Session struct {
	Root      string            // working directory at the start
	Bin       string            // folder put first on the PATH
	Elsewhere map[string]string // commands that are not run here, with where they are proved

	home  string
	state string // sh code that brings back directory and variables
	port  string
	goEnv []string // the go command's caches and settings, which the session shares
	jobs  []*job
}

// job is a background command.
type job struct {
	cmd    *exec.Cmd
	output *output
	done   chan struct{} // closed when it has ended
}

// Run runs every command of the blocks and reports each that fails or prints something else. Blocks with file=PATH are
// saved on the way. home is an empty folder for the session.
func (s *Session) Run(ctx context.Context, home string, blocks []Block) (err error) {
	s.home, s.state = home, filepath.Join(home, ".session")
	if s.port, err = freePort(); err != nil {
		return err
	}
	if s.goEnv, err = goEnvironment(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(s.state, nil, 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	var problems []error
	for _, b := range blocks {
		if b.Save != "" {
			if out, err := s.shell(ctx, "cat > "+b.Save, b.Text); err != nil {
				problems = append(problems, fmt.Errorf("%s: save to %s: %w\n%s", b.Place(), b.Save, err, out))
			}
		}
		if b.Lang != "console" {
			continue
		}
		commands, err := b.Commands()
		if err != nil {
			problems = append(problems, err)
		}
		for _, c := range commands {
			if s.Elsewhere[c.Text] != "" {
				continue
			}
			if err := s.run(ctx, c); err != nil {
				problems = append(problems, fmt.Errorf("%s: $ %s\n%w", c.Place, c.Text, err))
			}
		}
	}
	return errors.Join(problems...)
}

func (s *Session) run(ctx context.Context, c Command) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	for i := range c.Want {
		c.Want[i] = s.local(c.Want[i])
	}
	if c.Background {
		return s.start(ctx, c)
	}
	text, killed := s.signals(c.Text)
	out, err := s.shell(ctx, s.local(text), "")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	for _, j := range killed {
		if err := j.wait(stopGrace); err != nil {
			return err
		}
	}
	if len(c.Want) > 0 && !Matches(c.Want, out) {
		return fmt.Errorf("shown:\n%s\nprinted:\n%s", strings.Join(c.Want, "\n"), out)
	}
	return nil
}

// shell runs one command in the session's shell state and returns what it wrote to stdout and stderr.
func (s *Session) shell(ctx context.Context, text, stdin string) (string, error) {
	script := ". \"$BB_DOC_STATE\"\n" + text + "\n" +
		"__status=$?\n{ export -p; echo 'cd \"$PWD\"'; } >\"$BB_DOC_STATE\"\nexit $__status\n"
	cmd := s.command(ctx, script)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &out
	err := cmd.Run()
	return out.String(), err
}

// start runs a command in the background and waits until it has printed what is shown.
func (s *Session) start(ctx context.Context, c Command) error {
	j := &job{output: newOutput(), done: make(chan struct{})}
	j.cmd = s.command(context.WithoutCancel(ctx), ". \"$BB_DOC_STATE\"\n"+s.local(c.Text)+"\n")
	j.cmd.Stdout, j.cmd.Stderr = j.output, j.output
	if err := j.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(j.done)
		_ = j.cmd.Wait() // how it ended is judged by what it printed
	}()
	s.jobs = append(s.jobs, j)
	for len(c.Want) > 0 && !Matches(c.Want, j.output.String()) {
		select {
		case <-j.output.written:
		case <-j.done:
			if Matches(c.Want, j.output.String()) {
				return nil
			}
			return fmt.Errorf("ended after printing:\n%s", j.output.String())
		case <-ctx.Done():
			return fmt.Errorf("shown:\n%s\nprinted until %v:\n%s", strings.Join(c.Want, "\n"), context.Cause(ctx), j.output.String())
		}
	}
	return nil
}

// command is sh in a process group of its own, with the session's environment.
func (s *Session) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = s.Root
	cmd.Env = s.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stopGrace
	return cmd
}

// environment is the machine's without what would let the outcome depend on who runs it.
func (s *Session) environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "BB_") && !strings.HasPrefix(name, "XDG_") {
			env = append(env, kv)
		}
	}
	return append(append(env, s.goEnv...),
		"HOME="+s.home, "PATH="+s.Bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"TERM=dumb", "NO_COLOR=1", "LC_ALL=C.UTF-8",
		"BB_DOC_STATE="+s.state, "BB_LISTEN=127.0.0.1:"+s.port, "BB_SERVER_URL=http://127.0.0.1:"+s.port)
}

// local puts the session's port in the place of the default one.
func (s *Session) local(text string) string {
	return strings.ReplaceAll(text, ":"+defaultPort, ":"+s.port)
}

var killJob = regexp.MustCompile(`\bkill((?: -\w+)?) %(\d+)`)

// signals translates `kill %1`, since each command runs in a shell of its own, and tells which jobs it ends.
func (s *Session) signals(text string) (string, []*job) {
	var killed []*job
	text = killJob.ReplaceAllStringFunc(text, func(match string) string {
		m := killJob.FindStringSubmatch(match)
		for i, j := range s.jobs {
			if fmt.Sprint(i+1) == m[2] {
				killed = append(killed, j)
				signal := m[1]
				if signal == "" {
					signal = " -TERM"
				}
				return fmt.Sprintf("kill%s -%d", signal, j.cmd.Process.Pid) // the whole process group
			}
		}
		return match
	})
	return text, killed
}

// stop ends what still runs in the background.
func (s *Session) stop() error {
	var problems []error
	for _, j := range s.jobs {
		_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGTERM) // it may have ended by itself
		if err := j.wait(stopGrace); err != nil {
			problems = append(problems, err, syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL))
			<-j.done
		}
	}
	return errors.Join(problems...)
}

func (j *job) wait(limit time.Duration) error {
	select {
	case <-j.done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("a background command did not end within %v; it printed:\n%s", limit, j.output.String())
	}
}

// output collects what a background command prints and tells when there is more.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{}
}

func newOutput() *output { return &output{written: make(chan struct{}, 1)} }

// Write adds to the output.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.written <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

// String is the output so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// goEnvironment spells out the settings that the go command would otherwise look for in the home directory.
func goEnvironment(ctx context.Context) ([]string, error) {
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOENV", "GOPROXY", "GOSUMDB", "GOFLAGS", "GOTOOLCHAIN"}
	out, err := exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	values := strings.Split(string(out), "\n")
	var env []string
	for i, name := range names {
		env = append(env, name+"="+values[i])
	}
	return env, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
