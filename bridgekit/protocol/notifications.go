package protocol

import "encoding/json"

// The requests and notifications that a bridge sends.
const (
	MethodToolCall             = "tool/call"
	MethodInteractionRequest   = "interaction/request"
	MethodThreadDelta          = "thread/delta"
	MethodThreadIdentity       = "thread/identity"
	MethodSessionReplaced      = "session/replaced"
	MethodProviderRecovery     = "provider/recovery"
	MethodInteractionWithdrawn = "interaction/withdrawn"
	MethodProviderRaw          = "provider/raw"
	MethodBridgeLog            = "bridge/log"
)

// ToolCallParams are the params of tool/call.
type ToolCallParams struct {
	ThreadID         string `json:"threadId" rule:"nonempty"`
	ProviderThreadID string `json:"providerThreadId" rule:"nonempty"`
	ToolCall
	Extra Extra `json:"-"`
}

// InteractionParams are the params of interaction/request. Decoding and encoding keep RequestKey and Scope of the
// Request the same as those here.
type InteractionParams struct {
	ThreadID         string      `json:"threadId" rule:"nonempty"`
	ProviderThreadID string      `json:"providerThreadId" rule:"nonempty"`
	RequestKey       string      `json:"requestKey" rule:"nonempty"`
	Scope            Scope       `json:"-" rule:"scope=full"`
	Request          Interaction `json:"request"`
	Extra            Extra       `json:"-"`
}

// DeltaParams are the params of thread/delta. They are strict.
type DeltaParams struct {
	ThreadID string `json:"threadId" rule:"nonempty"`
	Deltas   Deltas `json:"deltas"`
}

// IdentityParams are the params of thread/identity, which precedes every delta of the session.
type IdentityParams struct {
	ThreadID          string `json:"threadId" rule:"nonempty"`
	ProviderThreadID  string `json:"providerThreadId" rule:"nonempty"`
	SessionRestorable bool   `json:"sessionRestorable"`
	Extra             Extra  `json:"-"`
}

// ReplacedParams are the params of session/replaced: the bridge went on in another session.
type ReplacedParams struct {
	ThreadID         string `json:"threadId" rule:"nonempty"`
	ProviderThreadID string `json:"providerThreadId" rule:"nonempty"`
	Reason           string `json:"reason"`
	ContextLost      bool   `json:"contextLost"`
	Extra            Extra  `json:"-"`
}

// RecoveryParams are the params of provider/recovery. ThreadID "" is null: the whole provider.
type RecoveryParams struct {
	ThreadID string       `json:"threadId" rule:"null"`
	Hint     RecoveryHint `json:"hint"`
	Message  string       `json:"message"`
	Extra    Extra        `json:"-"`
}

// WithdrawnParams are the params of interaction/withdrawn: the agent no longer waits for the answer.
type WithdrawnParams struct {
	ThreadID   string `json:"threadId" rule:"nonempty"`
	RequestKey string `json:"requestKey" rule:"nonempty"`
	Extra      Extra  `json:"-"`
}

// RawParams are the params of provider/raw: what the provider sent and the bridge did not translate. It may be dropped.
type RawParams struct {
	ThreadID string          `json:"threadId" rule:"null"`
	Coverage Coverage        `json:"coverage"`
	Payload  json.RawMessage `json:"payload"`
	Extra    Extra           `json:"-"`
}

// Coverage says why a payload is raw.
type Coverage string

// The values of Coverage.
const (
	CoverageNoise   Coverage = "noise"   // of no interest
	CoverageUnknown Coverage = "unknown" // new to the bridge
)

func (Coverage) values() []string { return []string{"noise", "unknown"} }

// LogParams are the params of bridge/log.
type LogParams struct {
	ThreadID string          `json:"threadId" rule:"null"`
	Level    LogLevel        `json:"level"`
	Message  string          `json:"message"`
	Data     json.RawMessage `json:"data"` // nil is null
	Extra    Extra           `json:"-"`
}

// LogLevel is how grave a log message is.
type LogLevel string

// The values of LogLevel.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

func (LogLevel) values() []string { return []string{"debug", "info", "warn", "error"} }
