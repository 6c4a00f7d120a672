package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/cli/internal/parse"
	"github.com/bb-kernel/bb/cli/internal/talk"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/sdk"
)

// spoken reads what is said to an agent from standard input when a single - stands for it, and takes --no-wait off the
// line: it is not part of the input. follows says that the agent is followed.
func (a *app) spoken(w *word.Word, line *parse.Line) (follows bool, failure *kernelcontract.Error) {
	if !talk.Follows(w.Ref) {
		return false, nil
	}
	follows = true
	if given, ok := line.Flags[talk.NoWait]; ok {
		off, err := strconv.ParseBool(given[len(given)-1])
		if err != nil || len(given) > 1 {
			return false, parse.Usage("--no-wait is given once, and is true or false")
		}
		follows = !off
		delete(line.Flags, talk.NoWait)
	}
	at := 0
	for _, f := range w.Positionals() {
		if f.Variadic {
			break
		}
		at++
	}
	if len(line.Words) != at+1 || line.Words[at] != "-" {
		return follows, nil
	}
	content, err := a.in.content(a.ctx)
	if err != nil {
		return false, parse.Usage("%v", err)
	}
	said := strings.TrimRight(string(content), "\r\n")
	if strings.TrimSpace(said) == "" {
		return false, parse.Usage("standard input is empty: there is nothing to say")
	}
	part, err := json.Marshal(threadapi.TextPart{Type: "text", Text: said, Visibility: threadapi.ForUser}) // whatever it looks like, it is a text
	if err != nil {
		return false, parse.Usage("%v", err)
	}
	line.Words = append(slices.Clone(line.Words[:at]), string(part))
	return follows, nil
}

// write writes text of a conversation as it is: it may end in the middle of a line.
func (a *app) write(s string) { _, _ = io.WriteString(a.out, s) } // the sink keeps its failure

// converse gives an agent an input and follows its thread until the turn has ended.
func (a *app) converse(c *cache.Catalog, cl *call, client *sdk.Client) int {
	var in struct {
		Thread string            `json:"thread"`
		Input  []json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(cl.input, &in); err != nil {
		return a.fail(asFailure("the input", err), true)
	}
	creates := cl.w.Ref == threadapi.Create.Ref
	if creates && len(in.Input) == 0 || !creates && in.Thread == a.o.Env(sdk.EnvThreadID) {
		cl.follows = false // there is no turn, or it cannot end before the one of the agent that asks
		return a.callServer(c, cl)
	}
	target := talk.Target{Thread: in.Thread}
	if !creates {
		before, err := threadapi.Get.Call(cl.ctx, client, threadapi.ThreadInput{Thread: in.Thread})
		if err != nil {
			return a.fail(kernelcontract.AsError(err), true)
		}
		if before.LastSeq > 0 {
			target.Since = strconv.FormatInt(before.LastSeq, 10)
		}
		target.Waiting = before.Pending > 0
	}
	resp, err := client.Do(cl.ctx, sdk.Request{Signature: cl.r.Signature(), Input: cl.input})
	if resp != nil {
		defer a.refresh(c, resp.Answer)
	}
	if err != nil {
		return a.fail(kernelcontract.AsError(err), true)
	}
	if creates {
		var made threadapi.Thread
		if err := json.Unmarshal(resp.Body, &made); err != nil {
			return a.fail(asFailure("the thread", err), true)
		}
		target.Thread = made.ID
		if a.globals.json {
			a.out.print(oneLine(resp.Body))
		} else {
			a.err.print("thread " + flat(made.ID))
		}
	} else {
		var turn threadapi.Turn
		if err := json.Unmarshal(resp.Body, &turn); err != nil {
			return a.fail(asFailure("the turn", err), true)
		}
		if turn.Status.Terminal() { // the input was sent before
			a.ended(resp.Body, turn)
			return exitOf(talk.Outcome{Status: turn.Status})
		}
		target.Turn, target.Request = turn.ID, turn.ClientRequestID
	}
	return a.followTurn(client, target)
}

// ended prints a turn that has ended before.
func (a *app) ended(raw json.RawMessage, turn threadapi.Turn) {
	if a.globals.json {
		a.out.print(oneLine(raw))
		return
	}
	a.out.print(text.Strip(strings.TrimSpace("turn " + turn.ID + " has ended before: " + string(turn.Status) + " " + turn.Error)))
}

// followTurn shows a thread until a turn of it has ended.
func (a *app) followTurn(client *sdk.Client, target talk.Target) int {
	// An interruption stops the turn, which takes its time: only a closed output ends everything at once.
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	defer cancel()
	interrupt := make(chan struct{})
	defer context.AfterFunc(a.ctx, func() {
		if a.unread() {
			cancel()
			return
		}
		close(interrupt)
	})()
	conversation := &talk.Conversation{
		Client: client, Render: a.render(), Text: a.write, Note: func(s string) { a.warnf("%s", s) }, Interrupt: interrupt,
	}
	switch {
	case a.globals.json:
		conversation.Line = func(raw json.RawMessage) { a.out.print(oneLine(raw)) }
	case a.term.Stdin && a.term.Stderr:
		conversation.Terminal = &talk.Terminal{Say: func(s string) { _, _ = io.WriteString(a.err, s) }, ReadLine: a.in.line}
	}
	outcome, err := conversation.Follow(ctx, target)
	switch {
	case a.unread():
		return kernelcontract.ExitOK
	case err == nil:
		return exitOf(outcome)
	case errors.Is(err, talk.ErrEnded):
		a.warnf("%v", err)
		return kernelcontract.ExitFailure
	}
	code := a.fail(kernelcontract.AsError(err), true)
	a.warnf("the agent goes on; bb thread events %s --follow shows it", target.Thread)
	return code
}

// exitOf returns the exit status of a turn that ended.
func exitOf(o talk.Outcome) int {
	switch {
	case o.Status == threadapi.TurnCompleted, o.Status == threadapi.TurnMerged:
		return kernelcontract.ExitOK
	case o.Status == threadapi.TurnInterrupted && o.Stopped:
		return kernelcontract.ExitInterrupted
	}
	return kernelcontract.ExitFailure
}
