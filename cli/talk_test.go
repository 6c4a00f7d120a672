package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// answers says hello and is done.
func answers(a *agent, turn, said string) {
	a.says(turn, "You said ", said+".")
	a.emit("thread.usage", turn, "", `{"last":{"inputTokens":10,"outputTokens":2},"total":{"totalTokens":12}}`)
	a.settles(turn, "completed")
}

const notFound = 3 // the status

const youSaid = "You said hello you.\ntokens: 10 in, 2 out; 12 in all\n"

// TestSendFollowsItsTurn proves that send shows what the agent does until the turn of the input has ended.
func TestSendFollowsItsTurn(t *testing.T) {
	t.Run("completed", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, answers).impls()...).URL)
		is.Equal(s.run("thread send th1 hello you"), result{0, youSaid, ""})
		is.Equal(s.run("thread send th1 hello you"), result{0, youSaid, ""}) // from before the send, and nothing older
	})
	t.Run("failed is 1", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, func(a *agent, turn, _ string) { a.settles(turn, "failed") }).impls()...).URL)
		is.Equal(s.run("thread send th1 hello"), result{1, "The turn failed\n", ""})
	})
	t.Run("interrupted by somebody else is 1", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, func(a *agent, turn, _ string) { a.settles(turn, "interrupted") }).impls()...).URL)
		is.Equal(s.run("thread send th1 hello"), result{1, "The turn was interrupted\n", ""})
	})
	t.Run("merged ends with the turn that took it", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, func(a *agent, turn, _ string) {
			a.emit("turn.completed", turn, "", `{"status":"merged","error":null,"checkpointId":null,"mergedInto":"tn0"}`)
			a.says("tn0", "mer", "ged")
			a.settles("tn0", "completed")
		}).impls()...).URL)
		is.Equal(s.run("thread steer th1 hello"), result{0, "The agent took this into the turn that was open.\nmerged\n", ""})
	})
	t.Run("turns of others are shown and do not end it", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, func(a *agent, turn, said string) {
			a.emit(threadapi.EventInputSent, "tn9", "", `{"clientRequestId":"other","steers":false,"by":"agent:th2","input":["Hi"]}`)
			a.settles("tn9", "failed")
			answers(a, turn, said)
		}).impls()...).URL)
		is.Equal(s.run("thread send th1 hello you"), result{0, "> agent:th2: Hi\nThe turn failed\n" + youSaid, ""})
	})
	t.Run("sent before", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, answers).impls()...).URL)
		is.Equal(s.run("thread send th1 hello --client-request-id again"), result{0, "turn tn0 has ended before: completed\n", ""})
	})
	t.Run("a thread that is deleted", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, func(a *agent, _, _ string) { a.end() }).impls()...).URL)
		r := s.run("thread send th1 hello")
		is.Equal(r.code, 1)
		is.Equal(r.err, "bb: the thread's events ended before the turn did\n")
	})
	t.Run("no such thread", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, answers).impls()...).URL)
		r := s.run("thread send th2 hello")
		is.Equal(r.code, notFound)
		is.Equal(r.err, "not_found: no thread th2\n")
	})
	t.Run("the agent's own thread cannot be waited for", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, func(*agent, string, string) {}).impls()...).URL)
		s.env["BB_THREAD_ID"] = "th1"
		is.Equal(s.run("thread send th1 hello"), result{0, "turn tn1 is stored and waits for its turn\n", ""})
	})
}

// TestNoWait proves that --no-wait prints the turn and returns.
func TestNoWait(t *testing.T) {
	is := is.New(t)
	s := newShell(t, serve(t, newAgent(t, func(*agent, string, string) {}).impls()...).URL)
	is.Equal(s.run("thread send th1 hello --no-wait"), result{0, "turn tn1 is stored and waits for its turn\n", ""})
	r := s.run("thread send --no-wait --json th1 hello")
	var turn threadapi.Turn
	is.NoErr(json.Unmarshal([]byte(r.out), &turn))
	is.Equal(turn.ID, "tn2")
	is.Equal(s.run("thread send th1 hello --no-wait=maybe").code, 2)
	is.True(strings.Contains(s.run("thread send --help").out, "[--no-wait]"))
	is.True(strings.Contains(s.run("thread steer --help").out, "Return at once instead"))
	is.True(strings.Contains(s.run("thread create --help").out, "--no-wait"))
	is.True(!strings.Contains(s.run("thread stop --help").out, "--no-wait"))
	is.Equal(s.exec("__complete", "--", "thread", "send", "--no-w").out, "--no-wait\tReturn at once instead of following the agent until it is done\n")
}

