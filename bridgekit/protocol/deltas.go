package protocol

import "encoding/json"

// Delta is one change of a thread, as a bridge reports it: a non-nil pointer to exactly one of the delta structs.
//
//sumtype:decl
type Delta interface {
	// Kind returns the kind, which never depends on the value.
	Kind() DeltaKind
	delta()
}

// Deltas is the list on the wire. Decoding is strict and names the place: "deltas[3]: item.open: message: text: missing".
type Deltas []Delta

// DeltaKind names a kind of delta.
type DeltaKind string

// The kinds of deltas.
const (
	KindInputAccepted     DeltaKind = "input.accepted"
	KindTurnOpen          DeltaKind = "turn.open"
	KindTurnBoundary      DeltaKind = "turn.boundary"
	KindTurnDiff          DeltaKind = "turn.diff"
	KindItemOpen          DeltaKind = "item.open"
	KindItemText          DeltaKind = "item.text"
	KindItemOutput        DeltaKind = "item.output"
	KindItemProgress      DeltaKind = "item.progress"
	KindItemClose         DeltaKind = "item.close"
	KindUsage             DeltaKind = "usage"
	KindContextWindow     DeltaKind = "context.window"
	KindContextCleared    DeltaKind = "context.cleared"
	KindTodo              DeltaKind = "todo"
	KindThreadName        DeltaKind = "thread.name"
	KindExtensionState    DeltaKind = "extension.state"
	KindRateLimits        DeltaKind = "provider.rateLimits"
	KindModelFallback     DeltaKind = "provider.modelFallback"
	KindProviderError     DeltaKind = "provider.error"
	KindProviderWarning   DeltaKind = "provider.warning"
	KindProviderUnhandled DeltaKind = "provider.unhandled"
	KindSessionEnded      DeltaKind = "session.ended"
	KindSessionReset      DeltaKind = "session.reset"
)

// Scope says what a scoped delta belongs to. The zero value is the open turn; Turn is the key of a turn that the bridge
// opened; Thread is the thread itself, for what outlives its turn. Turn and Thread exclude each other.
type Scope struct {
	Turn   string
	Thread bool
}

// ItemKey names an item by the provider's own ids; "" is null. At least one part is given, and none holds
// ItemKeySeparator. ParentRef names the parent item by its key string or by its ProviderItemID.
type ItemKey struct {
	ProviderItemID string `json:"providerItemId" rule:"null,nosep"`
	Channel        string `json:"channel" rule:"null,nosep"`
	ParentRef      string `json:"parentRef" rule:"null,nosep"`
}

// String returns the key string: the parts joined by ItemKeySeparator, null as the empty string.
func (k ItemKey) String() string {
	return k.ProviderItemID + ItemKeySeparator + k.Channel + ItemKeySeparator + k.ParentRef
}

// Status is how an item or a turn ended.
type Status string

// The values of Status.
const (
	Completed   Status = "completed"
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
)

func (Status) values() []string { return []string{"completed", "failed", "interrupted"} }

// ItemStatus is the state of an item: pending, or a Status. A denied approval is no status, see ApprovalState.
type ItemStatus string

// The values of ItemStatus.
const (
	ItemPending     ItemStatus = "pending"
	ItemCompleted   ItemStatus = "completed"
	ItemFailed      ItemStatus = "failed"
	ItemInterrupted ItemStatus = "interrupted"
)

func (ItemStatus) values() []string { return []string{"pending", "completed", "failed", "interrupted"} }

// InputAccepted says that the agent has the input of a turn/start or turn/steer.
type InputAccepted struct {
	ClientRequestID string `json:"clientRequestId" rule:"nonempty"`
}

// TurnOpen says that a turn began. ParentRef is null in this version.
type TurnOpen struct {
	TurnKey   *string `json:"turnKey" rule:"nonempty"`
	ParentRef *string `json:"parentRef" rule:"isnull"`
}

// TurnBoundary ends a turn.
type TurnBoundary struct {
	TurnKey      *string    `json:"turnKey" rule:"nonempty"`
	Status       Status     `json:"status"`
	Error        *TurnError `json:"error"`
	CheckpointID *string    `json:"checkpointId" rule:"nonempty"` // where the session can be forked later
}

// TurnError is why a turn failed.
type TurnError struct {
	Message string `json:"message"`
}

// TurnDiff is the unified diff, with file headers, of all that the turn changed so far.
type TurnDiff struct {
	TurnKey *string `json:"turnKey" rule:"nonempty"`
	Diff    string  `json:"diff" rule:"bytes=diff"`
}

// ItemOpen begins an item.
type ItemOpen struct {
	Scope        Scope        `json:"-" rule:"scope"`
	Key          ItemKey      `json:"key"`
	Item         Item         `json:"item"`
	Presentation Presentation `json:"presentation"`
}

