package threads_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// TestStress does everything at once for a while. Then every input that was accepted has exactly one end, and nothing is
// left running.
func TestStress(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("run", func(t *testing.T) {
		r := start(t, setup{})
		const seconds = 3
		end := time.Now().Add(seconds * time.Second)
		texts := []string{"say x", "flood 50", "ask ls", "slow", "steerable", "refuse", "recover resume-fresh", "hint restart-process", "twice", "late", "replace", "die", "background"}
		var wait sync.WaitGroup
		for n := range 8 {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			wait.Go(func() {
				th := r.create()
				var accepted []string
				for time.Now().Before(end) {
					switch random.IntN(10) {
					case 0, 1, 2, 3:
						in := threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text(texts[random.IntN(len(texts))])}}
						if turn, err := threadapi.Send.Call(t.Context(), r.caller, in); err == nil {
							accepted = append(accepted, turn.ID)
						}
					case 4:
						in := threadapi.SendInput{Thread: th.ID, Input: []threadapi.Part{threadapi.Text("left")}}
						if turn, err := threadapi.Steer.Call(t.Context(), r.caller, in); err == nil {
							accepted = append(accepted, turn.ID)
						}
					case 5:
						_, _ = threadapi.Stop.Call(t.Context(), r.caller, threadapi.StopInput{Thread: th.ID, Intent: threadapi.Interrupt})
					case 6, 7:
						all, _ := threadapi.ListInteractions.Call(t.Context(), r.caller, threadapi.ListInteractionsInput{Thread: th.ID, Status: threadapi.Pending, Limit: 5})
						for _, i := range all {
							_, _ = r.resolve(i.ID, threadapi.AllowOnce)
						}
					case 8:
						_, _ = threadapi.Rename.Call(t.Context(), r.caller, threadapi.RenameInput{Thread: th.ID, Title: fmt.Sprint(random.IntN(100))})
					case 9:
						runtime.Gosched()
					}
				}
				r.stop(th.ID)
				for _, turn := range accepted {
					if got := r.wait(th.ID, turn); !got.Status.Terminal() {
						t.Errorf("turn %s is %s", turn, got.Status)
					}
				}
				r.sound(th.ID)
			})
		}
		wait.Wait()
		if err := r.kernel.Close(); err != nil {
			t.Error(err)
		}
	})
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before+2 {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}
