package threadapi

import (
	"time"
)

// Status says what a thread does.
type Status string

// The values of Status.
const (
	Idle     Status = "idle"     // nothing is under way
	Starting Status = "starting" // an input is on its way to the agent
	Running  Status = "running"  // a turn is open
	Waiting  Status = "waiting"  // the agent waits for an answer; see the thread's interactions
	Stopping Status = "stopping" // a stop was asked for and the turn has not settled
)

// Enum lists the statuses.
func (Status) Enum() []any { return []any{Idle, Starting, Running, Waiting, Stopping} }

// Mode is how much an agent may do without asking.
type Mode string

// The values of Mode.
const (
	AcceptEdits Mode = "accept-edits" // changes of files in the working directory
	Auto        Mode = "auto"         // and commands that only look
	Full        Mode = "full"         // everything
)

// Enum lists the modes.
func (Mode) Enum() []any { return []any{AcceptEdits, Auto, Full} }

// Escalation is what happens to what the mode does not allow.
type Escalation string

// The values of Escalation.
const (
	Ask  Escalation = "ask"  // a person is asked
	Deny Escalation = "deny" // it is denied
)

// Enum lists the escalations.
func (Escalation) Enum() []any { return []any{Ask, Deny} }

// Thread is a conversation with an agent, with all that it did.
type Thread struct {
	ID         string     `json:"id"`
	ProviderID string     `json:"providerId"`
	Title      string     `json:"title"`
	Status     Status     `json:"status"`
	Cwd        string     `json:"cwd"`
	ProjectID  string     `json:"projectId,omitempty"`
	Archived   bool       `json:"archived"`
	Permission Mode       `json:"permission"`
	Escalation Escalation `json:"escalation"`
	Model      string     `json:"model,omitempty"`          // empty: the provider's default
	Reasoning  string     `json:"reasoningLevel,omitempty"` // empty: the model's default
	Tier       string     `json:"serviceTier,omitempty"`
	Goal       string     `json:"goal,omitempty"`
	ForkedFrom string     `json:"forkedFrom,omitempty"` // the thread that it was forked from
	TurnID     string     `json:"turnId,omitempty"`     // the open turn
	Queued     int        `json:"queued"`               // inputs that wait for the open turn to settle
	Pending    int        `json:"pendingInteractions"`
	Tokens     int64      `json:"tokens"`            // used so far
	Problem    string     `json:"problem,omitempty"` // why the thread cannot go on now
	LastSeq    int64      `json:"lastSeq"`           // the number of its last event
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`
}

// TurnStatus says how far an input came. The last four are for good, and every input reaches exactly one of them.
type TurnStatus string

// The values of TurnStatus.
const (
	TurnQueued      TurnStatus = "queued"      // waits until it is sent to the agent
	TurnSent        TurnStatus = "sent"        // on its way to the agent
	TurnOpen        TurnStatus = "open"        // the agent works on it
	TurnCompleted   TurnStatus = "completed"   // done
	TurnFailed      TurnStatus = "failed"      // see Error
	TurnInterrupted TurnStatus = "interrupted" // stopped, or the agent's process ended
	TurnMerged      TurnStatus = "merged"      // the agent took the input into another turn
)

// Enum lists the statuses.
func (TurnStatus) Enum() []any {
	return []any{TurnQueued, TurnSent, TurnOpen, TurnCompleted, TurnFailed, TurnInterrupted, TurnMerged}
}

// Terminal reports whether the status is for good.
func (s TurnStatus) Terminal() bool {
	switch s {
	case TurnCompleted, TurnFailed, TurnInterrupted, TurnMerged:
		return true
	}
	return false
}

// Turn is one input with what became of it.
type Turn struct {
	ID              string     `json:"id"`
	ThreadID        string     `json:"threadId"`
	ClientRequestID string     `json:"clientRequestId,omitempty"` // empty for a turn that the agent began by itself
	Status          TurnStatus `json:"status"`
	Error           string     `json:"error,omitempty"`
	MergedInto      string     `json:"mergedInto,omitempty"` // the turn that took the input
	CheckpointID    string     `json:"checkpointId,omitempty"`
	SentBy          string     `json:"sentBy,omitempty"` // the actor
	CreatedAt       time.Time  `json:"createdAt"`
	SettledAt       *time.Time `json:"settledAt"`
}
