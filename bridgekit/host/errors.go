package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The causes that end the contexts of ToolCall and Interact, and what Interact may return for the first.
var (
	// ErrInterrupted says that the thread was stopped, or that the turn settled, before an answer came.
	ErrInterrupted = errors.New("host: interrupted")
	// ErrWithdrawn says that the agent no longer waits for the answer.
	ErrWithdrawn = errors.New("host: withdrawn by the agent")
	// ErrExited says that the bridge's process has ended.
	ErrExited = errors.New("host: the bridge has exited")
)

// ErrStopping is the error of calls after Stop.
var ErrStopping = errors.New("host: the bridge is being stopped")

// ExitError says how a bridge ended. It is the error of every call that this left without an answer.
type ExitError struct {
	Exit    process.Exit
	Stderr  []byte // the last 64 KiB of its standard error
	Stopped bool   // Stop or Kill asked for it
	Cause   error  // what broke the connection; nil when the bridge just ended, or closed its standard output
}

// Error says how the process ended, what broke before, and the last lines of its standard error.
func (e *ExitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "host: the bridge has exited: %s", e.Exit)
	if e.Cause != nil {
		fmt.Fprintf(&b, " (%v)", e.Cause)
	}
	b.WriteString(stderrTail(e.Stderr))
	return b.String()
}

// Is matches ErrExited.
func (e *ExitError) Is(target error) bool { return target == ErrExited }

// Unwrap returns the Cause.
func (e *ExitError) Unwrap() error { return e.Cause }

// tailLen is how much of the standard error an error's text shows: a stack trace's head or the last few log lines. The
// whole ring is in the error's field.
const tailLen = 2 << 10

// stderrTail is the end of a standard error for an error's text.
func stderrTail(stderr []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(stderr), "\uFFFD"))
	if text == "" {
		return ""
	}
	if len(text) > tailLen {
		text = text[len(text)-tailLen:]
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
		text = "…\n" + strings.ToValidUTF8(text, "")
	}
	return "; its standard error ends with:\n" + text
}

// TimeoutError says that a method was not answered in its time. It is a context.DeadlineExceeded.
type TimeoutError struct {
	Method string
	After  time.Duration
}

// Error names the method and the time.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("host: the bridge did not answer %s within %s", e.Method, e.After)
}

// Is matches context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ResultError says that a bridge answered with a result that breaks the method's schema.
type ResultError struct {
	Method string
	Issues []protocol.Issue
}

// Error names the method and every issue.
func (e *ResultError) Error() string {
	text := "host: the bridge's result of " + e.Method + " is wrong"
	for _, i := range e.Issues {
		text += "; " + i.String()
	}
	return text
}

// HandshakeReason says what went wrong in a handshake.
type HandshakeReason string

// The reasons.
const (
	HandshakeExited       HandshakeReason = "exited"       // the bridge ended before it answered
	HandshakeTimedOut     HandshakeReason = "timed-out"    // it did not answer in time
	HandshakeRefused      HandshakeReason = "refused"      // it answered with an error
	HandshakeVersion      HandshakeReason = "version"      // no common protocol version, or it chose one that was not offered
	HandshakeInvalid      HandshakeReason = "invalid"      // its result breaks the schema
	HandshakeCapabilities HandshakeReason = "capabilities" // it claims more than a declaration allows
	HandshakeCancelled    HandshakeReason = "cancelled"    // the context of Start ended
)

// HandshakeError says why a bridge was started in vain. The process is gone when Start returns it.
type HandshakeError struct {
	Reason  HandshakeReason
	Wider   []string // HandshakeCapabilities: "<providerId>: <capability>" of each
	Garbage string   // the start of the first line that was no message, "" when there was none
	Stderr  []byte   // the last 64 KiB of the bridge's standard error
	Err     error    // the cause: an *ExitError, *TimeoutError, *protocol.Error, *ResultError or the context's error
}

// Error says the reason, what stood on standard output instead of an answer, and the end of the standard error.
func (e *HandshakeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "host: the handshake with the bridge failed (%s)", e.Reason)
	if len(e.Wider) > 0 {
		fmt.Fprintf(&b, ": it reports more than is declared: %s; widen the declaration or report less", strings.Join(e.Wider, ", "))
	}
	var exit *ExitError
	if errors.As(e.Err, &exit) {
		fmt.Fprintf(&b, ": %s", exit.Exit)
	} else if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Garbage != "" {
		fmt.Fprintf(&b, "; its standard output has lines that are no messages, the first is %q: logs belong to standard error", e.Garbage)
	}
	b.WriteString(stderrTail(e.Stderr))
	return b.String()
}

// Unwrap returns the cause.
func (e *HandshakeError) Unwrap() error { return e.Err }
