package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func TestStop(t *testing.T) {
	quick := func(o *host.Options) { o.Timeouts.Shutdown = 100 * time.Millisecond }
	for name, tt := range map[string]struct {
		commands []string
		signal   bool // it had to be ended by a signal
	}{
		"shutdown is answered":                 {nil, false},
		"shutdown is answered and it stays":    {[]string{"on shutdown result {}", "on EOF sleep"}, true},
		"shutdown is answered and EOF ends it": {[]string{"on shutdown result {}"}, false},
		"shutdown is not answered":             {[]string{"on shutdown quiet", "on EOF sleep"}, true},
		"shutdown is not answered, but EOF is": {[]string{"on shutdown quiet"}, false},
		"shutdown is refused":                  {[]string{`on shutdown error {"code":-32000,"message":"no"}`}, false},
		"SIGTERM is ignored":                   {[]string{"deaf", "on shutdown sleep"}, true},
		"standard input is not read any more":  {[]string{"on thread/archive sleep"}, true},
		"it floods meanwhile":                  {[]string{"on shutdown junk 3000000"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			o := options(tt.commands...)
			quick(&o)
			switch {
			case strings.Contains(name, "but EOF is"):
				o.Timeouts.Shutdown = 3 * time.Second
			case !tt.signal:
				o.Timeouts.Shutdown = time.Minute
			}
			s := watch(&o)
			b := start(t, o)
			if strings.Contains(name, "not read") {
				ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
				defer cancel()
				b.ThreadArchive(ctx, ref("t1"))
			}
			is.NoErr(b.Stop(background))
			is.NoErr(b.Stop(background)) // again
			is.Equal(b.Exit().Exit.Signal != "", tt.signal)
			is.True(b.Exit().Stopped)
			s.wait(t, "exit")
			gone(t, b.PID())
		})
	}
	t.Run("calls after it are refused", func(t *testing.T) {
		is := is.New(t)
		o := options("on shutdown result {}", "on EOF sleep")
		b := start(t, o)
		stopped := make(chan error)
		ctx, cancel := context.WithCancel(background)
		go func() { stopped <- b.Stop(ctx) }()
		until(t, func() bool {
			_, err := b.ModelList(background, provider)
			return errors.Is(err, host.ErrStopping)
		})
		cancel() // kills at once
		is.True(errors.Is(<-stopped, context.Canceled))
		gone(t, b.PID())
		<-b.Done()
	})
	t.Run("kill", func(t *testing.T) {
		is := is.New(t)
		o := options("deaf", "on model/list quiet")
		b := start(t, o)
		failed := make(chan error)
		go func() {
			_, err := b.ModelList(background, provider)
			failed <- err
		}()
		is.Equal(b.Exit(), nil)
		b.Kill()
		err := <-failed
		is.True(errors.Is(err, host.ErrExited) || errors.Is(err, host.ErrStopping))
		<-b.Done()
		is.True(b.Exit().Exit.Signal != "")
		b.Kill()
	})
	t.Run("concurrently", func(t *testing.T) {
		o := options()
		b := start(t, o)
		for range 4 {
			go b.Stop(background)
			go b.Kill()
		}
		<-b.Done()
	})
	t.Run("while the reader is held back", func(t *testing.T) {
		is := is.New(t)
		o := options()
		quick(&o)
		release := make(chan struct{})
		held := make(chan struct{})
		o.Handler.Raw = func(protocol.RawParams) {
			close(held)
			<-release
		}
		b := start(t, o)
		begin(t, b, "t1")
		go b.TurnStart(background, turn("t1", notification("provider/raw", `{"threadId":null,"coverage":"noise","payload":1}`), "quiet"))
		<-held
		ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
		defer cancel()
		is.True(b.Stop(ctx) != nil)
		gone(t, b.PID())
		close(release)
		<-b.Done()
	})
}

