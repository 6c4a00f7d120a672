package threads_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// pid returns the number of the process that runs a thread's agent.
func (r *rig) pid(thread string) int {
	r.Helper()
	r.wait(thread, r.send(thread, "pid").ID)
	said := r.said(thread)
	pid, err := strconv.Atoi(said[len(said)-1])
	r.is.NoErr(err)
	return pid
}

func TestBridgeKilled(t *testing.T) {
	r := start(t, setup{})
	for _, text := range []string{"slow", "ask ls", "child"} {
		t.Run(text, func(t *testing.T) {
			r := r.sub(t)
			th := r.create()
			pid := r.pid(th.ID)
			turn := r.send(th.ID, text)
			r.until("the turn", func() bool { s := r.get(th.ID).Status; return s == threadapi.Running || s == threadapi.Waiting })
			queued := r.send(th.ID, "say it goes on")
			if text == "ask ls" {
				r.pending(th.ID)
			}
			kill(t, pid)
			r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
			r.is.Equal(r.wait(th.ID, queued.ID).Status, threadapi.TurnCompleted) // what was accepted is not lost
			r.sound(th.ID)
			r.is.True(slices.Contains(r.types(th.ID), "provider.error"))
			for _, said := range r.said(th.ID) {
				if child, ok := strings.CutPrefix(said, "pid "); ok {
					pid, _ := strconv.Atoi(child)
					r.until("the end of what the agent started", func() bool { return !alive(pid) })
				}
			}
		})
	}
}

// serverWord makes the test's program a server that a test kills: it makes a thread, sends inputs and says when the last
// one has come to a status. What it prints is the thread's id and its agent's process.
const serverWord = "run-the-server"

func runServer(args []string) {
	dir, cwd, want, texts := args[0], args[1], threadapi.Status(args[2]), args[3:]
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{})
	fatal(err)
	k, err := kernelcore.New(kernelcore.Options{Plugins: append(threads.Plugins(threads.Options{}), puppets(bridge.ProviderHooks{})), Store: s, DataDir: dir})
	fatal(err)
	c := k.As(user)
	th, err := threadapi.Create.Call(ctx, c, threadapi.CreateInput{ProviderID: "puppet", Cwd: cwd, Permission: threadapi.AcceptEdits, Escalation: threadapi.Ask})
	fatal(err)
	for _, text := range texts {
		turn, err := threadapi.Send.Call(ctx, c, threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text(text)}})
		fatal(err)
		if text == "say before" {
			_, err := threadapi.Wait.Call(ctx, c, threadapi.WaitInput{Thread: th.ID, Turn: turn.ID})
			fatal(err)
		}
	}
	for {
		now, err := threadapi.Get.Call(ctx, c, threadapi.ThreadInput{Thread: th.ID})
		fatal(err)
		if now.Status == want {
			break
		}
		<-time.After(time.Millisecond) // a child process has no channel to the test
	}
	fmt.Println(th.ID)
	select {}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestServerKilled(t *testing.T) {
	for _, tc := range []struct {
		name  string
		want  threadapi.Status
		texts []string
	}{
		{"mid-turn", threadapi.Running, []string{"say before", "slow"}},
		{"mid-approval", threadapi.Waiting, []string{"say before", "ask ls"}},
		{"with a queue", threadapi.Waiting, []string{"ask ls", "say from the queue"}},
		{"with a child", threadapi.Running, []string{"child"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			is := is.New(t)
			dir, cwd := t.TempDir(), t.TempDir()
			cmd := exec.Command(os.Args[0], append([]string{serverWord, dir, cwd, string(tc.want)}, tc.texts...)...)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			is.NoErr(err)
			is.NoErr(cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			is.NoErr(err)
			id := strings.TrimSpace(line)
			is.NoErr(cmd.Process.Kill())
			_ = cmd.Wait()

			r := start(t, setup{dir: dir})
			if tc.name == "with a queue" {
				r.until("the queue", func() bool { return slices.Contains(r.said(id), "from the queue") })
			}
			r.sound(id)
			if tc.texts[0] == "say before" {
				r.is.Equal(r.said(id)[0], "before")
			}
			for _, said := range r.said(id) {
				if child, ok := strings.CutPrefix(said, "pid "); ok {
					pid, _ := strconv.Atoi(child)
					r.until("the end of what the agent started", func() bool { return !alive(pid) })
				}
			}
			pending, err := threadapi.ListInteractions.Call(t.Context(), r.caller, threadapi.ListInteractionsInput{Status: threadapi.Pending, Limit: 10})
			r.is.NoErr(err)
			r.is.Equal(len(pending), 0)
			r.is.Equal(r.wait(id, r.send(id, "say after").ID).Status, threadapi.TurnCompleted)
			r.sound(id)
		})
	}
}

func TestFlood(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	const chunks = 100_000
	turn := r.wait(th.ID, r.send(th.ID, "flood "+strconv.Itoa(chunks)).ID)
	r.is.Equal(turn.Error, "")
	r.is.Equal(turn.Status, threadapi.TurnCompleted)
	var want strings.Builder
	for i := range chunks {
		want.WriteString(strconv.Itoa(i) + " ")
	}
	r.is.True(r.said(th.ID)[0] == want.String())
	r.sound(th.ID)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r.wait(th.ID, r.send(th.ID, "flood "+strconv.Itoa(chunks)).ID)
	r.sound(th.ID)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("a flood left %d bytes", grown)
	}
}

