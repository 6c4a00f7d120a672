package assembler_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A million deltas, each with keys of its own and most of them without an end, leave memory as it was after the first.
func TestMemoryStaysFlat(t *testing.T) {
	is := is.New(t)
	a := assembler.New(assembler.Options{ThreadID: "th", Entropy: "e"})
	g := grammar.New(nil)
	n := 0
	long := strings.Repeat("k", 400)
	flood := func(deltas int) {
		for end := n + deltas; n < end; n++ {
			id := fmt.Sprint(long, n)
			var d protocol.Delta
			switch n % 20 {
			case 0:
				d = opens(key(id), message("text"))
			case 1:
				d = onThread(opens(child(id, id+"p"), command("ls")))
			case 2:
				d = closes(key(id), message("text"))
			case 3:
				d = onThread(closes(child(id, "x"), command("ls")))
			case 4:
				d = output(key(id), "text")
			case 5:
				d = onThread(output(key(id), "text"))
			case 6:
				d = opens(child(id, id+"p"), task("dig"))
			case 7:
				d = &protocol.ProviderUnhandled{RawType: id}
			case 8:
				d = warning(id)
			case 9:
				d = accepted(id)
			case 10:
				a.ItemID(protocol.Scope{}, key(id))
				a.ItemID(protocol.Scope{Thread: true}, key(id))
				a.Expect(id, id)
				a.ExpectInput(id)
				d = &protocol.Usage{Last: tokens(1)}
			case 11:
				d = boundary(id, protocol.Completed)
			case 12:
				d = turnOpen("")
				if n%20_000 == 12 {
					d = turnOpen(id) // another turn now and then
				}
			default:
				d = text(key("never-ending"), "text")
				if n == 13 {
					d = opens(key("never-ending"), message(""))
				}
			}
			g.Check(protocol.DecodedDelta{Delta: d})
			a.Apply(d, at)
		}
	}
	flood(100_000)
	before := heap()
	flood(900_000)
	after := heap()
	const slack = 4 << 20
	t.Logf("%d KiB after 100,000 deltas, %d KiB after 1,000,000", before>>10, after>>10)
	is.True(after < before+slack)
	runtime.KeepAlive(a)
	runtime.KeepAlive(g)
}

func TestBounds(t *testing.T) {
	for name, run := range map[string]func(*thread){
		"open items": func(th *thread) {
			th.turn()
			th.send(onThread(opens(key("k"), task("dig"))), opens(child("c", "k"), task("help")))
			for i := range assembler.MaxOpenItems - 2 {
				th.send(opens(key(fmt.Sprint(i)), &protocol.Reasoning{}))
			}
			th.lines = nil
			th.send(opens(key("new"), &protocol.Reasoning{}))
			th.want(`T1 item.started e-1025 reasoning "" ""`, "- item.completed e-1 interrupted dig partial")
			th.send(output(key("k"), "late"), closes(key("k"), task("late")))
			th.want()
			th.wantDropped(2)
			th.send(boundary("", protocol.Completed))
			if len(th.lines) != assembler.MaxOpenItems+1 {
				th.t.Error(len(th.lines))
			}
		},
		"settled keys": func(th *thread) {
			th.turn()
			for i := range assembler.MaxSettledKeys + 1 {
				th.send(closes(key(fmt.Sprint(i)), command("ls")))
			}
			th.lines = nil
			th.send(closes(key("1"), command("ls")))
			th.want() // remembered
			th.send(closes(key("0"), command("ls")), opens(child("m", "3"), message("")), opens(child("n", "0"), message("")))
			th.want("T1 item.completed e-1026 completed ls", `T1 item.started e-1027 in e-4 message ""`, `T1 item.started e-1028 in e-1026 message ""`)
		},
		"waiting ids": func(th *thread) {
			for i := range assembler.MaxWaiting {
				th.expect(fmt.Sprintf("T%d:c%d", i, i), fmt.Sprintf(":s%d", i))
			}
			if !errors.Is(th.Expect("x", "x"), assembler.ErrTooManyWaiting) || !errors.Is(th.Spare("x"), assembler.ErrTooManyWaiting) ||
				!errors.Is(th.ExpectInput("x"), assembler.ErrTooManyWaiting) {
				th.t.Error("no bound")
			}
			th.send(turnOpen(""))
			th.expect("x:x")
		},
		"turn keys": func(th *thread) {
			for i := range 1025 {
				th.expect(fmt.Sprintf("T%d:c%d", i, i))
				th.send(turnOpen(fmt.Sprint("k", i)), boundary("", protocol.Completed))
			}
			th.expect("X:x", "Y:y")
			th.send(accepted("x"), accepted("y"))
			th.lines = nil
			th.send(boundary("k1", protocol.Completed)) // remembered as settled
			th.want()
			th.send(boundary("k0", protocol.Completed)) // forgotten: as if it were new
			th.want("X turn.started client x", "X turn.input_accepted x", "X turn.completed completed")
		},
		"ids minted in advance": func(th *thread) {
			first, _ := th.ItemID(protocol.Scope{Thread: true}, key("first"))
			for i := range 1024 {
				th.ItemID(protocol.Scope{Thread: true}, key(fmt.Sprint(i)))
			}
			if again, _ := th.ItemID(protocol.Scope{Thread: true}, key("first")); again == first {
				th.t.Error("kept")
			}
			if again, _ := th.ItemID(protocol.Scope{Thread: true}, key("1023")); again != "e-1025" {
				th.t.Error(again)
			}
		},
		"items whose output waits": func(th *thread) {
			for i := range 1025 {
				th.send(onThread(output(key(fmt.Sprint(i)), "x")))
			}
			th.wantDropped(1)
			th.send(onThread(opens(key("0"), command("a"))), onThread(opens(key("1"), command("b"))))
			th.want("- item.started e-1 a", `- item.started e-2 b "x"`)
		},
	} {
		t.Run(name, func(t *testing.T) { run(newThread(t)) })
	}
}