// ItemText appends to an item's text or summary.
type ItemText struct {
	Scope  Scope      `json:"-" rule:"scope"`
	Key    ItemKey    `json:"key"`
	Stream TextStream `json:"stream"`
	Text   string     `json:"text" rule:"bytes=text"`
}

// TextStream is the field that text is appended to.
type TextStream string

// The values of TextStream.
const (
	Text    TextStream = "text"
	Summary TextStream = "summary"
)

func (TextStream) values() []string { return []string{"text", "summary"} }

// ItemOutput appends to an item's output, or replaces it.
type ItemOutput struct {
	Scope Scope      `json:"-" rule:"scope"`
	Key   ItemKey    `json:"key"`
	Mode  OutputMode `json:"mode"`
	Text  string     `json:"text" rule:"bytes=text"`
}

// OutputMode is what output does to the output before it.
type OutputMode string

// The values of OutputMode.
const (
	Append  OutputMode = "append"
	Replace OutputMode = "replace" // at most 4 times a second an item: everything is persisted
)

func (OutputMode) values() []string { return []string{"append", "replace"} }

// ItemProgress changes how an open item looks. Nil fields leave what they name as it is.
type ItemProgress struct {
	Scope        Scope         `json:"-" rule:"scope"`
	Key          ItemKey       `json:"key"`
	Message      *string       `json:"message"`
	Item         Item          `json:"item" rule:"null"`
	Presentation *Presentation `json:"presentation"`
}

// ItemClose ends an item; Item is its whole final payload.
type ItemClose struct {
	Scope        Scope        `json:"-" rule:"scope"`
	Key          ItemKey      `json:"key"`
	Status       Status       `json:"status"`
	Item         Item         `json:"item"`
	Presentation Presentation `json:"presentation"`
}

// Usage reports tokens. Total null lets core add Last to what it has.
type Usage struct {
	TurnKey            *string         `json:"turnKey" rule:"nonempty"`
	Last               TokenBreakdown  `json:"last"`
	Total              *TokenBreakdown `json:"total"`
	ModelContextWindow *int64          `json:"modelContextWindow" rule:"min=0"`
	CacheWriteTokens   *int64          `json:"cacheWriteTokens" rule:"min=0"`
	Cost               *Cost           `json:"cost"`
}

// TokenBreakdown counts tokens.
type TokenBreakdown struct {
	TotalTokens           int64 `json:"totalTokens" rule:"min=0"`
	InputTokens           int64 `json:"inputTokens" rule:"min=0"`
	CachedInputTokens     int64 `json:"cachedInputTokens" rule:"min=0"`
	OutputTokens          int64 `json:"outputTokens" rule:"min=0"`
	ReasoningOutputTokens int64 `json:"reasoningOutputTokens" rule:"min=0"`
}

// Cost is an amount of money; Currency is a code such as USD.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency" rule:"nonempty"`
}

// ContextWindow says how much of the model's context is in use, in tokens.
type ContextWindow struct {
	Used      *int64 `json:"used" rule:"min=0"`
	Size      *int64 `json:"size" rule:"min=0"`
	Estimated bool   `json:"estimated"`
}

// ContextCleared says that the agent forgot what was said so far.
type ContextCleared struct{}

// Todo is the agent's whole list of steps.
type Todo struct {
	TurnKey     *string    `json:"turnKey" rule:"nonempty"`
	Steps       []TodoStep `json:"steps"`
	Explanation *string    `json:"explanation"`
}

// TodoStep is a step of a Todo.
type TodoStep struct {
	Text   string     `json:"text"`
	Status TodoStatus `json:"status"`
}

// TodoStatus is the state of a step.
type TodoStatus string

// The values of TodoStatus.
const (
	TodoPending   TodoStatus = "pending"
	TodoActive    TodoStatus = "active"
	TodoCompleted TodoStatus = "completed"
	TodoFailed    TodoStatus = "failed"
)

func (TodoStatus) values() []string { return []string{"pending", "active", "completed", "failed"} }

// ThreadName is a name that the agent gave the thread.
type ThreadName struct {
	Name string `json:"name"`
}

// ExtensionState is the latest state of a declared extension kind. Name is the kind, <pluginId>/<name>; on the wire it
// is the field extensionKind, since kind tells the deltas apart.
type ExtensionState struct {
	Name    string          `json:"extensionKind" rule:"pattern=extension"`
	Payload json.RawMessage `json:"payload" rule:"bytes=extension"`
}

// RateLimits reports how much of the provider's quota is left.
type RateLimits struct {
	RateLimits RateLimitState `json:"rateLimits"`
}

// ModelFallback says that another model answers than the one asked for.
type ModelFallback struct {
	OriginalModel string         `json:"originalModel"`
	FallbackModel string         `json:"fallbackModel"`
	Reason        FallbackReason `json:"reason"`
	Message       string         `json:"message"`
}

// FallbackReason is why a model was replaced.
type FallbackReason string