func TestAgentThatNeverAnswers(t *testing.T) {
	r := start(t, setup{threads: threads.Options{Timeouts: host.Timeouts{Request: 300 * time.Millisecond, Stop: 300 * time.Millisecond}}})
	th := r.create()
	t.Run("in its time", func(t *testing.T) {
		r := r.sub(t)
		turn := r.wait(th.ID, r.send(th.ID, "mute").ID)
		r.is.Equal(turn.Status, threadapi.TurnFailed)
		r.sound(th.ID)
	})
	t.Run("to a stop", func(t *testing.T) {
		r := r.sub(t)
		turn := r.send(th.ID, "stubborn")
		r.status(th.ID, threadapi.Running)
		r.is.Equal(r.stop(th.ID).Status, threadapi.Idle)
		r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
		r.sound(th.ID)
	})
	t.Run("and goes on", func(t *testing.T) {
		r := r.sub(t)
		r.is.Equal(r.wait(th.ID, r.send(th.ID, "say again").ID).Status, threadapi.TurnCompleted)
		r.sound(th.ID)
	})
}

func TestTenThreadsOnOneBridge(t *testing.T) {
	r := start(t, setup{})
	blocked := r.create()
	r.send(blocked.ID, "ask ls")
	i := r.pending(blocked.ID)
	var wait sync.WaitGroup
	for n := range 9 {
		wait.Go(func() {
			th := r.create()
			for m := range 5 {
				r.wait(th.ID, r.send(th.ID, fmt.Sprintf("say %d-%d", n, m)).ID)
			}
			if said := r.said(th.ID); len(said) != 5 {
				t.Errorf("thread %d said %v", n, said)
			}
			r.sound(th.ID)
		})
	}
	wait.Wait()
	r.is.Equal(r.get(blocked.ID).Status, threadapi.Waiting)
	_, err := r.resolve(i.ID, threadapi.AllowOnce)
	r.is.NoErr(err)
	r.wait(blocked.ID, "")
	r.sound(blocked.ID)
}

func TestApprovalAnsweredTwice(t *testing.T) {
	r := start(t, setup{})
	for range 20 {
		th := r.create()
		r.send(th.ID, "ask ls")
		i := r.pending(th.ID)
		var won, late atomic.Int32
		var wait sync.WaitGroup
		for _, d := range []threadapi.Decision{threadapi.AllowOnce, threadapi.DenyIt} {
			wait.Go(func() {
				switch _, err := r.resolve(i.ID, d); {
				case err == nil:
					won.Add(1)
				case codeIs(err, threadapi.AlreadyResolved):
					late.Add(1)
				default:
					t.Errorf("%v", err)
				}
			})
		}
		wait.Wait()
		r.is.Equal(won.Load(), int32(1))
		r.is.Equal(late.Load(), int32(1))
		r.wait(th.ID, "")
		r.sound(th.ID)
	}
}

