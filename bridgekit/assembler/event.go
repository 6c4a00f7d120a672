package assembler

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Event is something that happened in a thread, as core stores it. The store adds seq, the event's gapless number in its
// thread.
type Event struct {
	ThreadID     string
	At           time.Time
	Type         EventType
	Scope        Scope
	ItemID       string // "" for events of no item
	ParentItemID string // "" for items without a parent
	Payload      Payload
}

// Scope is what an event belongs to: a turn, or the thread when TurnID is "".
type Scope struct {
	TurnID string
}

// MarshalJSON gives {"kind":"turn","turnId":…} or {"kind":"thread"}.
func (s Scope) MarshalJSON() ([]byte, error) {
	if s.TurnID == "" {
		return []byte(`{"kind":"thread"}`), nil
	}
	return json.Marshal(struct {
		Kind   string `json:"kind"`
		TurnID string `json:"turnId"`
	}{"turn", s.TurnID})
}

// MarshalJSON gives the envelope: threadId, at, type, scope, itemId and parentItemId where there is one, payload.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ThreadID     string    `json:"threadId"`
		At           time.Time `json:"at"`
		Type         EventType `json:"type"`
		Scope        Scope     `json:"scope"`
		ItemID       string    `json:"itemId,omitempty"`
		ParentItemID string    `json:"parentItemId,omitempty"`
		Payload      Payload   `json:"payload"`
	}{e.ThreadID, e.At.UTC(), e.Type, e.Scope, e.ItemID, e.ParentItemID, e.Payload})
}

// EventType names a type of event.
type EventType string

// The types of events.
const (
	TypeTurnStarted       EventType = "turn.started"
	TypeInputAccepted     EventType = "turn.input_accepted"
	TypeInputFailed       EventType = "turn.input_failed"
	TypeTurnDiff          EventType = "turn.diff"
	TypeTurnCompleted     EventType = "turn.completed"
	TypeItemStarted       EventType = "item.started"
	TypeItemText          EventType = "item.text"
	TypeItemOutput        EventType = "item.output"
	TypeItemProgress      EventType = "item.progress"
	TypeItemCompleted     EventType = "item.completed"
	TypeUsage             EventType = "thread.usage"
	TypeContextWindow     EventType = "thread.context_window"
	TypeContextCleared    EventType = "thread.context_cleared"
	TypeTodo              EventType = "thread.todo"
	TypeThreadName        EventType = "thread.name"
	TypeExtensionState    EventType = "thread.extension_state"
	TypeRateLimits        EventType = "provider.rateLimits"
	TypeModelFallback     EventType = "provider.modelFallback"
	TypeProviderError     EventType = "provider.error"
	TypeProviderWarning   EventType = "provider.warning"
	TypeProviderUnhandled EventType = "provider.unhandled"
)

// Payload is what an event says: a pointer to one of the payload structs of this package. It is encoded as a JSON object
// with a field for each of the struct's, nil as null.
//
//sumtype:decl
type Payload interface {
	// Type is that of the event.
	Type() EventType
	payload()
}

// Merged is the status of a turn whose input the agent took into another turn. Such a turn has no turn.started.
const Merged protocol.Status = "merged"

// Origin says who began a turn.
type Origin string

// The values of Origin.
const (
	OriginClient Origin = "client" // core asked for it
	OriginAgent  Origin = "agent"  // the agent, with a spare id
)

// TurnStarted begins a turn. ClientRequestID is the request that asked for it.
type TurnStarted struct {
	Origin          Origin  `json:"origin"`
	ClientRequestID *string `json:"clientRequestId"`
}

// InputAccepted says that the agent has an input, in the turn of the event.
type InputAccepted struct {
	ClientRequestID string `json:"clientRequestId"`
}

// InputFailed says that a steering input reached no turn.
type InputFailed struct {
	ClientRequestID string `json:"clientRequestId"`
	Message         string `json:"message"`
}

// TurnDiff is the diff of the turn so far.
type TurnDiff struct {
	Diff string `json:"diff"`
}

