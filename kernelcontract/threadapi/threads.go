package threadapi

import (
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// CreateInput is the input of Create.
type CreateInput struct {
	ProviderID     string     `json:"providerId" minLength:"1" maxLength:"64" description:"The provider that runs the agent; \"bb provider list\" shows them"`
	Cwd            string     `json:"cwd" minLength:"1" maxLength:"4096" description:"The directory that the agent works in"`
	ProjectID      string     `json:"projectId,omitempty" maxLength:"256" description:"The project that the thread belongs to"`
	Title          string     `json:"title,omitempty" maxLength:"200" description:"What to call the thread; without it the first input gives the title"`
	Model          string     `json:"model,omitempty" maxLength:"256" description:"The model; \"bb provider models\" shows them"`
	ReasoningLevel string     `json:"reasoningLevel,omitempty" maxLength:"64" description:"How hard the model thinks"`
	ServiceTier    string     `json:"serviceTier,omitempty" maxLength:"64" description:"The provider's service tier"`
	Permission     Mode       `json:"permission,omitempty" default:"accept-edits" description:"What the agent may do without asking"`
	Escalation     Escalation `json:"escalation,omitempty" default:"ask" description:"What happens to anything else"`
	Instructions   string     `json:"instructions,omitempty" maxLength:"65536" description:"Added to the agent's own instructions"`
	Input          []Part     `json:"input,omitempty" maxItems:"256" description:"The first input, sent at once"`
}

// SendInput is the input of Send.
type SendInput struct {
	Thread          string     `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
	Input           []Part     `json:"input,omitempty" maxItems:"256" description:"What to say; plain words become one text. Only an action needs none"`
	ClientRequestID string     `json:"clientRequestId,omitempty" minLength:"1" maxLength:"64" description:"Names the input, so that sending it again does nothing"`
	Model           string     `json:"model,omitempty" maxLength:"256" description:"From now on this model"`
	ReasoningLevel  string     `json:"reasoningLevel,omitempty" maxLength:"64" description:"From now on this reasoning level"`
	Permission      Mode       `json:"permission,omitempty" description:"From now on this permission"`
	Escalation      Escalation `json:"escalation,omitempty" description:"From now on this escalation"`
	Actions         []Action   `json:"actions,omitempty" maxItems:"3" uniqueItems:"true" description:"What the agent shall do with the input"`
}

// Action is something that an agent does in a turn instead of answering.
type Action string

// The values of Action.
const (
	Compact Action = "compact" // make room in its context
	Plan    Action = "plan"    // plan instead of acting
	Goal    Action = "goal"    // take the input as its goal
)

// Enum lists the actions.
func (Action) Enum() []any { return []any{Compact, Plan, Goal} }

// ThreadInput names a thread.
type ThreadInput struct {
	Thread string `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
}

// ForkInput is the input of Fork.
type ForkInput struct {
	Thread       string `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
	CheckpointID string `json:"checkpointId,omitempty" maxLength:"1024" description:"Where to branch off; without it at the end"`
	Title        string `json:"title,omitempty" maxLength:"200" description:"What to call the new thread"`
}

// Intent is why a thread is stopped.
type Intent string

// The values of Intent.
const (
	Interrupt Intent = "interrupt" // end the turn and what is queued; the session stays
	Release   Intent = "release"   // let go of an idle session
)

// Enum lists the intents.
func (Intent) Enum() []any { return []any{Interrupt, Release} }

// StopInput is the input of Stop.
type StopInput struct {
	Thread string `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
	Intent Intent `json:"intent,omitempty" default:"interrupt" description:"End the turn, or let go of an idle session"`
}

// WaitInput is the input of Wait.
type WaitInput struct {
	Thread string `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
	Turn   string `json:"turn,omitempty" maxLength:"64" description:"Wait for this turn; without it until the thread is idle"`
}

// WaitOutput is how a thread stands when the wait is over.
type WaitOutput struct {
	Thread Thread `json:"thread"`
	Turn   *Turn  `json:"turn"` // the turn that was waited for, else the last one
}

// ListInput says which threads to list.
type ListInput struct {
	ProviderID string `json:"providerId,omitempty" maxLength:"64" description:"Only threads of this provider"`
	ProjectID  string `json:"projectId,omitempty" maxLength:"256" description:"Only threads of this project"`
	Status     Status `json:"status,omitempty" description:"Only threads with this status"`
	Archived   bool   `json:"archived,omitempty" description:"Archived threads instead of the others"`
	Limit      int    `json:"limit,omitempty" default:"50" minimum:"1" maximum:"500" description:"At most so many threads"`
	Before     string `json:"before,omitempty" maxLength:"64" description:"Only threads that are older than this one"`
}

// RenameInput is the input of Rename.
type RenameInput struct {
	Thread string `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
	Title  string `json:"title" minLength:"1" maxLength:"200" pattern:"\\S" description:"The new title"`
}

// GoalInput is the input of GoalSet.
type GoalInput struct {
	Thread string `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
	Goal   string `json:"goal" minLength:"1" maxLength:"65536" pattern:"\\S" description:"What the agent shall reach"`
}

// EventsInput says which events of a thread to yield.
type EventsInput struct {
	Thread string `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
	Follow bool   `json:"follow,omitempty" description:"Go on with what happens from now on"`
}

// WaitBudget is how long Wait waits: agents work for hours, and whoever waits longer asks again.
const WaitBudget = time.Hour

// Create makes a thread, and starts it when there is an input.
var Create = &kernelcontract.Mutation[CreateInput, Thread]{
	Ref: "threads/threads.create", Summary: "Make a thread with an agent",
	Ambient:    map[string]kernelcontract.ContextKey{"cwd": kernelcontract.CWD, "projectId": kernelcontract.ProjectID},
	CLI:        kernelcontract.CLI{Args: []string{"input..."}},
	Errors:     providerErrors,
	RenderText: renderThread,
	Examples:   []kernelcontract.Example[CreateInput]{{Input: CreateInput{ProviderID: "echo", Cwd: "/tmp"}, Note: "prints the thread with its id"}},
}

// Send gives an agent an input. It returns when the input is stored; what becomes of it is in the thread's events.
var Send = &kernelcontract.Mutation[SendInput, Turn]{
	Ref: "threads/threads.send", Summary: "Say something to an agent",
	Description: "The input starts a turn, or waits in the queue while another one is open. Every input that is accepted reaches exactly one end: completed, failed, interrupted or merged.",
	CLI:         kernelcontract.CLI{Args: []string{"thread", "input..."}},
	Errors:      providerErrors,
	RenderText:  renderTurn,
}

// Steer gives an agent an input for the turn that is open.
var Steer = &kernelcontract.Mutation[SendInput, Turn]{
	Ref: "threads/threads.steer", Summary: "Say something to an agent while it works",
	Description: "An agent that can be steered takes the input into its open turn; one that queues takes it as its next turn, and so does the thread for an agent that does neither. Without an open turn it is a send.",
	CLI:         kernelcontract.CLI{Args: []string{"thread", "input..."}},
	Errors:      providerErrors,
	RenderText:  renderTurn,
}

// Fork makes a thread that begins as a copy of another one.
var Fork = &kernelcontract.Mutation[ForkInput, Thread]{
	Ref: "threads/threads.fork", Summary: "Branch a thread off another one",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, Errors: providerErrors, RenderText: renderThread,
}

// Stop ends what a thread does. It returns when the turn has settled.
var Stop = &kernelcontract.Mutation[StopInput, Thread]{
	Ref: "threads/threads.stop", Summary: "Stop what an agent does",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, RenderText: renderThread,
}

// Wait waits until a turn has ended or a thread is idle.
var Wait = &kernelcontract.Query[WaitInput, WaitOutput]{
	Ref: "threads/threads.wait", Summary: "Wait until an agent is done",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, Wait: WaitBudget, RenderText: renderWait,
}

// Get returns a thread.
var Get = &kernelcontract.Query[ThreadInput, Thread]{
	Ref: "threads/threads.get", Summary: "Show a thread",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, Ambient: onThread, RenderText: renderThread,
}

// List lists threads, the newest first.
var List = &kernelcontract.Query[ListInput, []Thread]{
	Ref: "threads/threads.list", Summary: "List threads, the newest first", RenderText: renderThreads,
}

// Rename gives a thread another title.
var Rename = &kernelcontract.Mutation[RenameInput, Thread]{
	Ref: "threads/threads.rename", Summary: "Give a thread another title",
	CLI: kernelcontract.CLI{Args: []string{"thread", "title"}}, RenderText: renderThread,
}

// Archive puts a thread away; it must be idle.
var Archive = &kernelcontract.Mutation[ThreadInput, Thread]{
	Ref: "threads/threads.archive", Summary: "Put a thread away",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, RenderText: renderThread,
}

// Unarchive takes a thread back.
var Unarchive = &kernelcontract.Mutation[ThreadInput, Thread]{
	Ref: "threads/threads.unarchive", Summary: "Take an archived thread back",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, RenderText: renderThread,
}

// GoalSet gives an agent a goal that it follows by itself.
var GoalSet = &kernelcontract.Mutation[GoalInput, Thread]{
	Ref: "threads/threads.goalSet", Summary: "Give an agent a goal",
	CLI: kernelcontract.CLI{Args: []string{"thread", "goal"}}, Errors: providerErrors, RenderText: renderThread,
}

// GoalClear takes the goal away.
var GoalClear = &kernelcontract.Mutation[ThreadInput, Thread]{
	Ref: "threads/threads.goalClear", Summary: "Take an agent's goal away",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, Errors: providerErrors, RenderText: renderThread,
}

// Discard deletes a thread with its whole timeline.
var Discard = &kernelcontract.Mutation[ThreadInput, kernelcontract.None]{
	Ref: "threads/threads.discard", Summary: "Delete a thread with its whole timeline",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, Destructive: true, Access: people,
}

// Events yields what happened in a thread, from the first event or from a cursor on.
var Events = &kernelcontract.Stream[EventsInput, Event]{
	Ref: "threads/threads.events", Summary: "Show what happens in a thread, event by event",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, Ambient: onThread,
	Cursor: Event.Cursor, RenderText: RenderEvent,
}

// Timeline returns what happened in a thread as rows.
var Timeline = &kernelcontract.Query[TimelineInput, TimelineOutput]{
	Ref: "threads/threads.timeline", Summary: "Show what happened in a thread",
	CLI: kernelcontract.CLI{Args: []string{"thread"}}, Ambient: onThread, RenderText: renderTimeline,
}

// Threads drives agents.
var Threads = &kernelcontract.Service{
	ID: "threads/threads", Summary: "Drive coding agents", Group: []string{"thread"},
	Methods: []kernelcontract.Method{
		Create, Send, Steer, Fork, Stop, Wait, Get, List, Rename, Archive, Unarchive, GoalSet, GoalClear, Discard, Events, Timeline,
	},
}
