//go:build linux

package providers_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/providers"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// The shells that the agent starts: one in the bridge's group, and one that leaves it and has a child. The latter's parent
// ends when it is told to, so that nothing but the record leads to it.
func shells(dir string) []string {
	return []string{
		"run exec sleep 600 & echo $! > " + dir + "/inside; wait",
		"run echo $$ > " + dir + "/parent; setsid sh -c 'echo $$ > " + dir + "/outside; sleep 600 & echo $! > " + dir + "/below; wait' & " +
			"while ! [ -e " + dir + "/go ]; do sleep 0.01; done",
	}
}

// orphan ends the parent of what left the group, and waits until that is over.
func orphan(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		return err
	}
	for alive(number(dir, "parent")) {
		<-time.After(time.Millisecond)
	}
	return nil
}

// leave is a server that is killed in the middle of everything.
func leave(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{})
	fail(err)
	k, err := kernelcore.New(kernelcore.Options{Store: s, DataDir: dir, Plugins: []*pluginsdk.Plugin{agentPlugin(dir)}})
	fail(err)
	p, err := providers.New(providers.Options{Kernel: k, ScanPeriod: 20 * time.Millisecond})
	fail(err)
	b, err := p.Bridge(ctx, "agent")
	fail(err)
	_, err = b.ThreadStart(ctx, protocol.SessionParams{ThreadID: "t1", ProviderID: "agent", Cwd: dir, Options: options(),
		InstructionMode: protocol.InstructionsAppend, BridgeOptions: b.Options})
	fail(err)
	tell := func(text string) {
		_ = b.TurnStart(ctx, protocol.TurnStartParams{ThreadID: "t1", ProviderThreadID: "agent-t1", ClientRequestID: text, Options: options(),
			Input: protocol.Inputs{&protocol.TextInput{Text: text, Visibility: protocol.VisibleUser}}})
	}
	onRecord := func(names ...string) { // waits until those are
		for {
			var record string
			fail(s.View(ctx, func(tx store.Tx) error {
				raw, err := tx.Get("bridge-processes", strconv.Itoa(b.PID()))
				record = string(raw)
				return err
			}))
			if !slices.ContainsFunc(names, func(name string) bool {
				pid := number(dir, name)
				return pid == 0 || !strings.Contains(record, fmt.Sprintf(`"pid":%d,`, pid))
			}) {
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	for _, text := range shells(dir) {
		tell(text)
	}
	onRecord("outside", "below")
	fail(orphan(dir))
	tell("run setsid sh -c 'echo $$ > " + dir + "/later; exec sleep 600'")
	onRecord("later", "outside", "below") // a later scan has not forgotten the others
	fail(os.WriteFile(filepath.Join(dir, "bridge"), []byte(strconv.Itoa(b.PID())), 0o600))
	fmt.Println("ready")
	select {}
}

func agentPlugin(dir string) *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "agents", Version: "1.0", Providers: []protocol.ProviderDeclaration{declaration()},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.ProvideBridge("agent", bridge.Program{Command: []string{os.Args[0], agentWord, filepath.Join(dir, "starts"), "works"}})
			return nil
		}}
}

// number reads a process number from a file, 0 when it is not there yet.
func number(dir, name string) int {
	raw, _ := os.ReadFile(filepath.Join(dir, name))
	n, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	return n
}

// alive tells whether a process runs.
func alive(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestWhatAKilledServerLeavesIsKilledByTheNext(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	server := exec.Command(os.Args[0], leaverWord, dir)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	is.NoErr(err)
	is.NoErr(server.Start())
	var word [6]byte
	_, err = out.Read(word[:])
	is.NoErr(err)
	pids := map[string]int{}
	for _, name := range []string{"bridge", "inside", "outside", "below", "later"} {
		pids[name] = number(dir, name)
		is.True(alive(pids[name]))
	}
	t.Cleanup(func() { // of a test that has failed
		for _, pid := range pids {
			if t.Failed() && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	bystander := exec.Command("sleep", "600")
	is.NoErr(bystander.Start())
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()

	is.NoErr(server.Process.Signal(syscall.SIGKILL))
	_ = server.Wait()
	await(t, "the end of the bridge", func() bool { return !alive(pids["bridge"]) })
	is.True(alive(pids["outside"])) // else there is nothing to show

	s, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
	is.NoErr(err)
	k, err := kernelcore.New(kernelcore.Options{Store: s, DataDir: dir})
	is.NoErr(err)
	defer func() { is.NoErr(k.Close()) }()
	p, err := providers.New(providers.Options{Kernel: k})
	is.NoErr(err)
	defer func() { is.NoErr(p.Close(context.Background())) }()
	for name, pid := range pids {
		await(t, "the end of "+name, func() bool { return !alive(pid) })
	}
	is.True(alive(bystander.Process.Pid))
	is.NoErr(s.View(t.Context(), func(tx store.Tx) error {
		for e := range tx.Range("bridge-processes", store.Range{}) {
			t.Errorf("the record of %s is still there", e.Key)
		}
		return nil
	}))
}

func TestWhatLeftTheGroupEndsWithTheBridge(t *testing.T) {
	is := is.New(t)
	r := newRig(t, rigOptions{behaviour: "works", pool: providers.Options{ScanPeriod: 10 * time.Millisecond}})
	b, err := r.Bridge(t.Context(), "agent")
	is.NoErr(err)
	session(t, b, "t1")
	dir := t.TempDir()
	for _, text := range shells(dir) {
		tell(t, b, "t1", text)
	}
	await(t, "the record", func() bool {
		found := false
		_ = r.kernel.Store().View(t.Context(), func(tx store.Tx) error {
			raw, err := tx.Get("bridge-processes", strconv.Itoa(b.PID()))
			below := number(dir, "below")
			found = err == nil && below > 0 && strings.Contains(string(raw), fmt.Sprintf(`"pid":%d,`, below))
			return nil
		})
		return found
	})
	is.NoErr(orphan(dir))
	b.Kill()
	<-r.exits // by then
	for _, name := range []string{"inside", "outside", "below"} {
		await(t, "the end of "+name, func() bool { return !alive(number(dir, name)) })
	}
}

// A number that was given to another process since is not killed.
func TestANumberThatBelongsToAnotherIsLeftAlone(t *testing.T) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, start string }{
		{"another start", strings.TrimSpace(string(boot)) + ":1"},
		{"another boot", "boot:1"},
		{"no start", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			k, err := kernelcore.New(kernelcore.Options{})
			is.NoErr(err)
			defer func() { is.NoErr(k.Close()) }()
			other := exec.Command("sleep", "600")
			other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			is.NoErr(other.Start())
			defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
			pid := other.Process.Pid
			record := fmt.Sprintf(`{"pid":%d,"start":%q,"providerId":"agent","strays":[{"pid":%d,"start":%q}]}`, pid, tt.start, pid, tt.start)
			is.NoErr(k.Store().Update(t.Context(), func(tx store.Tx) error {
				if err := tx.Put("bridge-processes", "damaged", []byte("{")); err != nil {
					return err
				}
				return tx.Put("bridge-processes", strconv.Itoa(pid), []byte(record))
			}))
			p, err := providers.New(providers.Options{Kernel: k})
			is.NoErr(err)
			is.NoErr(p.Close(t.Context()))
			is.True(alive(pid))
		})
	}
}