// TestSendJSON proves that --json prints the events as they are, one a line, the end of the turn last.
func TestSendJSON(t *testing.T) {
	is := is.New(t)
	s := newShell(t, serve(t, newAgent(t, answers).impls()...).URL)
	r := s.run("thread send th1 hello --json")
	is.Equal(r.code, 0)
	is.Equal(r.err, "")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	var types []string
	for _, l := range lines {
		var e threadapi.Event
		is.NoErr(json.Unmarshal([]byte(l), &e))
		types = append(types, e.Type)
	}
	is.Equal(strings.Join(types, " "), "input.sent item.started item.text item.text item.completed thread.usage turn.completed")
}

// TestCreate proves that create with an input follows the first turn, and without one prints the thread.
func TestCreate(t *testing.T) {
	s := newShell(t, serve(t, newAgent(t, answers).impls()...).URL)
	t.Run("with an input", func(t *testing.T) {
		is.New(t).Equal(s.run("thread create --provider-id echo --cwd /w hello you"), result{0, youSaid, "thread th1\n"})
	})
	t.Run("json with an input is the thread, then its events", func(t *testing.T) {
		is := is.New(t)
		s := newShell(t, serve(t, newAgent(t, answers).impls()...).URL)
		lines := strings.Split(strings.TrimSpace(s.run("thread create --provider-id echo --json hello").out), "\n")
		is.Equal(len(lines), 8)
		var thread threadapi.Thread
		is.NoErr(json.Unmarshal([]byte(lines[0]), &thread))
		is.Equal(thread.ID, "th1")
	})
	t.Run("json without an input is one object", func(t *testing.T) {
		is := is.New(t)
		r := s.run("thread create --provider-id echo --cwd /w --json")
		var thread threadapi.Thread
		is.NoErr(json.Unmarshal([]byte(r.out), &thread))
		is.Equal(thread.ID, "th1")
		is.Equal(r.err, "")
	})
	t.Run("text without an input shows the id", func(t *testing.T) {
		is := is.New(t)
		is.True(strings.HasPrefix(s.run("thread create --provider-id echo").out, "id: th1\n"))
	})
}

// TestStandardInput proves that a single - is what stands on standard input, whatever that looks like.
func TestStandardInput(t *testing.T) {
	f := serve(t, newAgent(t, answers).impls()...)
	for _, tc := range []struct{ stdin, line, want string }{
		{"line 1\nline 2\n", "thread send th1 -", "You said line 1\nline 2.\n"},
		{`{"type":"image"}`, "thread send th1 -", "You said {\"type\":\"image\"}.\n"},
		{"hi", "thread create --provider-id echo -", "You said hi.\n"},
		{"unread", "thread send th1 @bob - you", "You said @bob - you.\n"},
	} {
		t.Run(tc.line, func(t *testing.T) {
			is := is.New(t)
			s := newShell(t, f.URL)
			s.stdin = tc.stdin
			r := s.run(tc.line)
			is.Equal(r.code, 0)
			is.True(strings.HasPrefix(r.out, tc.want) || strings.Contains(tc.line, "create"))
		})
	}
	is := is.New(t)
	s := newShell(t, f.URL)
	s.stdin = "\n"
	is.Equal(s.run("thread send th1 -").code, 2)
}

// TestSendResumes proves that a break of the stream leaves no gap and repeats nothing.
func TestSendResumes(t *testing.T) {
	for at := int64(1); at <= 7; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			is := is.New(t)
			a := newAgent(t, answers)
			a.cutAt = at
			s := newShell(t, serve(t, a.impls()...).URL)
			r := s.run("thread send th1 hello you")
			is.Equal(r.code, 0)
			is.Equal(r.out, youSaid)
		})
	}
}