// TurnCompleted ends a turn, also one that never started because its bridge ended, its request failed, or its input was
// merged into the turn MergedInto.
type TurnCompleted struct {
	Status       protocol.Status     `json:"status"`
	Error        *protocol.TurnError `json:"error"`
	CheckpointID *string             `json:"checkpointId"`
	MergedInto   *string             `json:"mergedInto"`
}

// StoredItem is an item's payload with the provider's own id of it, "" for null.
type StoredItem struct {
	Item           protocol.Item
	ProviderItemID string
}

// MarshalJSON gives the item's own JSON with providerItemId as one more field.
func (s StoredItem) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(s.Item)
	if err != nil {
		return nil, err
	}
	id := []byte("null")
	if s.ProviderItemID != "" {
		if id, err = json.Marshal(s.ProviderItemID); err != nil {
			return nil, err
		}
	}
	raw = bytes.TrimSuffix(raw, []byte("}")) // an item is never {}: it has its kind
	raw = append(raw, `,"providerItemId":`...)
	return append(append(raw, id...), '}'), nil
}

// ItemStarted begins an item, or a settled one anew.
type ItemStarted struct {
	Item         StoredItem            `json:"item"`
	Presentation protocol.Presentation `json:"presentation"`
}

// ItemText appends to the text or summary of an item.
type ItemText struct {
	Stream protocol.TextStream `json:"stream"`
	Text   string              `json:"text"`
}

// ItemOutput appends to the output of an item, or replaces it.
type ItemOutput struct {
	Mode protocol.OutputMode `json:"mode"`
	Text string              `json:"text"`
}

// ItemProgress changes an open item. A nil field leaves what it names as it is; an Item replaces what was folded.
type ItemProgress struct {
	Message      *string                `json:"message"`
	Item         *StoredItem            `json:"item"`
	Presentation *protocol.Presentation `json:"presentation"`
}

// ItemCompleted settles an item. When it is Partial, the bridge did not close the item: Item is then the last payload
// that it sent in full, and readers keep the text and output that they folded since.
type ItemCompleted struct {
	Status       protocol.Status       `json:"status"`
	Item         StoredItem            `json:"item"`
	Presentation protocol.Presentation `json:"presentation"`
	Partial      bool                  `json:"partial"`
}

// Usage reports tokens; Total is the thread's sum.
type Usage struct {
	Last               protocol.TokenBreakdown `json:"last"`
	Total              protocol.TokenBreakdown `json:"total"`
	ModelContextWindow *int64                  `json:"modelContextWindow"`
	CacheWriteTokens   *int64                  `json:"cacheWriteTokens"`
	Cost               *protocol.Cost          `json:"cost"`
}

// ContextWindow says how much of the model's context is in use.
type ContextWindow struct {
	Used      *int64 `json:"used"`
	Size      *int64 `json:"size"`
	Estimated bool   `json:"estimated"`
}

// ContextCleared says that the agent forgot what was said so far.
type ContextCleared struct{}

// Todo is the agent's whole list of steps.
type Todo struct {
	Steps       []protocol.TodoStep `json:"steps"`
	Explanation *string             `json:"explanation"`
}

// ThreadName is a name that the agent gave the thread.
type ThreadName struct {
	Name string `json:"name"`
}

// ExtensionState is the latest state of an extension kind.
type ExtensionState struct {
	Name    string          `json:"extensionKind"`
	Payload json.RawMessage `json:"payload"`
}

// RateLimits reports how much of the provider's quota is left.
type RateLimits struct {
	RateLimits protocol.RateLimitState `json:"rateLimits"`
}

// ModelFallback says that another model answers than the one asked for.
type ModelFallback struct {
	OriginalModel string                  `json:"originalModel"`
	FallbackModel string                  `json:"fallbackModel"`
	Reason        protocol.FallbackReason `json:"reason"`
	Message       string                  `json:"message"`
}