// The values of FallbackReason.
const (
	FallbackRefusal  FallbackReason = "refusal"
	FallbackProvider FallbackReason = "provider"
)

func (FallbackReason) values() []string { return []string{"refusal", "provider"} }

// ProviderError reports an error. SettlesTurn, which needs the scope of a turn and WillRetry false, fails the turn.
type ProviderError struct {
	Scope        Scope         `json:"-" rule:"scope"`
	Category     ErrorCategory `json:"category"`
	Message      string        `json:"message"`
	Detail       *string       `json:"detail"`
	ProviderCode *string       `json:"providerCode"`
	HTTPStatus   *int64        `json:"httpStatus"`
	WillRetry    bool          `json:"willRetry"`
	SettlesTurn  bool          `json:"settlesTurn"`
}

// ProviderWarning reports something that a person should know.
type ProviderWarning struct {
	Scope    Scope           `json:"-" rule:"scope"`
	Category WarningCategory `json:"category"`
	Summary  *string         `json:"summary"`
	Details  *string         `json:"details"`
}

// ProviderUnhandled keeps what the bridge could not translate.
type ProviderUnhandled struct {
	Scope     Scope           `json:"-" rule:"scope"`
	RawType   string          `json:"rawType"`
	Raw       json.RawMessage `json:"raw" rule:"bytes=raw"`
	ParentRef *string         `json:"parentRef" rule:"nosep"`
}

// SessionEnded says that the session is gone; its open work settles as interrupted.
type SessionEnded struct{}

// SessionReset begins the session's keys afresh; open work settles as interrupted.
type SessionReset struct{}

// Kind returns input.accepted.
func (*InputAccepted) Kind() DeltaKind { return KindInputAccepted }

// Kind returns turn.open.
func (*TurnOpen) Kind() DeltaKind { return KindTurnOpen }

// Kind returns turn.boundary.
func (*TurnBoundary) Kind() DeltaKind { return KindTurnBoundary }

// Kind returns turn.diff.
func (*TurnDiff) Kind() DeltaKind { return KindTurnDiff }

// Kind returns item.open.
func (*ItemOpen) Kind() DeltaKind { return KindItemOpen }

// Kind returns item.text.
func (*ItemText) Kind() DeltaKind { return KindItemText }

// Kind returns item.output.
func (*ItemOutput) Kind() DeltaKind { return KindItemOutput }

// Kind returns item.progress.
func (*ItemProgress) Kind() DeltaKind { return KindItemProgress }

// Kind returns item.close.
func (*ItemClose) Kind() DeltaKind { return KindItemClose }

// Kind returns usage.
func (*Usage) Kind() DeltaKind { return KindUsage }

// Kind returns context.window.
func (*ContextWindow) Kind() DeltaKind { return KindContextWindow }

// Kind returns context.cleared.
func (*ContextCleared) Kind() DeltaKind { return KindContextCleared }

// Kind returns todo.
func (*Todo) Kind() DeltaKind { return KindTodo }

// Kind returns thread.name.
func (*ThreadName) Kind() DeltaKind { return KindThreadName }

// Kind returns extension.state.
func (*ExtensionState) Kind() DeltaKind { return KindExtensionState }

// Kind returns provider.rateLimits.
func (*RateLimits) Kind() DeltaKind { return KindRateLimits }

// Kind returns provider.modelFallback.
func (*ModelFallback) Kind() DeltaKind { return KindModelFallback }

// Kind returns provider.error.
func (*ProviderError) Kind() DeltaKind { return KindProviderError }

// Kind returns provider.warning.
func (*ProviderWarning) Kind() DeltaKind { return KindProviderWarning }

// Kind returns provider.unhandled.
func (*ProviderUnhandled) Kind() DeltaKind { return KindProviderUnhandled }

// Kind returns session.ended.
func (*SessionEnded) Kind() DeltaKind { return KindSessionEnded }

// Kind returns session.reset.
func (*SessionReset) Kind() DeltaKind { return KindSessionReset }

func (*InputAccepted) delta()     {}
func (*TurnOpen) delta()          {}
func (*TurnBoundary) delta()      {}
func (*TurnDiff) delta()          {}
func (*ItemOpen) delta()          {}
func (*ItemText) delta()          {}
func (*ItemOutput) delta()        {}
func (*ItemProgress) delta()      {}
func (*ItemClose) delta()         {}
func (*Usage) delta()             {}
func (*ContextWindow) delta()     {}
func (*ContextCleared) delta()    {}
func (*Todo) delta()              {}
func (*ThreadName) delta()        {}
func (*ExtensionState) delta()    {}
func (*RateLimits) delta()        {}
func (*ModelFallback) delta()     {}
func (*ProviderError) delta()     {}
func (*ProviderWarning) delta()   {}
func (*ProviderUnhandled) delta() {}
func (*SessionEnded) delta()      {}
func (*SessionReset) delta()      {}
