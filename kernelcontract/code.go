package kernelcontract

import (
	"fmt"
	"slices"
)

// Code is an error code, and an error itself: errors.Is(err, NotFound) holds in process and over HTTP.
// Plugins declare their own codes in a method's Errors; the kernel's are the constants below.
type Code string

// The kernel's codes. Table says what each becomes on every surface (docs/spec/errors.md).
const (
	// InvalidInput refuses an input, a header or a verb that the method does not take.
	InvalidInput Code = "invalid_input"
	// Unauthenticated refuses a caller who shows no valid evidence.
	Unauthenticated Code = "unauthenticated"
	// Forbidden refuses a caller whose evidence or actor is not admitted.
	Forbidden Code = "forbidden"
	// Vetoed says that a guard of a plugin refused the call; Details "by" names the plugin.
	Vetoed Code = "vetoed"
	// NotFound says that the route, the service, the method or the entity does not exist.
	NotFound Code = "not_found"
	// Conflict says that the state contradicts the call.
	Conflict Code = "conflict"
	// Precondition says that a stated condition does not hold; an expired cursor is one.
	Precondition Code = "precondition"
	// Cancelled says that the caller went away or cancelled.
	Cancelled Code = "cancelled"
	// Internal hides a panic or an undeclared error; its text is in the log under the call id.
	Internal Code = "internal"
	// ProviderOptionsFailed says that a provider's options could not be computed.
	ProviderOptionsFailed Code = "provider_options_failed"
	// BridgeEnvFailed says that a bridge's environment could not be computed.
	BridgeEnvFailed Code = "bridge_env_failed"
	// BridgeEnvReserved says that a bridge's environment sets a BB_ name.
	BridgeEnvReserved Code = "bridge_env_reserved"
	// NeedsConfiguration lists in Details "missing" the keys to set and how.
	NeedsConfiguration Code = "needs_configuration"
	// ServiceUnavailable says that what answers the method does not run now.
	ServiceUnavailable Code = "service_unavailable"
	// Timeout says that the deadline passed.
	Timeout Code = "timeout"
	// BundleFailed says that a bundle broke its contract.
	BundleFailed Code = "bundle_failed"
)

// Retry says when a caller may repeat a failed call.
type Retry string

// When a failed call may be repeated.
const (
	RetryNever      Retry = "never"
	RetryAlways     Retry = "always"
	RetryQueries    Retry = "queries"     // only a query or a stream: it changes nothing
	RetryNotStarted Retry = "not-started" // only when the handler was not reached
)

// Row is a line of the error table: what a code becomes on each surface. Nothing else in the project writes a status
// number (docs/spec/errors.md).
type Row struct {
	Code        Code
	HTTPStatus  int
	Exit        int // exit status of the command line
	JSONRPC     int
	Retry       Retry
	Description string
}

// StatusClientClosed is the HTTP status of a call whose caller went away; net/http has no name for it.
const StatusClientClosed = 499

// Exit statuses of the command line that no code has (docs/spec/cli.md).
const (
	ExitOK          = 0
	ExitFailure     = 1   // also a declined confirmation
	ExitUsage       = 2   // also a refused destructive word and a bare group
	ExitNoServer    = 4   // no server reachable
	ExitInterrupted = 130 // SIGINT
)

var table = [...]Row{
	{InvalidInput, 400, 2, -32602, RetryNever, "The input, a header or the verb is not what the method takes."},
	{Unauthenticated, 401, 4, -32011, RetryNever, "The caller shows no valid evidence of who it is."},
	{Forbidden, 403, 7, -32012, RetryNever, "The caller is known and not admitted."},
	{Vetoed, 403, 7, -32013, RetryNever, "A plugin's guard refused the call."},
	{NotFound, 404, 3, -32014, RetryNever, "The route, the method or the entity does not exist."},
	{Conflict, 409, 6, -32015, RetryNever, "The state contradicts the call."},
	{Precondition, 412, 6, -32016, RetryNever, "A stated condition does not hold."},
	{Cancelled, StatusClientClosed, 130, -32017, RetryQueries, "The caller went away or cancelled."},
	{Internal, 500, 1, -32603, RetryNever, "The handler failed; the log has the cause under the call id."},
	{ProviderOptionsFailed, 502, 1, -32018, RetryAlways, "The provider's options could not be computed."},
	{BridgeEnvFailed, 502, 1, -32018, RetryAlways, "The bridge's environment could not be computed."},
	{BridgeEnvReserved, 502, 1, -32018, RetryNever, "The bridge's environment sets a reserved name."},
	{NeedsConfiguration, 503, 4, -32019, RetryNever, "Something must be configured first."},
	{ServiceUnavailable, 503, 4, -32020, RetryNotStarted, "What answers the method does not run now."},
	{Timeout, 504, 5, -32021, RetryQueries, "The deadline passed."},
	{BundleFailed, 502, 1, -32022, RetryNever, "The bundle broke its contract."},
}

// Table returns the error table in its documented order. The slice is the caller's.
func Table() []Row { return slices.Clone(table[:]) }

// Row returns the line of c and whether c is a code of the kernel.
func (c Code) Row() (Row, bool) {
	for i := range table {
		if table[i].Code == c {
			return table[i], true
		}
	}
	return Row{}, false
}

// Error returns the code, which makes a Code usable as the target of errors.Is and as a returned error.
func (c Code) Error() string { return string(c) }

// Errorf returns an *Error with this code and a formatted message. A %w keeps its operand as the cause, which the log
// and errors.Is see and the message does not.
func (c Code) Errorf(format string, args ...any) *Error {
	format, args, cause := cutCauses(format, args)
	return &Error{Code: c, Message: fmt.Sprintf(format, args...), Retryable: c.retryable(), cause: cause}
}

func (c Code) retryable() bool {
	row, _ := c.Row()
	return row.Retry == RetryAlways
}

// CodeOf returns the code of err: "" for nil, Internal for an error that carries none.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}
