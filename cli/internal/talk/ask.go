package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// asking is an interaction while a person is asked for it.
type asking struct {
	threadapi.Interaction
	request  threadapi.Request
	question int                         // which of several
	answers  map[string]threadapi.Answer // to those before
	shown    bool                        // the prompt stands on the screen
}

// line is what a person typed.
type line struct {
	text string
	err  error
}

// pending takes up what the thread waits for already.
func (r *run) pending() {
	ctx, cancel := context.WithTimeout(r.ctx, answerWait)
	defer cancel()
	all, err := threadapi.ListInteractions.Call(ctx, r.c.Client, threadapi.ListInteractionsInput{Thread: r.target.Thread, Status: threadapi.Pending, Limit: 50})
	if err != nil {
		r.note("what the agent asks cannot be read: " + kernelcontract.AsError(err).Message)
		return
	}
	slices.Reverse(all) // the oldest first
	for _, i := range all {
		payload, err := json.Marshal(threadapi.InteractionOpened{InteractionID: i.ID, Request: i.Request})
		if err == nil && r.met(i) {
			r.text(r.printer.Event(threadapi.Event{ThreadID: i.ThreadID, Type: threadapi.EventInteractionOpened, ItemID: i.ItemID, Payload: payload}))
		}
	}
}

// met takes up an interaction; false: it is known.
func (r *run) met(i threadapi.Interaction) bool {
	if r.seen[i.ID] {
		return false
	}
	r.seen[i.ID] = true
	q := i.Asks()
	known := q.Kind == threadapi.KindApproval || q.Kind == threadapi.KindQuestion && len(q.Questions) > 0
	if known && r.c.Terminal != nil && !r.stop {
		r.open = append(r.open, i)
	}
	return true
}

// gone forgets an interaction that nobody need answer any more.
func (r *run) gone(id string) {
	r.open = slices.DeleteFunc(r.open, func(i threadapi.Interaction) bool { return i.ID == id })
	if r.asking != nil && r.asking.ID == id {
		r.leave()
		r.asking = nil
	}
}

// leave ends the line of the prompt that stands on the screen.
func (r *run) leave() {
	if r.asking != nil && r.asking.shown {
		r.asking.shown = false
		r.c.Terminal.Say("\n")
	}
}

// ask shows the prompt of the interaction that waits longest.
func (r *run) ask() {
	if r.asking == nil {
		if len(r.open) == 0 {
			return
		}
		r.asking = &asking{Interaction: r.open[0], request: r.open[0].Asks(), answers: map[string]threadapi.Answer{}}
	}
	if r.asking.shown {
		return
	}
	r.text(r.printer.Close())
	r.c.Terminal.Say(text.Strip(r.asking.prompt()))
	r.asking.shown = true
	if !r.reading {
		r.reading = true
		r.wait.Go(func() {
			s, err := r.c.Terminal.ReadLine(r.ctx)
			select {
			case r.lines <- line{s, err}:
			case <-r.ctx.Done():
			}
		})
	}
}

// prompt is what a person is asked.
func (a *asking) prompt() string {
	if a.request.Kind == threadapi.KindApproval {
		var keys []string
		for _, k := range []struct {
			decision threadapi.Decision
			text     string
		}{{threadapi.AllowOnce, "[y] once"}, {threadapi.AllowForSession, "[a] for the session"}, {threadapi.DenyIt, "[n] no"}} {
			if a.request.Offers(k.decision) {
				keys = append(keys, k.text)
			}
		}
		return "Allow? " + strings.Join(append(keys, "[q] stop the turn"), ", ") + ": "
	}
	q := a.request.Questions[a.question]
	s := q.Prompt
	if len(a.request.Questions) == 1 {
		s = "Your answer"
	}
	switch n := len(q.Options); {
	case n == 0:
	case q.MultiSelect:
		s += fmt.Sprintf(" [1-%d, several with commas]", n)
	default:
		s += fmt.Sprintf(" [1-%d]", n)
	}
	if len(q.Options) > 0 && q.AllowFreeText {
		s += " or your own words"
	}
	if strings.HasSuffix(s, "?") {
		return s + " "
	}
	return s + ": "
}

// answer takes a line. One that was typed for a prompt that is gone is of no use.
func (r *run) answer(l line) {
	a := r.asking
	if a == nil {
		return
	}
	a.shown = false
	if l.err != nil {
		r.deaf(l.err)
		return
	}
	typed := strings.TrimSpace(l.text)
	if a.request.Kind == threadapi.KindApproval {
		r.decide(strings.ToLower(typed))
		return
	}
	q := a.request.Questions[a.question]
	given, problem := choose(q, typed)
	if problem != "" {
		r.c.Note(problem)
		return
	}
	a.answers[q.ID] = given
	if a.question++; a.question < len(a.request.Questions) {
		return
	}
	r.resolve(threadapi.ResolveInput{ID: a.ID, Answers: a.answers})
}

// deaf goes on without a person who answers: the input has ended.
func (r *run) deaf(err error) {
	if r.ctx.Err() != nil {
		return
	}
	open := r.open
	r.asking, r.open = nil, nil
	r.c.Terminal.Say("\n")
	r.c.Note("no answer can be read (" + err.Error() + ")")
	for _, i := range open {
		r.c.Note("answer with: " + i.HowToAnswer())
	}
	r.c.Terminal, r.printer.Prompts = nil, false
}

// decide answers an approval.
func (r *run) decide(typed string) {
	var d threadapi.Decision
	switch typed {
	case "y", "yes":
		d = threadapi.AllowOnce
	case "a":
		d = threadapi.AllowForSession
	case "n", "no":
		d = threadapi.DenyIt
	case "q":
		r.halt("stopping the turn")
		return
	}
	if d == "" || !r.asking.request.Offers(d) {
		return // asked again
	}
	r.resolve(threadapi.ResolveInput{ID: r.asking.ID, Decision: d})
}

// choose reads the answer to a question; problem says what is wrong with it.
func choose(q threadapi.Question, typed string) (a threadapi.Answer, problem string) {
	if typed == "" {
		return a, "an answer is needed; Ctrl-C stops the turn"
	}
	texts := []string{typed}
	if q.MultiSelect {
		texts = strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == ' ' })
	}
	for _, t := range texts {
		n, err := strconv.Atoi(t)
		if err != nil || n < 1 || n > len(q.Options) {
			a.Selected = nil
			break
		}
		if v := q.Options[n-1].Value; !slices.Contains(a.Selected, v) {
			a.Selected = append(a.Selected, v)
		}
	}
	switch {
	case a.Selected != nil:
		return a, ""
	case q.AllowFreeText || len(q.Options) == 0:
		return threadapi.Answer{FreeText: &typed}, ""
	}
	return a, fmt.Sprintf("%q is not a number from 1 to %d", text.Strip(typed), len(q.Options))
}

// resolve passes an answer on.
func (r *run) resolve(in threadapi.ResolveInput) {
	ctx, cancel := context.WithTimeout(r.ctx, answerWait)
	defer cancel()
	_, err := threadapi.Resolve.Call(ctx, r.c.Client, in)
	switch {
	case err == nil:
	case errors.Is(err, threadapi.AlreadyResolved):
		r.c.Note("somebody else answered first")
	case errors.Is(err, kernelcontract.InvalidInput):
		r.c.Note(kernelcontract.AsError(err).Message)
		r.asking = nil // asked again from the first question
		return
	default:
		r.c.Note("the answer did not arrive: " + kernelcontract.AsError(err).Message)
		r.c.Note("answer with: " + r.asking.HowToAnswer())
	}
	r.gone(in.ID)
}
