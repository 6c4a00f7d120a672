package isolate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/bundles/internal/isolate"
	"github.com/bb-kernel/bb/kernelcore/bundles/internal/screen"
	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// guest builds the module of testdata/guest, once.
var guest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	m, err := screen.Screen(raw)
	if err != nil {
		return nil, err
	}
	return m.Code, nil
})

// rig is a pool with the guest in it.
type rig struct {
	t    *testing.T
	pool *isolate.Pool
	mu   sync.Mutex
	logs int
}

func start(t *testing.T) *rig {
	r := &rig{t: t}
	e, err := isolate.New(isolate.Options{CacheDir: cacheDir, Log: func(_ string, _ uint32, text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.logs += len(text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	r.pool = isolate.NewPool(e)
	return r
}

// cacheDir is where the tests share what they compile.
var cacheDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "isolate")
	if err != nil {
		panic(err)
	}
	cacheDir = filepath.Join(dir, "cache")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// host answers every call as a store does that has nothing.
func host(_ context.Context, frame []byte) ([]byte, error) {
	var c abi.Call
	if _, err := abi.Split(frame, &c); err != nil {
		return nil, err
	}
	if c.Op == abi.KVGet {
		return abi.Append(nil, abi.Result{Error: &abi.Error{Code: abi.NotFound, Message: "no " + c.Key}}, nil)
	}
	return abi.Append(nil, abi.Result{}, nil)
}

// post calls a route of the guest.
func (r *rig) post(ctx context.Context, agent, path string, body []byte, fresh bool) (abi.Response, []byte, error) {
	frame, err := abi.Append(nil, abi.Request{Kind: abi.HTTP, AgentID: agent, CapabilityID: "guest", Method: "POST", Route: path, Path: path, Token: "t",
		Query: map[string][]string{"key": {"k"}}}, body)
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := r.pool.Dispatch(ctx, isolate.Target{AgentID: agent, Version: "v1", Code: guest, Fresh: fresh}, frame, host)
	if err != nil {
		return abi.Response{}, nil, err
	}
	var res abi.Response
	rest, err := abi.Split(out, &res)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, rest, nil
}

func TestDispatch(t *testing.T) {
	r := start(t)
	t.Run("echo", func(t *testing.T) {
		is := is.New(t)
		for _, size := range []int{0, 1, 1 << 10, 256 << 10, 1 << 20} {
			body := bytes.Repeat([]byte("x"), size)
			res, got, err := r.post(t.Context(), "a1", "/echo", body, false)
			is.NoErr(err)
			is.True(res.Error == nil)
			is.True(bytes.Equal(got, body))
		}
	})
	t.Run("an error of the host has its code", func(t *testing.T) {
		is := is.New(t)
		res, _, err := r.post(t.Context(), "a1", "/kv", nil, false)
		is.NoErr(err)
		is.Equal(res.Error.Code, abi.NotFound)
		is.Equal(res.Error.Message, "no k")
	})
	t.Run("a panic is an error", func(t *testing.T) {
		is := is.New(t)
		res, _, err := r.post(t.Context(), "a1", "/panic", nil, false)
		is.NoErr(err)
		is.True(res.Error.Panicked)
	})
	t.Run("the probe tells the metadata", func(t *testing.T) {
		is := is.New(t)
		frame, err := abi.Append(nil, abi.Request{Kind: abi.Probe}, nil)
		is.NoErr(err)
		out, err := r.pool.Dispatch(t.Context(), isolate.Target{AgentID: "p", Version: "v1", Code: guest, Fresh: true}, frame, host)
		is.NoErr(err)
		var res abi.Response
		_, err = abi.Split(out, &res)
		is.NoErr(err)
		is.Equal(res.Metadata.Name, "guest")
		is.NoErr(res.Metadata.Check())
	})
	t.Run("the time is real", func(t *testing.T) {
		is := is.New(t)
		_, got, err := r.post(t.Context(), "a1", "/time", nil, false)
		is.NoErr(err)
		var now time.Time
		is.NoErr(json.Unmarshal(got, &now))
		is.True(time.Since(now).Abs() < time.Minute)
	})
	t.Run("there are no files, variables and arguments", func(t *testing.T) {
		is := is.New(t)
		_, got, err := r.post(t.Context(), "a1", "/files", nil, false)
		is.NoErr(err)
		is.True(strings.HasSuffix(string(got), " [] 0"))
		is.True(!strings.HasPrefix(string(got), "<nil>"))
	})
	t.Run("output counts as log and is bounded", func(t *testing.T) {
		is := is.New(t)
		_, got, err := r.post(t.Context(), "a1", "/stdout", nil, false)
		is.NoErr(err)
		is.Equal(string(got), "said")
		is.Equal(r.logs, abi.MaxLog)
	})
}

// What a guest does wrong ends it, within the deadline, and the next call is answered.
func TestHostileGuest(t *testing.T) {
	r := start(t)
	for path, want := range map[string]string{
		"/loop": "deadline", "/sleep": "deadline", "/deadlock": "", "/gopanic": "trap", "/exit": "it exited with code 3",
		"/grow": "trap", "/recursion": "", "/calls": fmt.Sprintf("the host was called more than %d times", isolate.MaxCalls), "/big": "over",
	} {
		t.Run(path, func(t *testing.T) {
			is := is.New(t)
			agent := "hostile" + path
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			begin := time.Now()
			_, _, err := r.post(ctx, agent, path, nil, false)
			is.True(err != nil)
			is.True(time.Since(begin) < 20*time.Second)
			var trap *isolate.TrapError
			switch want {
			case "deadline":
				is.True(errors.Is(err, context.DeadlineExceeded))
			case "":
			case "trap":
				is.True(errors.As(err, &trap))
			default:
				is.True(errors.As(err, &trap))
				is.True(strings.Contains(trap.Reason, want)) // its reason
			}
			t.Log(err)
			_, got, err := r.post(t.Context(), agent, "/kept", nil, false)
			is.NoErr(err)
			is.Equal(string(got), "1") // of a new instance
		})
	}
}

func TestInstances(t *testing.T) {
	kept := func(t *testing.T, r *rig, agent string, fresh bool) string {
		t.Helper()
		_, got, err := r.post(t.Context(), agent, "/kept", nil, fresh)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	t.Run("stay warm and are never shared", func(t *testing.T) {
		is := is.New(t)
		r := start(t)
		is.Equal(kept(t, r, "a1", false), "1")
		is.Equal(kept(t, r, "a1", false), "2")
		is.Equal(kept(t, r, "a2", false), "1")
		is.Equal(kept(t, r, "a1", true), "1")
		is.Equal(kept(t, r, "a1", false), "3")
		r.pool.Evict("a1")
		is.Equal(kept(t, r, "a1", false), "1")
	})
	t.Run("end after their uses", func(t *testing.T) {
		is := is.New(t)
		r := start(t)
		for range isolate.MaxUses {
			kept(t, r, "a1", false)
		}
		is.Equal(kept(t, r, "a1", false), "1")
	})
	t.Run("end when they have grown", func(t *testing.T) {
		is := is.New(t)
		r := start(t)
		is.Equal(kept(t, r, "a1", false), "1")
		_, _, err := r.post(t.Context(), "a1", "/large", nil, false)
		is.NoErr(err)
		is.Equal(kept(t, r, "a1", false), "1")
		is.Equal(r.pool.Stats().Idle, 1)
	})
	t.Run("stay flat under large bodies", func(t *testing.T) {
		is := is.New(t)
		r := start(t)
		body := make([]byte, 1<<20)
		for range 100 {
			_, _, err := r.post(t.Context(), "a1", "/echo", body, false)
			is.NoErr(err)
		}
		_, got, err := r.post(t.Context(), "a1", "/kept", nil, false)
		is.NoErr(err)
		is.Equal(string(got), "1") // the same instance took them all
		is.True(r.pool.Stats().IdleMemory <= isolate.MaxIdleSize)
	})
}

// One agent has two places and a bounded queue, and takes none from the others.
func TestBusyAgent(t *testing.T) {
	is := is.New(t)
	r := start(t)
	_, _, err := r.post(t.Context(), "a1", "/kept", nil, false) // compiled
	is.NoErr(err)
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	failures := make(chan error, isolate.MaxWaiting+isolate.MaxInstances+1)
	for range isolate.MaxWaiting + isolate.MaxInstances + 1 {
		wait.Go(func() {
			_, _, err := r.post(ctx, "a1", "/sleep", nil, false)
			failures <- err
		})
	}
	is.Equal(<-failures, isolate.ErrBusy) // the one too many
	_, _, err = r.post(t.Context(), "a2", "/kept", nil, false)
	is.NoErr(err)
	cancel()
	wait.Wait()
	is.Equal(r.pool.Stats().Running, 0)
}

func BenchmarkDispatch(b *testing.B) {
	e, err := isolate.New(isolate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	p := isolate.NewPool(e)
	frame, err := abi.Append(nil, abi.Request{Kind: abi.HTTP, CapabilityID: "guest", Method: "POST", Route: "/echo"}, make([]byte, 1<<10))
	if err != nil {
		b.Fatal(err)
	}
	for _, fresh := range []bool{false, true} {
		b.Run(fmt.Sprintf("fresh=%v", fresh), func(b *testing.B) {
			b.ReportAllocs()
			target := isolate.Target{AgentID: "a", Version: "v", Code: guest, Fresh: fresh}
			if _, err := p.Dispatch(context.Background(), target, frame, host); err != nil { // compiles
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := p.Dispatch(context.Background(), target, frame, host); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