// TestSendInterrupted proves that the first Ctrl-C stops the turn and shows how it ends.
func TestSendInterrupted(t *testing.T) {
	is := is.New(t)
	a := newAgent(t, func(a *agent, turn, _ string) {
		a.emit("item.started", turn, "c", `{"item":{"kind":"command","command":"sleep 9"},"presentation":{"label":"x","icon":"x"}}`)
		a.stopped()
		a.emit("item.completed", turn, "c", `{"status":"interrupted","item":{"kind":"command","command":"sleep 9"},"presentation":{"label":"x","icon":"x"}}`)
		a.settles(turn, "interrupted")
	})
	s := newShell(t, serve(t, a.impls()...).URL)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, errs := newScreen(), newScreen()
	done := make(chan int)
	go func() {
		done <- cli.Main(ctx, []string{"thread", "send", "th1", "hello"}, s.options(out, errs))
	}()
	out.await(t, "$ sleep 9", 1)
	cancel()
	is.Equal(<-done, 130)
	is.Equal(out.String(), "$ sleep 9\n  interrupted\nThe turn was interrupted\n")
	is.Equal(errs.String(), "bb: stopping the turn; Ctrl-C again leaves at once\n")
}

// TestSendClosedPipe proves that nobody stops the agent because nobody reads the output any more.
func TestSendClosedPipe(t *testing.T) {
	is := is.New(t)
	a := newAgent(t, func(a *agent, turn, _ string) { a.says(turn, "one\n", "two") }) // and never ends
	s := newShell(t, serve(t, a.impls()...).URL)
	r, w, err := os.Pipe()
	is.NoErr(err)
	errs := newScreen()
	done := make(chan int)
	go func() {
		done <- cli.Main(context.Background(), []string{"thread", "send", "th1", "hello"}, s.options(w, errs))
	}()
	line := make([]byte, 4)
	_, err = io.ReadFull(r, line)
	is.NoErr(err)
	is.Equal(string(line), "one\n")
	is.NoErr(r.Close())
	a.says("tn1", "three", "four") // where a closed pipe only shows at the next write
	is.Equal(<-done, 0)
	is.NoErr(w.Close())
	is.Equal(errs.String(), "")
	is.Equal(len(a.stops), 0)
}

// person is somebody at a terminal.
type person struct {
	t    *testing.T
	keys *io.PipeWriter
	out  *screen // of both outputs, as a terminal shows them
	done chan int
}

// talk begins a conversation on a terminal.
func talk(t *testing.T, a *agent, args ...string) *person {
	t.Helper()
	s := newShell(t, serve(t, a.impls()...).URL)
	s.env["TERM"] = "dumb"
	s.term = cli.Terminal{Stdin: true, Stdout: true, Stderr: true, Width: 80}
	r, w := io.Pipe()
	p := &person{t: t, keys: w, out: newScreen(), done: make(chan int, 1)}
	o := s.options(p.out, p.out)
	o.Stdin = r
	ctx, cancel := context.WithCancel(context.Background())
	go func() { p.done <- cli.Main(ctx, append([]string{"thread", "send", "th1"}, args...), o) }()
	t.Cleanup(func() { cancel(); _ = w.Close() })
	return p
}

