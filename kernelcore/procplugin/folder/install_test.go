package folder_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/procplugin"
	"github.com/bb-kernel/bb/kernelcore/procplugin/folder"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/pluginsdk"
)

type input struct{}

type output struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
	Calls   int    `json:"calls"`
}

var (
	ask  = &kernelcontract.Query[input, output]{Ref: "demo/demo.ask", Summary: "Say which version this is"}
	note = &kernelcontract.Mutation[input, output]{Ref: "demo/demo.note", Summary: "Count a call"}
	wait = &kernelcontract.Query[input, output]{Ref: "demo/demo.wait", Summary: "Take a moment"}
	demo = &kernelcontract.Service{ID: "demo/demo", Summary: "Show versions", Methods: []kernelcontract.Method{ask, note, wait}}
)

// plugin is a version of the demo plugin. The version "bad" cannot be set up.
func plugin(version string) *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "demo", Version: version, Services: []*kernelcontract.Service{demo}, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		if version == "bad" {
			h.Log().Error("the disk is on fire")
			return errors.New("it cannot work here")
		}
		say := func(context.Context, input) (output, error) { return output{Version: version, PID: os.Getpid()}, nil }
		h.Provide(demo, ask.Handle(say),
			note.Handle(func(ctx context.Context, _ input) (output, error) {
				n, err := pluginsdk.Update(ctx, h.KV(), "calls", func(n int) int { return n + 1 })
				return output{Version: version, Calls: n}, err
			}),
			wait.Handle(func(ctx context.Context, in input) (output, error) {
				select {
				case <-time.After(300 * time.Millisecond):
				case <-ctx.Done():
				}
				return say(ctx, in)
			}))
		return nil
	}}
}

// TestMain makes this test program a version of the plugin when it is run as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "plugin" {
		version := os.Args[2]
		os.Args = os.Args[:1]
		pluginsdk.Main(plugin(version))
	}
	os.Exit(m.Run())
}

// version makes an archive of a version, whose program is a script that runs this test program.
func version(t testing.TB, v string) string {
	t.Helper()
	c, err := pluginsdk.ContractOf(plugin(v))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nexec '" + self + "' plugin " + v + "\n"
	return tarGz(t, entry{name: "contract.json", content: string(raw)}, entry{name: "demo", content: script, mode: 0o755})
}

// rig is a kernel with a folder of plugins in a data directory.
type rig struct {
	*kernelcore.Kernel
	caller kernelcontract.Caller
	dir    string
}