func TestEveryCursor(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	r.wait(th.ID, r.send(th.ID, "flood 40").ID)
	turn := r.send(th.ID, "ask ls")
	i := r.pending(th.ID)
	_, err := r.resolve(i.ID, threadapi.AllowOnce)
	r.is.NoErr(err)
	r.wait(th.ID, turn.ID)
	all := r.events(th.ID)
	last := all[len(all)-1].Seq
	for since := int64(0); since <= last; since++ {
		next := since + 1
		for e, err := range threadapi.Events.Events(t.Context(), r.caller, threadapi.EventsInput{Thread: th.ID}, strconv.FormatInt(since, 10)) {
			r.is.NoErr(err)
			from := e.Item.Seq
			if len(e.Item.Covers) == 2 && e.Item.Covers[0] <= next {
				from = next // the whole run comes again
			}
			r.is.Equal(from, next)
			next = e.Item.Seq + 1
		}
		r.is.Equal(next, last+1)
	}
	for _, cursor := range []string{"-1", "x", "1.5"} {
		for _, err := range threadapi.Events.Events(t.Context(), r.caller, threadapi.EventsInput{Thread: th.ID}, cursor) {
			r.is.True(codeIs(err, kernelcontract.InvalidInput))
		}
	}
}

func TestStop(t *testing.T) {
	r := start(t, setup{})
	t.Run("while starting", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		remove := r.file("slow-start")
		turn := r.send(th.ID, "say never")
		r.status(th.ID, threadapi.Starting)
		r.is.Equal(r.stop(th.ID).Status, threadapi.Idle)
		r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
		remove()
		r.wait(th.ID, r.send(th.ID, "say after").ID)
		r.is.Equal(r.said(th.ID), []string{"after"})
		r.sound(th.ID)
	})
	t.Run("while asking", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		turn := r.send(th.ID, "ask ls")
		i := r.pending(th.ID)
		r.stop(th.ID)
		r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
		_, err := r.resolve(i.ID, threadapi.AllowOnce)
		r.is.True(codeIs(err, threadapi.AlreadyResolved))
		r.sound(th.ID)
	})
	t.Run("while stopping", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		r.send(th.ID, "slow")
		r.status(th.ID, threadapi.Running)
		var wait sync.WaitGroup
		for range 5 {
			wait.Go(func() { r.stop(th.ID) })
		}
		wait.Wait()
		r.sound(th.ID)
	})
	t.Run("idle", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		r.is.Equal(r.stop(th.ID).Status, threadapi.Idle)
	})
	t.Run("late output", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		r.send(th.ID, "late")
		r.status(th.ID, threadapi.Running)
		r.stop(th.ID)
		r.wait(th.ID, r.send(th.ID, "say next").ID)
		r.is.Equal(r.said(th.ID), []string{"so far", "next"})
		r.sound(th.ID)
	})
	t.Run("a turn that the agent does not settle", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		turn := r.send(th.ID, "unsettled")
		r.status(th.ID, threadapi.Running)
		r.stop(th.ID)
		r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
		r.sound(th.ID)
	})
	t.Run("release", func(t *testing.T) {
		r := r.sub(t)
		th := r.create()
		r.send(th.ID, "slow")
		r.status(th.ID, threadapi.Running)
		_, err := threadapi.Stop.Call(t.Context(), r.caller, threadapi.StopInput{Thread: th.ID, Intent: threadapi.Release})
		r.is.True(codeIs(err, kernelcontract.Conflict))
		r.stop(th.ID)
		_, err = threadapi.Stop.Call(t.Context(), r.caller, threadapi.StopInput{Thread: th.ID, Intent: threadapi.Release})
		r.is.NoErr(err)
		r.sound(th.ID)
	})
}