// types types a line when the prompt stands there for the nth time.
func (p *person) types(prompt string, nth int, keys string) {
	p.t.Helper()
	p.out.await(p.t, prompt, nth)
	if _, err := io.WriteString(p.keys, keys+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end.
func (p *person) exits(code int) {
	p.t.Helper()
	select {
	case got := <-p.done:
		if got != code {
			p.t.Errorf("the status is %d instead of %d: %s", got, code, p.out)
		}
	case <-time.After(20 * time.Second):
		p.t.Fatalf("no end: %s", p.out)
	}
}

const (
	mayItRun = `{"kind":"approval","subject":{"kind":"command","command":"rm x","cwd":"/w","actions":[],"sessionGrant":null},"reason":null,"decisions":["allow_once","allow_for_session","deny"]}`
	prompt   = "Allow? [y] once, [a] for the session, [n] no, [q] stop the turn: "
)

// TestApprovals proves that a person at a terminal is asked, and how each key answers.
func TestApprovals(t *testing.T) {
	for _, tc := range []struct{ keys, decision string }{{"y", "allow_once"}, {"YES", "allow_once"}, {"a", "allow_for_session"}, {"n", "deny"}} {
		t.Run(tc.keys, func(t *testing.T) {
			is := is.New(t)
			got := make(chan threadapi.ResolveInput, 1)
			p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
				got <- a.asks(turn, "in_1", mayItRun)
				a.settles(turn, "completed")
			}), "hello")
			p.types(prompt, 1, tc.keys)
			p.exits(0)
			in := <-got
			is.Equal(in.ID, "in_1")
			is.Equal(string(in.Decision), tc.decision)
			is.True(strings.HasPrefix(p.out.String(), "? May it run: rm x?\n  in /w\n"+prompt))
		})
	}
	t.Run("q stops the turn", func(t *testing.T) {
		is := is.New(t)
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":`+mayItRun+`}`)
			a.stopped()
			a.settles(turn, "interrupted")
		}), "hello")
		p.types(prompt, 1, "q")
		p.exits(130)
		is.True(strings.Contains(p.out.String(), "stopping the turn"))
	})
	t.Run("any other key asks again", func(t *testing.T) {
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			a.asks(turn, "in_1", mayItRun)
			a.settles(turn, "completed")
		}), "hello")
		p.types(prompt, 1, "maybe")
		p.types(prompt, 2, "y")
		p.exits(0)
	})
	t.Run("what the agent does not offer is not offered", func(t *testing.T) {
		is := is.New(t)
		got := make(chan threadapi.ResolveInput, 1)
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			got <- a.asks(turn, "in_1", strings.Replace(mayItRun, `"allow_for_session",`, "", 1))
			a.settles(turn, "completed")
		}), "hello")
		const short = "Allow? [y] once, [n] no, [q] stop the turn: "
		p.types(short, 1, "a")
		p.types(short, 2, "n")
		p.exits(0)
		is.Equal((<-got).Decision, threadapi.DenyIt)
	})
	t.Run("text in between asks again", func(t *testing.T) {
		more := make(chan struct{})
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":`+mayItRun+`}`)
			<-more
			a.says(turn, "While ", "you think")
			<-a.answers
			a.settles(turn, "completed")
		}), "hello")
		p.out.await(t, prompt, 1)
		close(more)
		p.out.await(t, prompt+"\nWhile you think\n"+prompt, 1)
		p.types(prompt, 2, "y")
		p.exits(0)
	})
	t.Run("somebody else answers first", func(t *testing.T) {
		other := make(chan struct{})
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":`+mayItRun+`}`)
			<-other
			a.emit(threadapi.EventInteractionResolved, turn, "", `{"interactionId":"in_1","resolution":{"kind":"approval","decision":"deny"},"by":"user:ann"}`)
			a.says(turn, "Fi", "ne")
			a.settles(turn, "completed")
		}), "hello")
		p.out.await(t, prompt, 1)
		close(other)
		p.exits(0)
		p.out.await(t, prompt+"\n  denied by user:ann\nFine\n", 1)
	})
	t.Run("a line for a prompt that is gone is dropped", func(t *testing.T) {
		is := is.New(t)
		other, typed := make(chan struct{}), make(chan struct{})
		got := make(chan threadapi.ResolveInput, 1)
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":`+mayItRun+`}`)
			<-other
			a.emit(threadapi.EventInteractionResolved, turn, "", `{"interactionId":"in_1","resolution":{"kind":"approval","decision":"deny"},"by":"user:ann"}`)
			<-typed
			got <- a.asks(turn, "in_2", mayItRun)
			a.settles(turn, "completed")
		}), "hello")
		p.out.await(t, prompt, 1)
		close(other)
		p.types("denied by user:ann", 1, "y")
		close(typed)
		p.types(prompt, 2, "n")
		p.exits(0)
		in := <-got
		is.Equal(in.ID, "in_2")
		is.Equal(in.Decision, threadapi.DenyIt)
	})
	t.Run("somebody else was faster", func(t *testing.T) {
		a := newAgent(t, func(a *agent, turn, _ string) {
			a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":`+mayItRun+`}`)
			a.stopped()
			a.settles(turn, "completed")
		})
		a.busy["in_1"] = threadapi.AlreadyResolved.Errorf("too late")
		p := talk(t, a, "hello")
		p.types(prompt, 1, "y")
		p.out.await(t, "bb: somebody else answered first\n", 1)
		a.stops <- threadapi.StopInput{}
		p.exits(0)
	})
	t.Run("what a rule answers is not asked", func(t *testing.T) {
		is := is.New(t)
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":`+mayItRun+`}`)
			a.emit(threadapi.EventInteractionResolved, turn, "", `{"interactionId":"in_1","resolution":{"kind":"approval","decision":"allow_once"},"by":"system:auto-allow"}`)
			a.says(turn, "do", "ne")
			a.settles(turn, "completed")
		}), "hello")
		p.exits(0)
		is.Equal(p.out.String(), "done\n")
	})
	t.Run("the input ends", func(t *testing.T) {
		a := newAgent(t, func(a *agent, turn, _ string) {
			a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":`+mayItRun+`}`)
			a.stopped()
			a.settles(turn, "completed")
		})
		p := talk(t, a, "hello")
		p.out.await(t, prompt, 1)
		if err := p.keys.Close(); err != nil {
			t.Fatal(err)
		}
		p.out.await(t, "answer with: bb interaction resolve in_1 allow_once|allow_for_session|deny", 1)
		a.stops <- threadapi.StopInput{}
		p.exits(0)
	})
	t.Run("what the thread waited for before is asked too", func(t *testing.T) {
		is := is.New(t)
		got := make(chan threadapi.ResolveInput, 1)
		a := newAgent(t, func(a *agent, turn, _ string) {
			got <- <-a.answers
			a.settles(turn, "completed")
		})
		a.open = []threadapi.Interaction{{ID: "in_0", ThreadID: "th1", Kind: "approval", Status: threadapi.Pending, Request: json.RawMessage(mayItRun)}}
		p := talk(t, a, "hello")
		p.types("? May it run: rm x?\n  in /w\n"+prompt, 1, "y")
		p.exits(0)
		is.Equal((<-got).ID, "in_0")
	})
}

