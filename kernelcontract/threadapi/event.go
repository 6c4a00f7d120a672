package threadapi

import (
	"encoding/json"
	"strconv"
	"time"
)

// Event is something that happened in a thread. Seq numbers a thread's events from 1 without a gap, but for events that
// stand for a run of others: those have Covers.
type Event struct {
	ThreadID     string          `json:"threadId"`
	Seq          int64           `json:"seq"`
	At           time.Time       `json:"at"`
	Type         string          `json:"type"`
	Scope        Scope           `json:"scope"`
	ItemID       string          `json:"itemId,omitempty"`
	ParentItemID string          `json:"parentItemId,omitempty"`
	Covers       []int64         `json:"covers,omitempty" minItems:"2" maxItems:"2"` // the first and the last seq that it stands for
	Payload      json.RawMessage `json:"payload"`
}

// Cursor is the resume point after the event.
func (e Event) Cursor() string { return strconv.FormatInt(e.Seq, 10) }

// Scope says whether an event belongs to a turn or to the thread.
type Scope struct {
	Kind   string `json:"kind" enum:"turn,thread"`
	TurnID string `json:"turnId,omitempty"` // of kind turn
}

// Types of events that the kernel adds to those that come from the agent, which docs/spec/threads.md lists.
const (
	EventThreadCreated       = "thread.created"
	EventThreadForked        = "thread.forked"
	EventThreadRenamed       = "thread.renamed"
	EventThreadArchived      = "thread.archived"
	EventThreadUnarchived    = "thread.unarchived"
	EventThreadGoal          = "thread.goal"
	EventThreadSession       = "thread.session"
	EventInputSent           = "input.sent"
	EventInteractionOpened   = "interaction.opened"
	EventInteractionResolved = "interaction.resolved"
)

// InputSent is the payload of input.sent: what was sent, in the scope of the turn that it asks for, or of the open turn
// when it steers. Parts for the agent only are left out.
type InputSent struct {
	ClientRequestID string            `json:"clientRequestId"`
	Steers          bool              `json:"steers"`
	By              string            `json:"by"` // the actor
	Input           []json.RawMessage `json:"input"`
}

// InteractionOpened is the payload of interaction.opened.
type InteractionOpened struct {
	InteractionID string          `json:"interactionId"`
	Request       json.RawMessage `json:"request"`
}

// InteractionResolved is the payload of interaction.resolved.
type InteractionResolved struct {
	InteractionID string          `json:"interactionId"`
	Resolution    json.RawMessage `json:"resolution"` // its kind is interrupted when there was no answer
	By            string          `json:"by"`         // the actor; system:auto-deny and system:auto-allow are rules
}

// SessionChange is the payload of thread.session: what became of the agent's session of the thread.
type SessionChange struct {
	State            string `json:"state" enum:"started,resumed,forked,replaced,released,lost"`
	ProviderThreadID string `json:"providerThreadId,omitempty"`
	ContextLost      bool   `json:"contextLost"` // the agent no longer knows what was said before
	Reason           string `json:"reason,omitempty"`
}
