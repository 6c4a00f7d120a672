package assembler_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// TestRules has the rules of docs/spec/bridges-assembler.md, clause by clause. A line of a case is an event: scope, type,
// item, what it says.
func TestRules(t *testing.T) {
	type run = func(*thread)
	table := map[string]map[string]run{
		"ids/minted-centrally": {
			"entropy and serial": func(th *thread) {
				th.turn()
				th.send(opens(key("a"), message("")), opens(key("b"), message("")))
				th.want(`T1 item.started e-1 message ""`, `T1 item.started e-2 message ""`)
			},
			"the provider's id is in the payload": func(th *thread) {
				th.turn()
				events := th.Apply(opens(key("a"), message("")), at)
				if got := events[0].Payload.(*assembler.ItemStarted).Item.ProviderItemID; got != "a" {
					th.t.Error(got)
				}
			},
			"an id minted for a request is the item's": func(th *thread) {
				th.turn()
				id, ok := th.ItemID(protocol.Scope{}, key("a"))
				again, _ := th.ItemID(protocol.Scope{}, key("a"))
				if !ok || id != "e-1" || again != id {
					th.t.Error(id, again, ok)
				}
				th.send(opens(key("b"), message("")), opens(key("a"), command("ls")))
				th.want(`T1 item.started e-2 message ""`, `T1 item.completed e-2 completed message "" partial`, `T1 item.started e-1 ls`)
				if id, _ = th.ItemID(protocol.Scope{}, key("a")); id != "e-1" {
					th.t.Error(id)
				}
			},
			"keys of one providerItemId have ids of their own": func(th *thread) {
				th.turn()
				x, y := protocol.ItemKey{ProviderItemID: "a", Channel: "x"}, protocol.ItemKey{ProviderItemID: "a", Channel: "y"}
				first, _ := th.ItemID(protocol.Scope{}, x)
				second, _ := th.ItemID(protocol.Scope{}, y)
				if first != "e-1" || second != "e-2" {
					th.t.Error(first, second)
				}
				th.send(opens(y, message("y")), opens(x, message("x")))
				th.want(`T1 item.started e-2 message "y"`, `T1 item.started e-1 message "x"`)
			},
			"a request of a turn that is not open has no item": func(th *thread) {
				if id, ok := th.ItemID(protocol.Scope{}, key("a")); ok {
					th.t.Error(id)
				}
				if id, ok := th.ItemID(protocol.Scope{Thread: true}, key("a")); !ok || id != "e-1" {
					th.t.Error(id, ok)
				}
			},
		},
		"turn/bound-to-requested": {
			"oldest first": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), boundary("a", protocol.Completed), turnOpen("b"))
				th.want("T1 turn.started client c1", "T1 turn.completed completed", "T2 turn.started client c2")
			},
			"none waiting": func(th *thread) {
				th.send(turnOpen(""))
				th.want("- provider.unhandled turn.open by turn/bound-to-requested")
			},
			"a spare id is the agent's": func(th *thread) {
				th.expect("S:")
				if !th.HasSpare() {
					th.t.Error("no spare")
				}
				th.send(turnOpen(""))
				th.want("S turn.started agent")
				if th.HasSpare() {
					th.t.Error("spare")
				}
			},
			"a spare id comes last": func(th *thread) {
				th.expect("S:", "T1:c1")
				th.send(turnOpen("a"), boundary("", protocol.Completed), turnOpen("b"))
				th.want("T1 turn.started client c1", "T1 turn.completed completed", "S turn.started agent")
			},
			"its own key is a repeat": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), turnOpen("a"))
				th.want("T1 turn.started client c1")
			},
			"null is a repeat of null": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen(""), turnOpen(""))
				th.want("T1 turn.started client c1")
			},
			"null is no repeat of a key": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), turnOpen(""))
				th.want("T1 turn.started client c1", "T1 turn.completed interrupted", "T2 turn.started client c2")
			},
			"a key is no repeat of null": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen(""), turnOpen("a"))
				th.want("T1 turn.started client c1", "T1 turn.completed interrupted", "T2 turn.started client c2")
			},
			"another key settles the open turn": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), opens(key("m"), message("")), turnOpen("b"))
				th.want("T1 turn.started client c1", `T1 item.started e-1 message ""`,
					`T1 item.completed e-1 interrupted message "" partial`, "T1 turn.completed interrupted", "T2 turn.started client c2")
			},
			"another key settles also when none waits": func(th *thread) {
				th.expect("T1:c1")
				th.send(turnOpen("a"), turnOpen("b"))
				th.want("T1 turn.started client c1", "- provider.unhandled turn.open by turn/bound-to-requested", "T1 turn.completed interrupted")
			},
			"a settled key opens anew": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), boundary("a", protocol.Completed), turnOpen("a"))
				th.want("T1 turn.started client c1", "T1 turn.completed completed", "T2 turn.started client c2")
			},
			"a withdrawn id is not used": func(th *thread) {
				th.expect("T1:c1", "T2:c2", "S:")
				th.record(th.Withdraw(at, "T1", "refused"))
				th.record(th.Withdraw(at, "T1", "again"))
				th.record(th.Withdraw(at, "S", "not needed"))
				th.send(turnOpen(""), boundary("", protocol.Completed), turnOpen(""))
				th.want(`T1 turn.completed failed "refused"`, "T2 turn.started client c2", "T2 turn.completed completed",
					"- provider.unhandled turn.open by turn/bound-to-requested")
			},
			"an open turn is not withdrawn": func(th *thread) {
				th.turn()
				th.record(th.Withdraw(at, "T1", "late"))
				th.want()
			},
			"the open turn is known": func(th *thread) {
				if _, _, ok := th.OpenTurn(); ok {
					th.t.Error("open")
				}
				th.expect("T1:c1")
				th.send(turnOpen("a"))
				id, k, ok := th.OpenTurn()
				if id != "T1" || k != "a" || !ok {
					th.t.Error(id, k, ok)
				}
				for s, want := range map[protocol.Scope]string{{}: "T1 true", {Turn: "a"}: "T1 true", {Turn: "b"}: " false", {Thread: true}: " true"} {
					if id, ok := th.TurnID(s); fmt.Sprint(id, " ", ok) != want {
						th.t.Error(s, id, ok)
					}
				}
			},
		},
		"turn/opens-only-explicitly": {
			"nothing else opens a turn": func(th *thread) {
				th.expect("T1:c1")
				th.send(accepted("c1"), opens(key("m"), message("")), text(key("m"), "x"), output(key("c"), "x"), progress(key("m"), "x"),
					closes(key("m"), message("")), &protocol.TurnDiff{}, &protocol.Todo{}, &protocol.Usage{},
					fails(protocol.ErrorUnknown), warning("w"), &protocol.ProviderUnhandled{RawType: "r"})
				for _, l := range th.lines {
					if !strings.HasPrefix(l, "- ") {
						th.t.Error(l)
					}
				}
			},
		},
		"turn/accepted-input-queues": {
			"before its turn.open": func(th *thread) {
				th.expect("T1:c1")
				th.send(accepted("c1"))
				th.want()
				th.send(turnOpen(""))
				th.want("T1 turn.started client c1", "T1 turn.input_accepted c1")
			},
			"after its turn.open": func(th *thread) {
				th.expect("T1:c1")
				th.send(turnOpen(""), accepted("c1"))
				th.want("T1 turn.started client c1", "T1 turn.input_accepted c1")
			},
			"for a later turn": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(accepted("c2"), turnOpen("a"), boundary("a", protocol.Completed), turnOpen("b"))
				th.want("T1 turn.started client c1", "T1 turn.completed completed", "T2 turn.started client c2", "T2 turn.input_accepted c2")
			},
			"a steer's goes into the open turn": func(th *thread) {
				th.turn()
				th.expect(":s1")
				th.send(accepted("s1"))
				th.want("T1 turn.input_accepted s1")
			},
			"a steer's waits for a turn": func(th *thread) {
				th.expect(":s1", "T1:c1")
				th.send(accepted("s1"), accepted("c1"))
				th.want()
				th.send(turnOpen(""))
				th.want("T1 turn.started client c1", "T1 turn.input_accepted c1", "T1 turn.input_accepted s1")
			},
			"merged into another turn": func(th *thread) {
				th.turn()
				th.expect("T2:c2", "T3:c3")
				th.send(accepted("c3"))
				th.want("T1 turn.input_accepted c3", "T3 turn.completed merged into T1")
				th.send(boundary("", protocol.Completed), turnOpen(""), boundary("", protocol.Completed), turnOpen(""))
				th.want("T1 turn.completed completed", "T2 turn.started client c2", "T2 turn.completed completed",
					"- provider.unhandled turn.open by turn/bound-to-requested")
			},
			"an unknown id": func(th *thread) {
				th.send(accepted("x"))
				th.want("- provider.unhandled input.accepted by turn/accepted-input-queues")
			},
			"twice": func(th *thread) {
				th.turn()
				th.send(accepted("c1"))
				th.want("- provider.unhandled input.accepted by turn/accepted-input-queues")
			},
			"twice before its turn": func(th *thread) {
				th.expect("T1:c1")
				th.send(accepted("c1"), accepted("c1"))
				th.want("- provider.unhandled input.accepted by turn/accepted-input-queues")
			},
			"after its turn": func(th *thread) {
				th.expect("T1:c1")
				th.send(turnOpen(""), boundary("", protocol.Completed), accepted("c1"))
				th.want("T1 turn.started client c1", "T1 turn.completed completed", "- provider.unhandled input.accepted by turn/accepted-input-queues")
			},
			"a steer that failed is withdrawn": func(th *thread) {
				th.turn()
				th.expect(":s1")
				th.record(th.WithdrawInput(at, "s1", "no active turn"))
				th.record(th.WithdrawInput(at, "s1", "again"))
				th.send(accepted("s1"))
				th.want(`- turn.input_failed s1 "no active turn"`, "- provider.unhandled input.accepted by turn/accepted-input-queues")
			},
		},
		"turn/zero-work-settles": {
			"boundary with null": func(th *thread) {
				th.expect("T1:c1")
				th.send(accepted("c1"), boundary("", protocol.Completed))
				th.want("T1 turn.started client c1", "T1 turn.input_accepted c1", "T1 turn.completed completed")
			},
			"boundary with a new key": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(accepted("c1"), boundary("a", protocol.Failed), accepted("c2"), boundary("a", protocol.Completed))
				th.want("T1 turn.started client c1", "T1 turn.input_accepted c1", "T1 turn.completed failed")
			},
			"only with an accepted input": func(th *thread) {
				th.expect("T1:c1")
				th.send(boundary("", protocol.Completed), boundary("a", protocol.Completed))
				th.want()
			},
			"the oldest accepted one": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(accepted("c2"), boundary("", protocol.Completed))
				th.want("T2 turn.started client c2", "T2 turn.input_accepted c2", "T2 turn.completed completed")
			},
			"with error and checkpoint": func(th *thread) {
				th.expect("T1:c1")
				th.send(accepted("c1"), &protocol.TurnBoundary{Status: protocol.Failed, Error: &protocol.TurnError{Message: "no"}, CheckpointID: protocol.Ptr("p")})
				th.want("T1 turn.started client c1", "T1 turn.input_accepted c1", `T1 turn.completed failed "no" at p`)
			},
			"the open turn's key settles it": func(th *thread) {
				th.expect("T1:c1")
				th.send(turnOpen("a"), &protocol.TurnBoundary{TurnKey: protocol.Ptr("a"), Status: protocol.Completed, CheckpointID: protocol.Ptr("p")})
				th.want("T1 turn.started client c1", "T1 turn.completed completed at p")
			},
			"null settles the open turn": func(th *thread) {
				th.expect("T1:c1")
				th.send(turnOpen("a"), boundary("", protocol.Interrupted))
				th.want("T1 turn.started client c1", "T1 turn.completed interrupted")
			},
			"another key is dropped": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), boundary("b", protocol.Completed))
				th.want("T1 turn.started client c1")
			},
			"a key is not that of a turn without one": func(th *thread) {
				th.turn()
				th.send(boundary("b", protocol.Completed))
				th.want()
			},
			"a settled key is dropped": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), boundary("a", protocol.Completed), accepted("c2"), boundary("a", protocol.Completed))
				th.want("T1 turn.started client c1", "T1 turn.completed completed")
			},
		},
		"item/opens-before-delta": {
			"text and progress of an unknown key": func(th *thread) {
				th.turn()
				th.send(text(key("m"), "x"), progress(key("m"), "x"))
				th.want()
				th.wantDropped(2)
			},
			"output waits and comes with the open": func(th *thread) {
				th.turn()
				th.send(output(key("c"), "a"), output(key("c"), "b"))
				th.want()
				th.send(opens(key("c"), command("ls")), output(key("c"), "c"))
				th.want(`T1 item.started e-1 ls "ab"`, `T1 item.output e-1 "c"`)
				th.wantDropped(0)
			},
			"output of tools and tasks waits too": func(th *thread) {
				th.turn()
				th.send(output(key("t"), "a"), opens(key("t"), tool("grep")), onThread(output(key("k"), "b")), onThread(opens(key("k"), task("dig"))))
				th.want(`T1 item.started e-1 grep "a"`, `- item.started e-2 dig "b"`)
			},
			"replace replaces what waits": func(th *thread) {
				th.turn()
				th.send(output(key("c"), "a"), replaces(key("c"), "b"), output(key("c"), "c"), opens(key("c"), command("ls")))
				th.want(`T1 item.started e-1 ls "bc"`)
			},
			"output of the open itself wins": func(th *thread) {
				th.turn()
				th.send(output(key("c"), "a"), opens(key("c"), &protocol.Command{Command: "ls", Output: protocol.Ptr("all")}))
				th.want(`T1 item.started e-1 ls "all"`)
			},
			"a kind without output drops what waits": func(th *thread) {
				th.turn()
				th.send(output(key("m"), "a"), opens(key("m"), message("")))
				th.want(`T1 item.started e-1 message ""`)
				th.wantDropped(1)
			},
			"at most 256 KiB wait": func(th *thread) {
				th.turn()
				half := strings.Repeat("x", protocol.UnknownKeyBuffer/2)
				th.send(output(key("a"), half), output(key("b"), half)) // just fits
				th.wantDropped(0)
				th.send(output(key("b"), "y")) // a's goes
				th.wantDropped(1)
				th.send(output(key("b"), half)) // no room even alone
				th.wantDropped(2)
				th.send(opens(key("a"), command("a")), opens(key("b"), command("b")))
				th.want("T1 item.started e-1 a", fmt.Sprintf("T1 item.started e-2 b %q", half+"y"))
			},
			"what waits dies with its turn": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen(""), output(key("c"), "a"), boundary("", protocol.Completed), turnOpen(""), opens(key("c"), command("ls")))
				th.want("T1 turn.started client c1", "T1 turn.completed completed", "T2 turn.started client c2", "T2 item.started e-1 ls")
				th.wantDropped(1)
			},
			"close before open is a whole item": func(th *thread) {
				th.turn()
				th.send(output(key("c"), "a"), closes(key("c"), command("ls")))
				th.want("T1 item.completed e-1 completed ls")
				th.send(opens(key("c"), command("ls")))
				th.want("T1 item.started e-1 ls") // what waited is gone
			},
		},
		"item/close-shape-wins": {
			"kind and payload of the close": func(th *thread) {
				th.turn()
				th.send(opens(key("a"), tool("bash")), closes(key("a"), command("ls")))
				th.want("T1 item.started e-1 bash", "T1 item.completed e-1 completed ls")
			},
			"status of the close": func(th *thread) {
				th.turn()
				th.send(opens(key("a"), tool("bash")), &protocol.ItemClose{Key: key("a"), Status: protocol.Failed, Item: tool("bash"), Presentation: shown("x")})
				th.want("T1 item.started e-1 bash", "T1 item.completed e-1 failed bash")
			},
			"open of an open key is progress": func(th *thread) {
				th.turn()
				th.send(opens(key("a"), tool("bash")), opens(key("m"), message("")), opens(key("a"), command("ls")))
				th.want("T1 item.started e-1 bash", `T1 item.started e-2 message ""`, "T1 item.progress e-1 ls shown Doing")
			},
			"progress may change the kind": func(th *thread) {
				th.turn()
				th.send(opens(key("a"), tool("bash")), &protocol.ItemProgress{Key: key("a"), Item: &protocol.Reasoning{}}, text(key("a"), "x"), output(key("a"), "y"))
				th.want("T1 item.started e-1 bash", `T1 item.progress e-1 reasoning "" ""`, `T1 item.text e-1 "x"`)
				th.wantDropped(1)
			},
			"progress may change each part": func(th *thread) {
				th.turn()
				p := shown("Half")
				th.send(opens(key("a"), tool("bash")), progress(key("a"), "50 %"), &protocol.ItemProgress{Key: key("a"), Presentation: &p}, boundary("", protocol.Completed))
				th.want("T1 item.started e-1 bash", `T1 item.progress e-1 "50 %"`, "T1 item.progress e-1 shown Half",
					"T1 item.completed e-1 interrupted bash partial", "T1 turn.completed completed")
			},
		},
		"item/settles-once": {
			"a second close is dropped": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("")), closes(key("m"), message("a")), closes(key("m"), message("b")))
				th.want(`T1 item.started e-1 message ""`, `T1 item.completed e-1 completed message "a"`)
				th.wantDropped(1)
			},
			"what comes later is dropped and counted": func(th *thread) {
				th.turn()
				th.send(opens(key("c"), command("ls")), closes(key("c"), command("ls")), output(key("c"), "a"), progress(key("c"), "a"), text(key("c"), "a"))
				th.want("T1 item.started e-1 ls", "T1 item.completed e-1 completed ls")
				th.wantDropped(3)
			},
		},
		"item/scope-fixed-at-open": {
			"later deltas take it": func(th *thread) {
				th.turn()
				th.send(onThread(opens(key("k"), task("dig"))), output(key("k"), "a"), opens(key("c"), command("ls")), onThread(output(key("c"), "b")))
				th.want("- item.started e-1 dig", `- item.output e-1 "a"`, "T1 item.started e-2 ls", `T1 item.output e-2 "b"`)
			},
			"a thread's item outlives the turn": func(th *thread) {
				th.turn()
				th.send(onThread(opens(key("k"), task("dig"))), boundary("", protocol.Completed), output(key("k"), "a"), closes(key("k"), task("dug")))
				th.want("- item.started e-1 dig", "T1 turn.completed completed", `- item.output e-1 "a"`, "- item.completed e-1 completed dug")
			},
			"a turn's key dies with it": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen(""), opens(key("m"), message("")), closes(key("m"), message("")), boundary("", protocol.Completed), turnOpen(""), opens(key("m"), message("")))
				th.want("T1 turn.started client c1", `T1 item.started e-1 message ""`, `T1 item.completed e-1 completed message ""`,
					"T1 turn.completed completed", "T2 turn.started client c2", `T2 item.started e-2 message ""`)
			},
			"reopened in its turn": func(th *thread) {
				th.turn()
				th.send(opens(key("c"), command("a")), closes(key("c"), command("a")), opens(key("c"), command("b")), closes(key("c"), command("b")))
				th.want("T1 item.started e-1 a", "T1 item.completed e-1 completed a", "T1 item.started e-1 b", "T1 item.completed e-1 completed b")
			},
			"a thread's key is reopened until reset": func(th *thread) {
				th.turn()
				th.send(onThread(opens(key("c"), command("a"))), closes(key("c"), command("a")), boundary("", protocol.Completed), opens(key("c"), command("b")),
					&protocol.SessionReset{}, onThread(opens(key("c"), command("c"))))
				th.want("- item.started e-1 a", "- item.completed e-1 completed a", "T1 turn.completed completed", "- item.started e-1 b",
					"- item.completed e-1 interrupted b partial", "- item.started e-2 c")
			},
		},
		"message/auto-detach": {
			"each kind that does": func(th *thread) {
				th.turn()
				for _, i := range []protocol.Item{command("c"), tool("t"), &protocol.FileChange{}, task("k"), &protocol.Extension{Name: "a/b"}} {
					th.send(opens(key("m"), message("")))
					th.lines = nil
					th.send(opens(key(string(i.Kind())), i))
					if len(th.lines) != 2 || !strings.Contains(th.lines[0], `completed message "" partial`) {
						th.t.Error(i.Kind(), th.lines)
					}
				}
			},
			"and each that does not": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("")))
				for _, i := range []protocol.Item{message(""), &protocol.Reasoning{}, &protocol.Plan{}, &protocol.Compaction{}} {
					th.lines = nil
					th.send(opens(key("x"+string(i.Kind())), i))
					if len(th.lines) != 1 {
						th.t.Error(i.Kind(), th.lines)
					}
				}
			},
			"only of the same scope and parentRef": func(th *thread) {
				th.turn()
				th.send(opens(key("p"), task("p")), opens(child("m1", "p"), message("1")), onThread(opens(key("m2"), message("2"))), opens(key("m3"), message("3")), opens(key("m4"), message("4")))
				th.lines = nil
				th.send(opens(key("c"), command("ls")))
				th.want(`T1 item.completed e-4 completed message "3" partial`, `T1 item.completed e-5 completed message "4" partial`, "T1 item.started e-6 ls")
			},
			"text goes on under a new id": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("")), text(key("m"), "ab"), opens(key("c"), command("ls")), text(key("m"), "c"), text(key("m"), "d"), closes(key("m"), message("abcd")))
				th.want(`T1 item.started e-1 message ""`, `T1 item.text e-1 "ab"`, `T1 item.completed e-1 completed message "" partial`, "T1 item.started e-2 ls",
					`T1 item.started e-3 message "c"`, `T1 item.text e-3 "d"`, `T1 item.completed e-3 completed message "cd"`)
				th.wantDropped(0)
			},
			"text that looks like the beginning": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("ha")), opens(key("c"), command("ls")), text(key("m"), "haha"), closes(key("m"), message("hahaha")))
				th.want(`T1 item.started e-1 message "ha"`, `T1 item.completed e-1 completed message "ha" partial`, "T1 item.started e-2 ls",
					`T1 item.started e-3 message "haha"`, `T1 item.completed e-3 completed message "haha"`)
			},
			"parts go on": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), opens(key("c"), command("1")), text(key("m"), "b"), opens(key("d"), command("2")), text(key("m"), "c"), closes(key("m"), message("abc")))
				th.want(`T1 item.started e-1 message "a"`, `T1 item.completed e-1 completed message "a" partial`, "T1 item.started e-2 1",
					`T1 item.started e-3 message "b"`, `T1 item.completed e-3 completed message "b" partial`, "T1 item.started e-4 2",
					`T1 item.started e-5 message "c"`, `T1 item.completed e-5 completed message "c"`)
			},
			"close with nothing since": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("")), text(key("m"), "ab "), opens(key("c"), command("ls")), closes(key("m"), message("ab")), text(key("m"), "x"), closes(key("m"), message("ab")))
				th.want(`T1 item.started e-1 message ""`, `T1 item.text e-1 "ab "`, `T1 item.completed e-1 completed message "" partial`, "T1 item.started e-2 ls")
				th.wantDropped(2) // after the close it is settled
			},
			"close with text that never streamed": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), opens(key("c"), command("ls")), closes(key("m"), message("ab")))
				th.want(`T1 item.started e-1 message "a"`, `T1 item.completed e-1 completed message "a" partial`, "T1 item.started e-2 ls", `T1 item.completed e-3 completed message "b"`)
			},
			"close with another text keeps it whole": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), opens(key("c"), command("ls")), text(key("m"), "b"), closes(key("m"), message("xyz")))
				th.want(`T1 item.started e-1 message "a"`, `T1 item.completed e-1 completed message "a" partial`, "T1 item.started e-2 ls",
					`T1 item.started e-3 message "b"`, `T1 item.completed e-3 completed message "xyz"`)
			},
			"opened again": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), opens(key("c"), command("ls")), opens(key("m"), message("ab")), closes(key("m"), message("abc")))
				th.want(`T1 item.started e-1 message "a"`, `T1 item.completed e-1 completed message "a" partial`, "T1 item.started e-2 ls",
					`T1 item.started e-3 message "b"`, `T1 item.completed e-3 completed message "bc"`)
			},
			"a closed key begins anew": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), opens(key("c"), command("ls")), text(key("m"), "b"), closes(key("m"), message("ab")))
				th.lines = nil
				th.send(opens(key("m"), message("ac")), closes(key("m"), message("acd")))
				th.want(`T1 item.started e-3 message "ac"`, `T1 item.completed e-3 completed message "acd"`)
			},
			"progress has what belongs to the part": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), opens(key("c"), command("ls")), progress(key("m"), "late"), text(key("m"), "b"), &protocol.ItemProgress{Key: key("m"), Item: message("abc")})
				th.want(`T1 item.started e-1 message "a"`, `T1 item.completed e-1 completed message "a" partial`, "T1 item.started e-2 ls",
					`T1 item.started e-3 message "b"`, `T1 item.progress e-3 message "bc"`)
				th.wantDropped(1)
			},
			"closing another way": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), opens(key("c"), command("ls")), closes(key("m"), command("m")))
				th.want(`T1 item.started e-1 message "a"`, `T1 item.completed e-1 completed message "a" partial`, "T1 item.started e-2 ls", "T1 item.completed e-3 completed m")
			},
			"reopening detaches too": func(th *thread) {
				th.turn()
				th.send(opens(key("c"), command("1")), closes(key("c"), command("1")), opens(key("m"), message("a")), opens(key("c"), command("2")))
				th.want("T1 item.started e-1 1", "T1 item.completed e-1 completed 1", `T1 item.started e-2 message "a"`,
					`T1 item.completed e-2 completed message "a" partial`, "T1 item.started e-1 2")
			},
			"a detached message is settled": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), opens(key("c"), command("1")), closes(key("c"), command("1")))
				th.lines = nil
				th.send(boundary("", protocol.Completed))
				th.want("T1 turn.completed completed")
			},
		},
		"stateless/one-delta-one-event": {
			"facts": func(th *thread) {
				th.turn()
				th.send(&protocol.TurnDiff{Diff: "d"}, &protocol.ContextWindow{}, &protocol.ContextCleared{}, &protocol.Todo{}, &protocol.ThreadName{Name: "n"},
					&protocol.ExtensionState{Name: "a/b"}, &protocol.RateLimits{}, &protocol.ModelFallback{}, warning("w"),
					&protocol.ProviderError{Category: protocol.ErrorOverloaded}, &protocol.ProviderUnhandled{RawType: "r"})
				th.want("T1 turn.diff d", "- thread.context_window", "- thread.context_cleared", "T1 thread.todo", "- thread.name n",
					"- thread.extension_state", "- provider.rateLimits", "- provider.modelFallback", "T1 provider.warning w",
					"T1 provider.error overloaded", "T1 provider.unhandled r")
			},
			"facts of the thread": func(th *thread) {
				th.send(onThread(warning("w")), onThread(&protocol.ProviderError{Category: protocol.ErrorOverloaded}), onThread(&protocol.ProviderUnhandled{RawType: "r"}))
				th.want("- provider.warning w", "- provider.error overloaded", "- provider.unhandled r")
			},
			"in the order of the rules": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")))
				for i := range assembler.MaxOpenItems - 1 {
					th.send(opens(key(fmt.Sprint("r", i)), &protocol.Reasoning{}))
				}
				th.lines = nil
				th.send(opens(key("n"), message("b"))) // detaches none, the oldest settles
				th.want(`T1 item.started e-1025 message "b"`, `T1 item.completed e-1 interrupted message "a" partial`)
				th.send(opens(key("c"), command("ls"))) // detaches one, which makes room
				th.want(`T1 item.completed e-1025 completed message "b" partial`, "T1 item.started e-1026 ls")
			},
		},
		"usage/accumulate": {
			"null adds": func(th *thread) {
				th.turn()
				th.send(&protocol.Usage{Last: tokens(2)}, &protocol.Usage{Last: tokens(3)})
				th.want("T1 thread.usage 2 of 2", "T1 thread.usage 3 of 5")
			},
			"totals replace": func(th *thread) {
				th.turn()
				th.send(&protocol.Usage{Last: tokens(2)}, &protocol.Usage{Last: tokens(3), Total: protocol.Ptr(tokens(100))}, &protocol.Usage{Last: tokens(1)})
				th.want("T1 thread.usage 2 of 2", "T1 thread.usage 3 of 100", "T1 thread.usage 1 of 101")
			},
			"from the base, across sessions": func(th *thread) {
				th.Assembler = assembler.New(assembler.Options{ThreadID: "th", Entropy: "e", UsageBase: tokens(40)})
				th.send(&protocol.Usage{Last: tokens(2)}, &protocol.SessionReset{}, &protocol.Usage{Last: tokens(3)})
				th.want("- thread.usage 2 of 42", "- thread.usage 3 of 45")
			},
			"without a turn it is the thread's": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(&protocol.Usage{Last: tokens(2)}, turnOpen("a"), boundary("a", protocol.Completed), turnOpen("b"), &protocol.Usage{TurnKey: protocol.Ptr("a"), Last: tokens(3)},
					&protocol.Usage{TurnKey: protocol.Ptr("b"), Last: tokens(1)})
				th.want("- thread.usage 2 of 2", "T1 turn.started client c1", "T1 turn.completed completed", "T2 turn.started client c2", "- thread.usage 3 of 5", "T2 thread.usage 1 of 6")
			},
			"it never turns negative": func(th *thread) {
				const most = 1<<63 - 1
				th.send(&protocol.Usage{Last: tokens(most)}, &protocol.Usage{Last: tokens(1)})
				th.want(fmt.Sprintf("- thread.usage %d of %d", uint64(most), uint64(most)), fmt.Sprintf("- thread.usage 1 of %d", uint64(most)))
			},
		},
		"turnless/unhandled": {
			"each kind": func(th *thread) {
				for _, d := range []protocol.Delta{opens(key("m"), message("")), text(key("m"), "x"), output(key("m"), "x"), progress(key("m"), "x"),
					closes(key("m"), message("")), &protocol.TurnDiff{}, &protocol.Todo{}, fails(protocol.ErrorUnknown), warning("w")} {
					th.send(d)
					th.want(fmt.Sprintf("- provider.unhandled %s by turnless/unhandled", d.Kind()))
				}
				th.send(&protocol.ProviderUnhandled{RawType: "r"})
				th.want("- provider.unhandled r")
			},
			"of a turn that is settled": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), boundary("a", protocol.Completed), turnOpen("b"))
				th.lines = nil
				th.send(in("a", warning("w")), in("a", opens(key("m"), message(""))))
				th.want("- provider.unhandled provider.warning by turnless/unhandled", "- provider.unhandled item.open by turnless/unhandled")
			},
			"not of a known item": func(th *thread) {
				th.send(onThread(opens(key("k"), task("dig"))), output(key("k"), "a"), closes(key("k"), task("dug")))
				th.want("- item.started e-1 dig", `- item.output e-1 "a"`, "- item.completed e-1 completed dug")
			},
			"at most 200 a turn and one count": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				for range assembler.MaxUnhandled + 50 {
					th.send(warning("w"))
				}
				if len(th.lines) != assembler.MaxUnhandled {
					th.t.Fatal(len(th.lines))
				}
				th.lines = nil
				th.send(turnOpen("a"))
				th.want(`- provider.unhandled suppressed by turnless/unhandled {"count":50}`, "T1 turn.started client c1")
				for range assembler.MaxUnhandled + 1 {
					th.send(&protocol.ProviderUnhandled{RawType: "r"})
				}
				if len(th.lines) != assembler.MaxUnhandled {
					th.t.Fatal(len(th.lines))
				}
				th.lines = nil
				th.send(&protocol.SessionEnded{})
				th.want(`- provider.unhandled suppressed by turnless/unhandled {"count":1}`, "T1 turn.completed interrupted",
					`T2 turn.completed failed "the session ended before the turn began"`)
			},
			"a large delta is shortened": func(th *thread) {
				for _, size := range []int{protocol.MaxRaw / 2, protocol.MaxRaw, 1 << 20} {
					for _, fill := range []string{"x", "ä", "\x01"} {
						events := th.Apply(text(key("m"), strings.Repeat(fill, size)), at)
						if raw := events[0].Payload.(*assembler.Unhandled).Raw; len(raw) > protocol.MaxRaw {
							th.t.Error(len(raw))
						}
						th.record(events)
					}
				}
			},
		},
		"settle/error": {
			"fails items and turn once": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), fails(protocol.ErrorRateLimit), boundary("", protocol.Failed), fails(protocol.ErrorRateLimit))
				th.want(`T1 item.started e-1 message "a"`, "T1 provider.error rate_limit", `T1 item.completed e-1 failed message "a" partial`,
					`T1 turn.completed failed "no"`, "- provider.unhandled provider.error by turnless/unhandled")
			},
			"by the turn's key": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), in("a", fails(protocol.ErrorRateLimit)), turnOpen("b"), in("a", fails(protocol.ErrorRateLimit)))
				th.want("T1 turn.started client c1", "T1 provider.error rate_limit", `T1 turn.completed failed "no"`, "T2 turn.started client c2",
					"- provider.unhandled provider.error by turnless/unhandled")
			},
			"not the thread's, nor one that is tried again": func(th *thread) {
				th.turn()
				retry := fails(protocol.ErrorRateLimit)
				retry.WillRetry = true
				th.send(onThread(fails(protocol.ErrorOverloaded)), retry)
				th.want("- provider.error overloaded", "T1 provider.error rate_limit")
			},
			"a failed turn fails its items": func(th *thread) {
				th.turn()
				th.send(opens(key("m"), message("a")), onThread(opens(key("k"), task("dig"))), boundary("", protocol.Failed))
				th.want(`T1 item.started e-1 message "a"`, "- item.started e-2 dig", `T1 item.completed e-1 failed message "a" partial`, "T1 turn.completed failed")
			},
			"another turn interrupts them": func(th *thread) {
				th.turn()
				th.send(opens(key("r"), &protocol.Reasoning{}), opens(key("m"), message("a")), text(key("m"), "b"), boundary("", protocol.Completed))
				th.want(`T1 item.started e-1 reasoning "" ""`, `T1 item.started e-2 message "a"`, `T1 item.text e-2 "b"`,
					`T1 item.completed e-1 interrupted reasoning "" "" partial`, `T1 item.completed e-2 interrupted message "a" partial`, "T1 turn.completed completed")
			},
			"children before parents": func(th *thread) {
				th.turn()
				th.send(opens(key("a"), task("a")), opens(key("x"), task("x")), opens(child("b", "a"), task("b")), opens(child("c", "b"), task("c")), opens(child("d", "a"), task("d")))
				th.lines = nil
				th.send(boundary("", protocol.Completed))
				th.want("T1 item.completed e-4 in e-3 interrupted c partial", "T1 item.completed e-3 in e-1 interrupted b partial", "T1 item.completed e-5 in e-1 interrupted d partial",
					"T1 item.completed e-1 interrupted a partial", "T1 item.completed e-2 interrupted x partial", "T1 turn.completed completed")
			},
		},
		"session/reset-flushes": {
			"reset settles and keeps what waits": func(th *thread) {
				th.turn()
				th.expect("T2:c2", ":s1", "S:")
				th.send(opens(key("m"), message("a")), onThread(opens(key("k"), task("dig"))), &protocol.SessionReset{})
				th.want(`T1 item.started e-1 message "a"`, "- item.started e-2 dig", `T1 item.completed e-1 interrupted message "a" partial`,
					"- item.completed e-2 interrupted dig partial", "T1 turn.completed interrupted")
				th.send(accepted("c2"), accepted("s1"), turnOpen(""))
				th.want("T2 turn.started client c2", "T2 turn.input_accepted c2", "T2 turn.input_accepted s1")
			},
			"reset keeps an input that was accepted": func(th *thread) {
				th.expect("T1:c1")
				th.send(accepted("c1"), &protocol.SessionReset{}, turnOpen(""))
				th.want("T1 turn.started client c1", "T1 turn.input_accepted c1")
			},
			"reset clears keys": func(th *thread) {
				th.expect("T1:c1", "T2:c2")
				th.send(turnOpen("a"), onThread(closes(key("k"), task("dug"))), onThread(output(key("h"), "x")), &protocol.SessionReset{}, accepted("c2"))
				th.lines = nil
				th.send(boundary("a", protocol.Completed)) // a key that this session has not seen
				th.want("T2 turn.started client c2", "T2 turn.input_accepted c2", "T2 turn.completed completed")
				th.send(onThread(closes(key("k"), task("new"))), onThread(opens(key("h"), command("ls"))))
				th.want("- item.completed e-2 completed new", "- item.started e-3 ls")
			},
			"reset clears dedup": func(th *thread) {
				th.send(&protocol.RateLimits{}, &protocol.RateLimits{}, &protocol.SessionReset{}, &protocol.RateLimits{})
				th.want("- provider.rateLimits", "- provider.rateLimits")
			},
			"ended settles and fails what waits": func(th *thread) {
				th.turn()
				th.expect("T2:c2", ":s1", "S:")
				th.send(onThread(opens(key("k"), task("dig"))), &protocol.SessionEnded{})
				th.want("- item.started e-1 dig", "- item.completed e-1 interrupted dig partial", "T1 turn.completed interrupted",
					`T2 turn.completed failed "the session ended before the turn began"`, `- turn.input_failed s1 "the session ended before the turn began"`)
				th.send(turnOpen(""))
				th.want("- provider.unhandled turn.open by turn/bound-to-requested")
			},
			"settle is for a bridge that is gone": func(th *thread) {
				th.turn()
				th.expect("T2:c2", ":s1")
				th.send(opens(key("m"), message("a")))
				th.record(th.Settle(at, "exit 1"))
				th.record(th.Settle(at, "again"))
				th.want(`T1 item.started e-1 message "a"`, `T1 item.completed e-1 interrupted message "a" partial`, `T1 turn.completed interrupted "exit 1"`,
					`T2 turn.completed interrupted "exit 1"`, `- turn.input_failed s1 "exit 1"`)
			},
		},
		"fallback/dedup": {
			"of each type": func(th *thread) {
				th.turn()
				for range 2 {
					th.send(warning("w"), &protocol.RateLimits{}, &protocol.ModelFallback{OriginalModel: "a"})
				}
				th.want("T1 provider.warning w", "- provider.rateLimits", "- provider.modelFallback")
			},
			"only the last": func(th *thread) {
				th.turn()
				th.send(warning("a"), warning("b"), warning("a"))
				th.want("T1 provider.warning a", "T1 provider.warning b", "T1 provider.warning a")
			},
			"of the same scope": func(th *thread) {
				th.turn()
				th.send(warning("a"), onThread(warning("a")))
				th.want("T1 provider.warning a", "- provider.warning a")
			},
			"since turn.started": func(th *thread) {
				th.expect("T1:c1")
				th.send(&protocol.RateLimits{}, turnOpen(""), &protocol.RateLimits{})
				th.want("- provider.rateLimits", "T1 turn.started client c1", "- provider.rateLimits")
			},
			"no other type": func(th *thread) {
				th.turn()
				e := &protocol.ProviderError{Category: protocol.ErrorOverloaded, WillRetry: true}
				th.send(e, e)
				th.want("T1 provider.error overloaded", "T1 provider.error overloaded")
			},
		},
		"parents": {
			"by providerItemId": func(th *thread) {
				th.turn()
				th.send(opens(key("p"), task("p")), opens(child("m", "p"), message("")))
				th.want("T1 item.started e-1 p", `T1 item.started e-2 in e-1 message ""`)
			},
			"the newest of that id": func(th *thread) {
				th.turn()
				th.send(opens(protocol.ItemKey{ProviderItemID: "p", Channel: "x"}, task("1")), opens(protocol.ItemKey{ProviderItemID: "p", Channel: "y"}, task("2")), opens(child("m", "p"), message("")))
				th.want("T1 item.started e-1 1", "T1 item.started e-2 2", `T1 item.started e-3 in e-2 message ""`)
			},
			"an exact key string first": func(th *thread) {
				th.turn()
				x := protocol.ItemKey{ProviderItemID: "p", Channel: "x"}
				th.send(opens(x, task("1")), opens(protocol.ItemKey{ProviderItemID: "p", Channel: "y"}, task("2")), opens(child("m", x.String()), message("")))
				th.want("T1 item.started e-1 1", "T1 item.started e-2 2", `T1 item.started e-3 in e-1 message ""`)
			},
			"of the turn, then of the thread": func(th *thread) {
				th.turn()
				th.send(onThread(opens(protocol.ItemKey{ProviderItemID: "p", Channel: "x"}, task("1"))), opens(child("a", "p"), message("")), opens(key("p"), task("2")), opens(child("b", "p"), message("")))
				th.want("- item.started e-1 1", `T1 item.started e-2 in e-1 message ""`, "T1 item.started e-3 2", `T1 item.started e-4 in e-3 message ""`)
			},
			"also a settled one": func(th *thread) {
				th.turn()
				th.send(closes(key("p"), task("p")), opens(child("m", "p"), message("")))
				th.want("T1 item.completed e-1 completed p", `T1 item.started e-2 in e-1 message ""`)
			},
			"an unknown one is minted in advance": func(th *thread) {
				th.turn()
				th.send(opens(child("a", "p"), message("")), opens(child("b", "p"), message("")), opens(protocol.ItemKey{ProviderItemID: "p", Channel: "x"}, task("p")), opens(protocol.ItemKey{ProviderItemID: "p", Channel: "y"}, task("q")))
				th.want(`T1 item.started e-1 in e-2 message ""`, `T1 item.started e-3 in e-2 message ""`, "T1 item.started e-2 p", "T1 item.started e-4 q")
				th.send(boundary("", protocol.Completed))
				th.want(`T1 item.completed e-1 in e-2 interrupted message "" partial`, `T1 item.completed e-3 in e-2 interrupted message "" partial`,
					"T1 item.completed e-2 interrupted p partial", "T1 item.completed e-4 interrupted q partial", "T1 turn.completed completed")
			},
			"one minted for a turn's child may be the thread's": func(th *thread) {
				th.turn()
				th.send(opens(child("a", "p"), message("")), onThread(opens(key("p"), task("p"))))
				th.want(`T1 item.started e-1 in e-2 message ""`, "- item.started e-2 p")
			},
			"one minted for a child is a request's": func(th *thread) {
				th.turn()
				th.send(opens(child("a", "p"), message("")))
				if id, _ := th.ItemID(protocol.Scope{}, key("p")); id != "e-2" {
					th.t.Error(id)
				}
				th.send(opens(key("p"), task("p")))
				th.want(`T1 item.started e-1 in e-2 message ""`, "T1 item.started e-2 p")
			},
			"none of itself, no circle": func(th *thread) {
				th.turn()
				th.send(opens(child("s", "s"), message("")), opens(child("a", "b"), message("")), opens(child("b", "c"), message("")), opens(child("c", "a"), message("")))
				th.want(`T1 item.started e-1 message ""`, `T1 item.started e-2 in e-3 message ""`, `T1 item.started e-3 in e-4 message ""`, `T1 item.started e-4 message ""`)
			},
		},
		"extension kinds": {
			"checked again become unhandled": func(th *thread) {
				kinds, err := extension.New(protocol.ProviderDeclaration{ExtensionKinds: map[string]protocol.ExtensionKind{
					"a/b": {Item: json.RawMessage(`{"type":"object"}`), State: json.RawMessage(`{"type":"object"}`)}}})
				if err != nil {
					th.t.Fatal(err)
				}
				th.Assembler = assembler.New(assembler.Options{ThreadID: "th", Entropy: "e", Kinds: kinds})
				th.turn()
				good, bad, other := &protocol.Extension{Name: "a/b", Payload: json.RawMessage(`{}`)}, &protocol.Extension{Name: "a/b", Payload: json.RawMessage(`1`)},
					&protocol.Extension{Name: "a/c", Payload: json.RawMessage(`{}`)}
				th.send(opens(key("x"), good), opens(key("y"), bad), opens(key("z"), other), &protocol.ItemProgress{Key: key("x"), Item: bad}, closes(key("x"), other), closes(key("x"), good),
					&protocol.ExtensionState{Name: "a/b", Payload: json.RawMessage(`{}`)}, &protocol.ExtensionState{Name: "a/b", Payload: json.RawMessage(`1`)})
				const unhandled = " by item/extension-kind-declared"
				th.want("T1 item.started e-1 a/b", "- provider.unhandled item.open"+unhandled, "- provider.unhandled item.open"+unhandled, "- provider.unhandled item.progress"+unhandled,
					"- provider.unhandled item.close"+unhandled, "T1 item.completed e-1 completed a/b", "- thread.extension_state", "- provider.unhandled extension.state"+unhandled)
			},
			"are left to the grammar without Kinds": func(th *thread) {
				th.turn()
				th.send(opens(key("x"), &protocol.Extension{Name: "a/b"}))
				th.want("T1 item.started e-1 a/b")
			},
		},
	}
	for _, rule := range assembler.Rules() {
		if len(table[string(rule)]) == 0 {
			t.Errorf("no case proves %s", rule)
		}
	}
	for rule, cases := range table {
		t.Run(rule, func(t *testing.T) {
			for name, run := range cases {
				t.Run(name, func(t *testing.T) { run(newThread(t)) })
			}
		})
	}
}