// TestQuestions proves how questions are asked and answered.
func TestQuestions(t *testing.T) {
	question := func(fields string) string {
		return `{"kind":"question","questions":[{"id":"c","prompt":"Which?","shortLabel":null,"options":[{"value":"red","label":"Red","description":null},{"value":"blue","label":"Blue","description":null}],` + fields + `}]}`
	}
	for _, tc := range []struct{ name, request, prompt, keys, want string }{
		{"one option", question(`"multiSelect":false,"allowFreeText":false`), "Your answer [1-2]: ", "2", `{"c":{"selected":["blue"]}}`},
		{"several options", question(`"multiSelect":true,"allowFreeText":false`), "Your answer [1-2, several with commas]: ", "2, 1,2", `{"c":{"selected":["blue","red"]}}`},
		{"an option or words", question(`"multiSelect":false,"allowFreeText":true`), "Your answer [1-2] or your own words: ", "Green please", `{"c":{"freeText":"Green please"}}`},
		{"words", `{"kind":"question","questions":[{"id":"w","prompt":"Why?","options":[],"multiSelect":false,"allowFreeText":true}]}`, "Your answer: ", "because", `{"w":{"freeText":"because"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			is := is.New(t)
			got := make(chan threadapi.ResolveInput, 1)
			p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
				got <- a.asks(turn, "in_1", tc.request)
				a.settles(turn, "completed")
			}), "hello")
			p.types(tc.prompt, 1, tc.keys)
			p.exits(0)
			raw, err := json.Marshal((<-got).Answers)
			is.NoErr(err)
			is.Equal(string(raw), tc.want)
		})
	}
	t.Run("what is no answer is asked again", func(t *testing.T) {
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			a.asks(turn, "in_1", question(`"multiSelect":false,"allowFreeText":false`))
			a.settles(turn, "completed")
		}), "hello")
		p.types("Your answer [1-2]: ", 1, "3")
		p.out.await(t, `"3" is not a number from 1 to 2`, 1)
		p.types("Your answer [1-2]: ", 2, "")
		p.types("Your answer [1-2]: ", 3, "1")
		p.exits(0)
	})
	t.Run("several questions come one after the other", func(t *testing.T) {
		is := is.New(t)
		got := make(chan threadapi.ResolveInput, 1)
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			got <- a.asks(turn, "in_1", `{"kind":"question","questions":[{"id":"a","prompt":"First?","options":[],"allowFreeText":true},{"id":"b","prompt":"Second?","options":[],"allowFreeText":true}]}`)
			a.settles(turn, "completed")
		}), "hello")
		p.types("First? ", 1, "one")
		p.types("Second? ", 1, "two")
		p.exits(0)
		raw, err := json.Marshal((<-got).Answers)
		is.NoErr(err)
		is.Equal(string(raw), `{"a":{"freeText":"one"},"b":{"freeText":"two"}}`)
	})
	t.Run("a kind of a plugin says how to answer", func(t *testing.T) {
		p := talk(t, newAgent(t, func(a *agent, turn, _ string) {
			a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":{"kind":"demo/pick","title":"Pick","data":{}}}`)
			a.settles(turn, "completed")
		}), "hello")
		p.exits(0)
		p.out.await(t, "? Pick\n  answer: bb interaction resolve in_1 --data '{…}'\n", 1)
	})
}