func start(t testing.TB, dir string) *rig {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := folder.Open(filepath.Join(dir, "plugins"), procplugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	builtIn := &pluginsdk.Plugin{ID: "part", Version: "1"}
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{builtIn}, Store: s, DataDir: dir, Programs: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return &rig{k, k.As(kernelcontract.Principal{Actor: "user:a"}), dir}
}

func (r *rig) places(t testing.TB) []string {
	t.Helper()
	places, err := filepath.Glob(filepath.Join(r.dir, "plugins", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range places {
		places[i], _ = filepath.Rel(filepath.Join(r.dir, "plugins"), p)
	}
	return places
}

func (r *rig) version(t testing.TB) string {
	t.Helper()
	out, err := ask.Call(t.Context(), r.caller, input{})
	if err != nil {
		return err.Error()
	}
	return out.Version
}

func (r *rig) state(t testing.TB) manifest.State {
	t.Helper()
	p, err := kernelapi.ShowPlugin.Call(t.Context(), r.caller, kernelapi.PluginInput{ID: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	return p.State
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("it never came: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestInstall(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	r := start(t, dir)
	ctx := t.Context()
	// The first version.
	id, err := r.Install(ctx, version(t, "1"))
	is.NoErr(err)
	is.Equal(id, "demo")
	is.Equal(r.version(t), "1")
	_, err = note.Call(ctx, r.caller, input{})
	is.NoErr(err)
	// A version that cannot be set up changes nothing.
	_, err = r.Install(ctx, version(t, "bad"))
	is.True(errors.Is(err, kernelcontract.Precondition))
	for _, part := range []string{"what was there stays as it was", "it cannot work here"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	is.Equal(r.version(t), "1")
	is.Equal(r.places(t), []string{"demo/1"})
	// A new version takes over, with the data of the one before.
	_, err = r.Install(ctx, version(t, "2"))
	is.NoErr(err)
	is.Equal(r.version(t), "2")
	out, err := note.Call(ctx, r.caller, input{})
	is.NoErr(err)
	is.Equal(out.Calls, 2)
	eventually(t, "the old files go", func() bool { return len(r.places(t)) == 1 })
	// What is a part of the server is not replaced.
	part := tarGz(t, entry{name: "contract.json", content: `{"format":1,"id":"part","version":"2","services":[]}`}, entry{name: "part", content: "x", mode: 0o755})
	_, err = r.Install(ctx, part)
	is.True(errors.Is(err, kernelcontract.Conflict))
	eventually(t, "nothing is left of it", func() bool { return len(r.places(t)) == 1 })
	// It is there after a restart, and so is what was decided about it.
	is.NoErr(r.Close())
	r = start(t, dir)
	is.Equal(r.version(t), "2")
	is.NoErr(r.Disable(ctx, "demo"))
	_, err = r.Install(ctx, version(t, "3"))
	is.NoErr(err)
	is.Equal(r.state(t), manifest.Disabled)
	is.NoErr(r.Close())
	r = start(t, dir)
	is.Equal(r.state(t), manifest.Disabled)
	is.NoErr(r.Enable(ctx, "demo"))
	is.Equal(r.version(t), "3")
	// Removed, nothing is left.
	is.NoErr(r.Remove(ctx, "demo"))
	is.Equal(len(r.places(t)), 0)
	_, err = kernelapi.ShowPlugin.Call(ctx, r.caller, kernelapi.PluginInput{ID: "demo"})
	is.True(errors.Is(err, kernelcontract.NotFound))
	_, err = r.Install(ctx, version(t, "4"))
	is.NoErr(err)
	out, err = note.Call(ctx, r.caller, input{})
	is.NoErr(err)
	is.Equal(out.Calls, 1) // its data went too
	is.NoErr(r.Close())
}

func TestFirstInstallThatFailsLeavesNothing(t *testing.T) {
	is := is.New(t)
	r := start(t, t.TempDir())
	_, err := r.Install(t.Context(), version(t, "bad"))
	is.True(errors.Is(err, kernelcontract.Precondition))
	is.True(strings.Contains(err.Error(), "nothing was installed"))
	is.Equal(len(r.places(t)), 0)
	list, err := kernelapi.ListPlugins.Call(t.Context(), r.caller, kernelcontract.None{})
	is.NoErr(err)
	is.Equal(len(list), 2) // the kernel and its part
}

func TestKernelWithoutPrograms(t *testing.T) {
	is := is.New(t)
	k, err := kernelcore.New(kernelcore.Options{})
	is.NoErr(err)
	defer k.Close()
	_, err = k.Install(t.Context(), version(t, "1"))
	is.True(errors.Is(err, kernelcontract.Precondition))
}

// Files that are damaged after the installation make the plugin failed, not the kernel, and a new installation mends it.
func TestDamagedFiles(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	r := start(t, dir)
	_, err := r.Install(t.Context(), version(t, "1"))
	is.NoErr(err)
	is.NoErr(r.Close())
	is.NoErr(os.WriteFile(filepath.Join(dir, "plugins", "demo", "1", "contract.json"), []byte("{"), 0o600))
	r = start(t, dir)
	is.Equal(r.state(t), manifest.Failed)
	is.True(strings.Contains(fmt.Sprint(r.Problems()), "the installed plugin cannot be read"))
	_, err = r.Install(t.Context(), version(t, "2"))
	is.NoErr(err)
	is.Equal(r.version(t), "2")
}

// What a crash left between the files and the store is removed at the next start.
func TestPlacesThatNobodyKnows(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	r := start(t, dir)
	_, err := r.Install(t.Context(), version(t, "1"))
	is.NoErr(err)
	is.NoErr(r.Close())
	is.NoErr(os.CopyFS(filepath.Join(dir, "plugins", "demo", "2"), os.DirFS(filepath.Join(dir, "plugins", "demo", "1"))))
	is.NoErr(os.MkdirAll(filepath.Join(dir, "plugins", ".unpacking-7"), 0o700))
	r = start(t, dir)
	is.Equal(r.places(t), []string{"demo/1"})
	is.Equal(r.version(t), "1")
}

// A reload and a new version under load fail no call: those in flight finish where they began.
func TestNoCallFailsUnderLoad(t *testing.T) {
	is := is.New(t)
	r := start(t, t.TempDir())
	ctx := t.Context()
	_, err := r.Install(ctx, version(t, "0"))
	is.NoErr(err)
	var over atomic.Bool
	var done sync.WaitGroup
	var calls atomic.Int64
	for n := range 16 {
		done.Go(func() {
			method := ask
			if n%4 == 0 {
				method = wait
			}
			for !over.Load() {
				if _, err := method.Call(ctx, r.caller, input{}); err != nil {
					t.Errorf("a call failed: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for n := 1; n <= 3; n++ {
		is.NoErr(r.Reload(ctx, "demo"))
		_, err := r.Install(ctx, version(t, fmt.Sprint(n)))
		is.NoErr(err)
		is.Equal(r.version(t), fmt.Sprint(n))
	}
	over.Store(true)
	done.Wait()
	is.True(calls.Load() > 100)
	eventually(t, "the old files go", func() bool { return len(r.places(t)) == 1 })
}

// The log of a plugin has what its program says while it is set up, and before it ended.
func TestLogs(t *testing.T) {
	is := is.New(t)
	r := start(t, t.TempDir())
	_, err := r.Install(t.Context(), version(t, "bad"))
	is.True(err != nil)
	_, err = r.Install(t.Context(), version(t, "1"))
	is.NoErr(err)
	var lines []kernelapi.LogLine
	for l, err := range kernelapi.PluginLogs.Stream(t.Context(), r.caller, kernelapi.LogsInput{ID: "demo", Limit: 10}) {
		is.NoErr(err)
		lines = append(lines, l)
	}
	is.True(len(lines) > 0)
	is.Equal(lines[0].Message, "the disk is on fire")
	is.Equal(lines[0].Level, "error")
	is.Equal(lines[0].Attrs["plugin"], json.RawMessage(`"demo"`))
	for _, err := range kernelapi.PluginLogs.Stream(t.Context(), r.caller, kernelapi.LogsInput{ID: "nobody"}) {
		is.True(errors.Is(err, kernelcontract.NotFound))
	}
}

func BenchmarkReload(b *testing.B) {
	r := start(b, b.TempDir())
	if _, err := r.Install(b.Context(), version(b, "1")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := r.Reload(b.Context(), "demo"); err != nil {
			b.Fatal(err)
		}
	}
}