// Error is an error that the provider reported.
type Error struct {
	Category     protocol.ErrorCategory `json:"category"`
	Message      string                 `json:"message"`
	Detail       *string                `json:"detail"`
	ProviderCode *string                `json:"providerCode"`
	HTTPStatus   *int64                 `json:"httpStatus"`
	WillRetry    bool                   `json:"willRetry"`
	SettlesTurn  bool                   `json:"settlesTurn"`
}

// Warning is something that a person should know.
type Warning struct {
	Category protocol.WarningCategory `json:"category"`
	Summary  *string                  `json:"summary"`
	Details  *string                  `json:"details"`
}

// Unhandled is what could not be translated: by the bridge, or, when Rule names a rule, a delta without a place. Then
// RawType is the delta's kind and Raw the delta, or its size and beginning when it is larger than protocol.MaxRaw. The
// RawType "suppressed" counts, as {"count":n}, what came beyond MaxUnhandled.
type Unhandled struct {
	RawType   string          `json:"rawType"`
	Raw       json.RawMessage `json:"raw"`
	ParentRef *string         `json:"parentRef"`
	Rule      *string         `json:"rule"`
}

// Type returns turn.started.
func (*TurnStarted) Type() EventType { return TypeTurnStarted }

// Type returns turn.input_accepted.
func (*InputAccepted) Type() EventType { return TypeInputAccepted }

// Type returns turn.input_failed.
func (*InputFailed) Type() EventType { return TypeInputFailed }

// Type returns turn.diff.
func (*TurnDiff) Type() EventType { return TypeTurnDiff }

// Type returns turn.completed.
func (*TurnCompleted) Type() EventType { return TypeTurnCompleted }

// Type returns item.started.
func (*ItemStarted) Type() EventType { return TypeItemStarted }

// Type returns item.text.
func (*ItemText) Type() EventType { return TypeItemText }

// Type returns item.output.
func (*ItemOutput) Type() EventType { return TypeItemOutput }

// Type returns item.progress.
func (*ItemProgress) Type() EventType { return TypeItemProgress }

// Type returns item.completed.
func (*ItemCompleted) Type() EventType { return TypeItemCompleted }

// Type returns thread.usage.
func (*Usage) Type() EventType { return TypeUsage }

// Type returns thread.context_window.
func (*ContextWindow) Type() EventType { return TypeContextWindow }

// Type returns thread.context_cleared.
func (*ContextCleared) Type() EventType { return TypeContextCleared }

// Type returns thread.todo.
func (*Todo) Type() EventType { return TypeTodo }

// Type returns thread.name.
func (*ThreadName) Type() EventType { return TypeThreadName }

// Type returns thread.extension_state.
func (*ExtensionState) Type() EventType { return TypeExtensionState }

// Type returns provider.rateLimits.
func (*RateLimits) Type() EventType { return TypeRateLimits }

// Type returns provider.modelFallback.
func (*ModelFallback) Type() EventType { return TypeModelFallback }

// Type returns provider.error.
func (*Error) Type() EventType { return TypeProviderError }

// Type returns provider.warning.
func (*Warning) Type() EventType { return TypeProviderWarning }

// Type returns provider.unhandled.
func (*Unhandled) Type() EventType { return TypeProviderUnhandled }

func (*TurnStarted) payload()    {}
func (*InputAccepted) payload()  {}
func (*InputFailed) payload()    {}
func (*TurnDiff) payload()       {}
func (*TurnCompleted) payload()  {}
func (*ItemStarted) payload()    {}
func (*ItemText) payload()       {}
func (*ItemOutput) payload()     {}
func (*ItemProgress) payload()   {}
func (*ItemCompleted) payload()  {}
func (*Usage) payload()          {}
func (*ContextWindow) payload()  {}
func (*ContextCleared) payload() {}
func (*Todo) payload()           {}
func (*ThreadName) payload()     {}
func (*ExtensionState) payload() {}
func (*RateLimits) payload()     {}
func (*ModelFallback) payload()  {}
func (*Error) payload()          {}
func (*Warning) payload()        {}
func (*Unhandled) payload()      {}
