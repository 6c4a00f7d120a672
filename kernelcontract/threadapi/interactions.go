package threadapi

import (
	"encoding/json"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// InteractionStatus says how an interaction stands.
type InteractionStatus string

// The values of InteractionStatus.
const (
	Pending     InteractionStatus = "pending"     // the agent waits
	Resolved    InteractionStatus = "resolved"    // it was answered
	Interrupted InteractionStatus = "interrupted" // nobody waits for an answer any more
)

// Enum lists the statuses.
func (InteractionStatus) Enum() []any { return []any{Pending, Resolved, Interrupted} }

// Interaction is something that an agent asks of a person.
type Interaction struct {
	ID         string            `json:"id"`
	ThreadID   string            `json:"threadId"`
	TurnID     string            `json:"turnId,omitempty"`
	ItemID     string            `json:"itemId,omitempty"` // of the item that an approval is about
	Kind       string            `json:"kind"`             // approval, question, or a kind that a plugin declares
	Status     InteractionStatus `json:"status"`
	Request    json.RawMessage   `json:"request"`
	Resolution json.RawMessage   `json:"resolution,omitempty"`
	ResolvedBy string            `json:"resolvedBy,omitempty"` // the actor
	CreatedAt  time.Time         `json:"createdAt"`
	ResolvedAt *time.Time        `json:"resolvedAt"`
}

// ListInteractionsInput says which interactions to list.
type ListInteractionsInput struct {
	Thread string            `json:"thread,omitempty" maxLength:"64" description:"Only those of this thread"`
	Status InteractionStatus `json:"status,omitempty" default:"pending" description:"Only those with this status"`
	Limit  int               `json:"limit,omitempty" default:"50" minimum:"1" maximum:"500" description:"At most so many"`
}

// InteractionInput names an interaction.
type InteractionInput struct {
	ID string `json:"id" minLength:"1" maxLength:"64" description:"The id of the interaction"`
}

// Decision answers an approval.
type Decision string

// The values of Decision.
const (
	AllowOnce       Decision = "allow_once"
	AllowForSession Decision = "allow_for_session"
	DenyIt          Decision = "deny"
)

// Enum lists the decisions.
func (Decision) Enum() []any { return []any{AllowOnce, AllowForSession, DenyIt} }

// Answer answers one question.
type Answer struct {
	Selected []string `json:"selected,omitempty" maxItems:"4" uniqueItems:"true" description:"The values of the chosen options"`
	FreeText *string  `json:"freeText,omitempty" default:"null" maxLength:"4096" description:"An answer in one's own words"`
}

// ResolveInput answers an interaction: an approval with a decision, questions with answers, any other kind with data.
type ResolveInput struct {
	ID       string            `json:"id" minLength:"1" maxLength:"64" description:"The id of the interaction"`
	Decision Decision          `json:"decision,omitempty" description:"Answers an approval"`
	Granted  json.RawMessage   `json:"granted,omitempty" description:"What exactly is allowed; without it what was asked for"`
	Answers  map[string]Answer `json:"answers,omitempty" description:"Answers questions, by their ids"`
	Data     json.RawMessage   `json:"data,omitempty" description:"Answers an interaction of a plugin's own kind"`
}

// AlreadyResolved is the error of an answer that comes second.
const AlreadyResolved kernelcontract.Code = "already_resolved"

// ListInteractions lists interactions, the newest first.
var ListInteractions = &kernelcontract.Query[ListInteractionsInput, []Interaction]{
	Ref: "threads/interactions.list", Summary: "List what agents ask, the newest first", RenderText: renderInteractions,
}

// GetInteraction returns an interaction.
var GetInteraction = &kernelcontract.Query[InteractionInput, Interaction]{
	Ref: "threads/interactions.get", Summary: "Show what an agent asks",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, RenderText: renderInteraction,
}

// Resolve answers an interaction. The first answer counts.
var Resolve = &kernelcontract.Mutation[ResolveInput, Interaction]{
	Ref: "threads/interactions.resolve", Summary: "Answer what an agent asks", Access: people,
	CLI: kernelcontract.CLI{Args: []string{"id", "decision"}}, RenderText: renderInteraction,
	Errors: map[kernelcontract.Code]kernelcontract.ErrorDef{
		AlreadyResolved: {Like: kernelcontract.Conflict, Description: "Somebody answered before, or the agent no longer waits; details.status says which."},
	},
}

// Interactions are what agents ask of people.
var Interactions = &kernelcontract.Service{
	ID: "threads/interactions", Summary: "Answer what agents ask", Group: []string{"interaction"},
	Methods: []kernelcontract.Method{ListInteractions, GetInteraction, Resolve},
}
