package protocol

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Code is a JSON-RPC error code of the protocol, and an error: errors.Is(err, protocol.NoActiveTurn) holds for an *Error
// that carries it.
type Code int

// The error codes of the protocol.
const (
	InvalidParams             Code = -32602 // the params break the method's schema; Issues says how
	MethodNotFound            Code = -32601 // no such method, or no handler for it
	BridgeError               Code = -32000 // the bridge failed; Recovery may say what helps
	NoActiveTurn              Code = -32001 // turn/steer came when the turn was gone
	SessionNotRestorable      Code = -32002 // the session cannot be resumed
	ForkCheckpointUnsupported Code = -32003 // the bridge forks only at the tip
	MissingExecutable         Code = -32004 // the provider's program is not installed
	CapabilityNotAdvertised   Code = -32005 // the method is not among what the bridge can do
	ProtocolUnsupported       Code = -32006 // no common protocol version
	InteractionInterrupted    Code = -32007 // the thread stopped before an answer came
)

// Name returns the code's name as the documents write it, such as INVALID_PARAMS; for other codes the number.
func (c Code) Name() string {
	switch c {
	case InvalidParams:
		return "INVALID_PARAMS"
	case MethodNotFound:
		return "METHOD_NOT_FOUND"
	case BridgeError:
		return "BRIDGE_ERROR"
	case NoActiveTurn:
		return "NO_ACTIVE_TURN"
	case SessionNotRestorable:
		return "SESSION_NOT_RESTORABLE"
	case ForkCheckpointUnsupported:
		return "FORK_CHECKPOINT_UNSUPPORTED"
	case MissingExecutable:
		return "MISSING_EXECUTABLE"
	case CapabilityNotAdvertised:
		return "CAPABILITY_NOT_ADVERTISED"
	case ProtocolUnsupported:
		return "PROTOCOL_UNSUPPORTED"
	case InteractionInterrupted:
		return "INTERACTION_INTERRUPTED"
	}
	return fmt.Sprint(int(c))
}

// Error returns the code's name.
func (c Code) Error() string { return c.Name() }

// Errorf makes an *Error of the code. A cause given with %w is found by errors.Is and errors.As on this side; it does
// not travel.
func (c Code) Errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: c, Message: err.Error(), cause: err}
}

// Error is a failed request, as it travels.
type Error struct {
	Code     Code
	Message  string
	Issues   []Issue         // INVALID_PARAMS: what is wrong, sorted by path
	Recovery RecoveryHint    // BRIDGE_ERROR: what helps; "" when nothing is known
	Versions *Versions       // PROTOCOL_UNSUPPORTED: what both sides speak
	Data     json.RawMessage // other data of the error, nil for none
	cause    error
}

// Versions are the ranges of two sides that have no version in common.
type Versions struct {
	Core   VersionRange `json:"core"`
	Bridge VersionRange `json:"bridge"`
}

// Error returns the code's name, the message and the issues.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code.Name())
	b.WriteString(": ")
	b.WriteString(e.Message)
	for _, i := range e.Issues {
		b.WriteString("; ")
		b.WriteString(i.String())
	}
	return b.String()
}

// Is tells whether target is the error's Code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Unwrap returns the cause on this side.
func (e *Error) Unwrap() error { return e.cause }

// RecoveryHint says what helps after a failure.
type RecoveryHint string

// The values of RecoveryHint.
const (
	RecoverRestartProcess RecoveryHint = "restart-process" // start the bridge afresh
	RecoverResumeFresh    RecoveryHint = "resume-fresh"    // the session is lost: start a new one
	RecoverReauthenticate RecoveryHint = "reauthenticate"
	RecoverReinstall      RecoveryHint = "reinstall"
	RecoverNone           RecoveryHint = "none"
)

func (RecoveryHint) values() []string {
	return []string{"restart-process", "resume-fresh", "reauthenticate", "reinstall", "none"}
}

// ErrorCategory sorts what a provider reports as errors. It is persisted.
type ErrorCategory string

// The values of ErrorCategory.
const (
	ErrorContextWindowExceeded   ErrorCategory = "context_window_exceeded"
	ErrorBilling                 ErrorCategory = "billing"
	ErrorBudgetExceeded          ErrorCategory = "budget_exceeded"
	ErrorInternal                ErrorCategory = "internal"
	ErrorMaxOutputTokens         ErrorCategory = "max_output_tokens"
	ErrorMaxTurns                ErrorCategory = "max_turns"
	ErrorOverloaded              ErrorCategory = "overloaded"
	ErrorPolicy                  ErrorCategory = "policy"
	ErrorRateLimit               ErrorCategory = "rate_limit"
	ErrorSandbox                 ErrorCategory = "sandbox"
	ErrorStreamDisconnected      ErrorCategory = "stream_disconnected"
	ErrorStructuredOutputRetries ErrorCategory = "structured_output_retries"
	ErrorThreadRollbackFailed    ErrorCategory = "thread_rollback_failed"
	ErrorTooManyFailedAttempts   ErrorCategory = "too_many_failed_attempts"
	ErrorUnauthorized            ErrorCategory = "unauthorized"
	ErrorUnknown                 ErrorCategory = "unknown"
)

func (ErrorCategory) values() []string {
	return []string{"context_window_exceeded", "billing", "budget_exceeded", "internal", "max_output_tokens", "max_turns",
		"overloaded", "policy", "rate_limit", "sandbox", "stream_disconnected", "structured_output_retries",
		"thread_rollback_failed", "too_many_failed_attempts", "unauthorized", "unknown"}
}

// WarningCategory sorts what a provider reports as warnings.
type WarningCategory string

// The values of WarningCategory.
const (
	WarningDeprecation       WarningCategory = "deprecation"
	WarningConfig            WarningCategory = "config"
	WarningGeneral           WarningCategory = "general"
	WarningCompactionSkipped WarningCategory = "compaction-skipped"
	WarningTurnWatchdog      WarningCategory = "turn-watchdog"
	WarningSessionReplaced   WarningCategory = "session-replaced"
	WarningRecovery          WarningCategory = "recovery"
)

func (WarningCategory) values() []string {
	return []string{"deprecation", "config", "general", "compaction-skipped", "turn-watchdog", "session-replaced", "recovery"}
}