// TestNoTerminal proves that without a terminal it is said how to answer, and nothing is read.
func TestNoTerminal(t *testing.T) {
	is := is.New(t)
	s := newShell(t, serve(t, newAgent(t, func(a *agent, turn, _ string) {
		a.emit(threadapi.EventInteractionOpened, turn, "", `{"interactionId":"in_1","request":`+mayItRun+`}`)
		a.settles(turn, "completed")
	}).impls()...).URL)
	is.Equal(s.run("thread send th1 hello"), result{0, "? May it run: rm x?\n  in /w\n  answer: bb interaction resolve in_1 allow_once|allow_for_session|deny\n", ""})
}

// TestEventsFlow proves that the plain stream reads like a conversation, and that --json gives the events.
func TestEventsFlow(t *testing.T) {
	is := is.New(t)
	s := newShell(t, serve(t, newAgent(t, answers).impls()...).URL)
	s.run("thread send th1 hello you")
	is.Equal(s.run("thread events th1"), result{0, "> hello you\n" + youSaid, ""})
	is.Equal(strings.Count(s.run("thread events th1 --json").out, "\n"), 7)
	is.Equal(s.run("thread events th2").code, notFound)
}

// TestCompletionOfIDs proves that ids are completed with what they name, and that a server that does not answer is no matter.
func TestCompletionOfIDs(t *testing.T) {
	a := newAgent(t, answers)
	a.open = []threadapi.Interaction{{ID: "in_1", ThreadID: "th1", Kind: "approval", Status: threadapi.Pending, Request: json.RawMessage(mayItRun)}}
	f := serve(t, a.impls()...)
	s := newShell(t, f.URL)
	for _, tc := range []struct{ line, want string }{
		{"thread send ", "th1\tFix it (idle)\n"},
		{"thread send th", "th1\tFix it (idle)\n"},
		{"thread send x", ""},
		{"thread send th1 ", ""},
		{"thread timeline ", "th1\tFix it (idle)\n"},
		{"thread create --provider-id ", "echo\tEcho\n"},
		{"thread create --provider-id=", "--provider-id=echo\tEcho\n"},
		{"provider models ", "echo\tEcho\n"},
		{"interaction resolve ", "in_1\tapproval of thread th1\n"},
		{"interaction resolve in_1 ", "allow_once\t\nallow_for_session\t\ndeny\t\n"},
		{"interaction list --thread ", "th1\tFix it (idle)\n"},
	} {
		t.Run(tc.line, func(t *testing.T) {
			is.New(t).Equal(s.exec(append([]string{"__complete", "--"}, strings.Split(tc.line, " ")...)...), result{0, tc.want, ""})
		})
	}
	t.Run("a slow server", func(t *testing.T) {
		a.hidden = true
		is.New(t).Equal(s.exec("__complete", "--", "thread", "send", ""), result{0, "", ""})
	})
	t.Run("no server", func(t *testing.T) {
		f.Close()
		is.New(t).Equal(s.exec("__complete", "--", "thread", "send", ""), result{0, "", ""})
	})
}