func TestDeath(t *testing.T) {
	t.Run("closes standard output and lives on", func(t *testing.T) {
		is := is.New(t)
		o := options("on EOF exit 5", "on model/list quiet", "on model/list close")
		b := start(t, o)
		_, err := b.ModelList(background, provider)
		var exit *host.ExitError
		is.True(errors.As(err, &exit))
		is.Equal(exit.Exit.Code, 5) // its standard input was closed
		<-b.Done()
	})
	t.Run("a grandchild holds the pipes", func(t *testing.T) {
		is := is.New(t)
		o := options("hold", "on model/list exit 6")
		s := watch(&o)
		b := start(t, o)
		_, err := b.ModelList(background, provider)
		is.True(errors.Is(err, host.ErrExited))
		is.Equal(b.Exit().Exit.Code, 6)
		<-b.Done()
		line := s.wait(t, "got")
		pid, err := strconv.Atoi(line[strings.LastIndex(line, " ")+1:])
		is.NoErr(err)
		gone(t, pid)
	})
	t.Run("10 MiB of standard error", func(t *testing.T) {
		is := is.New(t)
		o := options("stderr 10485760")
		b := start(t, o)
		is.NoErr(b.Stop(background))
		is.Equal(len(b.Exit().Stderr), 64<<10)
		is.Equal(len(b.Stderr()), 64<<10)
		is.True(len(b.Exit().Error()) < 4<<10)
	})
	t.Run("never reads", func(t *testing.T) {
		is := is.New(t)
		o := options("on model/list sleep")
		b := start(t, o)
		p := provider
		p.Extra = protocol.Extra{"x": []byte(`"` + strings.Repeat("x", 4<<20) + `"`)}
		ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
		defer cancel()
		_, err := b.ModelList(ctx, provider)
		is.True(errors.Is(err, context.DeadlineExceeded))
		ctx, cancel = context.WithTimeout(background, 50*time.Millisecond)
		defer cancel()
		_, err = b.ModelList(ctx, p) // more than a pipe holds
		is.True(errors.Is(err, context.DeadlineExceeded))
		b.Kill()
		<-b.Done()
	})
}

// TestNothingStays starts and ends bridges in every way, and counts what is left.
func TestNothingStays(t *testing.T) {
	is := is.New(t)
	once := func() {
		o := options("hold")
		asked := answerer(&o, watch(&o))
		b, err := host.Start(background, o)
		is.NoErr(err)
		begin(t, b, "t1")
		do(t, b, "t1", question("1", "k1", threadScope))
		<-asked
		is.NoErr(b.Stop(background))

		b, err = host.Start(background, options("on model/list exit 1"))
		is.NoErr(err)
		b.ModelList(background, provider)
		<-b.Done()

		b, err = host.Start(background, options())
		is.NoErr(err)
		b.Kill()
		<-b.Done()

		_, err = host.Start(background, options("exit 1"))
		is.True(err != nil)
	}
	once()
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	once()
	until(t, func() bool { return runtime.NumGoroutine() <= goroutines && openFiles(t) <= files })
}

// openFiles counts the open files of this process where the system tells.
func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// until polls for a condition.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not come about")
		}
	}
}

// gone waits until there is no such process, or only what its parent has not waited for.
func gone(t *testing.T, pid int) {
	t.Helper()
	until(t, func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if runtime.GOOS == "linux" {
			return err != nil || strings.Contains(string(stat), ") Z ")
		}
		p, err := os.FindProcess(pid)
		return err != nil || p.Signal(syscall.Signal(0)) != nil
	})
}

func TestRecording(t *testing.T) {
	is := is.New(t)
	o := options()
	o.RecordDir = t.TempDir()
	b := start(t, o)
	begin(t, b, "t1")
	do(t, b, "t1", deltas(turnOpen))
	is.NoErr(b.Stop(background))
	for _, lane := range []string{"core-to-bridge", "bridge-to-core"} {
		raw, err := os.ReadFile(filepath.Join(o.RecordDir, "puppet", "t1", lane+".ndjson"))
		is.NoErr(err)
		is.True(strings.Contains(string(raw), "thread/"))
		_, err = os.Stat(filepath.Join(o.RecordDir, "puppet", "_process", lane+".ndjson"))
		is.NoErr(err)
	}
}