func TestProviderRemoved(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	turn := r.send(th.ID, "slow")
	r.status(th.ID, threadapi.Running)
	r.is.NoErr(r.kernel.Disable(t.Context(), "puppet"))
	r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
	r.sound(th.ID)
	r.is.True(r.get(th.ID).Problem != "")
	_, err := threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text("say x")}})
	r.is.True(err != nil)
	r.is.NoErr(r.kernel.Enable(t.Context(), "puppet"))
	r.is.Equal(r.wait(th.ID, r.send(th.ID, "say back").ID).Status, threadapi.TurnCompleted)
	r.sound(th.ID)
}

func TestReload(t *testing.T) {
	r := start(t, setup{})
	th := r.create()
	turn := r.send(th.ID, "slow")
	r.status(th.ID, threadapi.Running)
	r.is.NoErr(r.kernel.Reload(t.Context(), "threads"))
	r.is.Equal(r.get(th.ID).Status, threadapi.Running) // a reload stops nothing
	r.stop(th.ID)
	r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnInterrupted)
	r.sound(th.ID)
}

func TestClockGoesBackwards(t *testing.T) {
	var hour atomic.Int64
	clock := func() time.Time { return time.Now().Add(-time.Duration(hour.Load()) * time.Hour) }
	r := start(t, setup{threads: threads.Options{Now: clock}})
	th := r.create()
	var ids []string
	for range 5 {
		turn := r.send(th.ID, "say x")
		ids = append(ids, turn.ID)
		r.wait(th.ID, turn.ID)
		hour.Add(1)
		ids = append(ids, r.create().ID)
	}
	r.is.True(slices.IsSorted([]string{ids[1], ids[3], ids[5], ids[7], ids[9]}))
	all, err := threadapi.List.Call(t.Context(), r.caller, threadapi.ListInput{Limit: 50})
	r.is.NoErr(err)
	r.is.Equal(all[0].ID, ids[9])
	r.sound(th.ID)
}

// failing is a store that fails to write when it is told to.
type failing struct {
	store.Store
	fails atomic.Bool
}

var errFull = &store.FullError{Path: "bb.db", Err: errors.New("no space left on device")}

func (f *failing) Update(ctx context.Context, fn func(store.Tx) error) error {
	if f.fails.Load() {
		return errFull
	}
	return f.Store.Update(ctx, fn)
}

func TestDiskFull(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	real, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
	is.NoErr(err)
	s := &failing{Store: real}
	r := start(t, setup{store: s, dir: dir})
	th := r.create()
	r.wait(th.ID, r.send(th.ID, "say before").ID)
	pid := r.pid(th.ID)
	t.Run("for a moment", func(t *testing.T) {
		r := r.sub(t)
		turn := r.send(th.ID, "ask ls")
		i := r.pending(th.ID)
		s.fails.Store(true)
		time.AfterFunc(200*time.Millisecond, func() { s.fails.Store(false) }) // while the answer is being stored
		_, err := r.resolve(i.ID, threadapi.AllowOnce)
		r.is.NoErr(err)
		r.is.Equal(r.wait(th.ID, turn.ID).Status, threadapi.TurnCompleted)
		r.sound(th.ID)
	})
	t.Run("for good", func(t *testing.T) {
		r := r.sub(t)
		r.send(th.ID, "slow")
		r.status(th.ID, threadapi.Running)
		s.fails.Store(true)
		_, err := threadapi.Send.Call(t.Context(), r.caller, threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text("say lost")}})
		r.is.True(err != nil) // it was not acknowledged
		r.until("the end of the agent", func() bool { return !alive(pid) })
		r.is.Equal(r.get(th.ID).Status, threadapi.Idle)
		s.fails.Store(false)
		r.is.Equal(r.wait(th.ID, r.send(th.ID, "say after").ID).Status, threadapi.TurnCompleted)
		r.sound(th.ID)
		r.is.True(slices.ContainsFunc(r.events(th.ID), func(e threadapi.Event) bool {
			return e.Type == "turn.completed" && strings.Contains(string(e.Payload), "could not be stored")
		}))
		said := r.said(th.ID)
		r.is.True(slices.Contains(said, "before") && slices.Contains(said, "after") && !slices.Contains(said, "lost"))
	})
}
