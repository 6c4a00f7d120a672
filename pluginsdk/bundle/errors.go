package bundle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// Error is an error with a code. What a handler returns with InvalidInput, NotFound or Conflict reaches the caller; every other error is internal,
// and its text stays in the log. Calls of the host fail with further codes.
type Error = abi.Error

// Code says why something failed; it is an error, so that errors.Is(err, bundle.NotFound) holds.
type Code = abi.Code

// The codes. The first three are for handlers; the others are what calls of the host fail with.
const (
	InvalidInput = abi.InvalidInput
	NotFound     = abi.NotFound
	Conflict     = abi.Conflict

	Internal        = abi.Internal
	BudgetExceeded  = abi.BudgetExceeded  // the dispatch has made too many of such calls
	SessionRequired = abi.SessionRequired // there is no session
	InvalidArgument = abi.InvalidArgument // a key or a value is not allowed
	ScopeDenied     = abi.ScopeDenied     // the dispatch may not use the service
	Denied          = abi.Denied          // the metadata is being read: nothing is there
)

// Errorf returns an error with a code.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// DefinitionError lists everything that is wrong with an agent.
type DefinitionError struct{ Problems []error }

// Error returns one problem a line.
func (e *DefinitionError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems.
func (e *DefinitionError) Unwrap() []error { return e.Problems }

// MetadataExtractionError says that a function of the author's panicked while the metadata was read, in the empty environment.
type MetadataExtractionError struct {
	CapabilityID string // "": the function Capabilities of the agent
	Reason       string // what it panicked with
}

// Error names the capability.
func (e *MetadataExtractionError) Error() string {
	where := fmt.Sprintf("capability %q", e.CapabilityID)
	if e.CapabilityID == "" {
		where = "the function Capabilities"
	}
	return where + " cannot be listed in an empty environment: " + e.Reason + ": read the environment in the handlers instead"
}

// wire returns err as it crosses to the host.
func wire(err error) *abi.Error {
	var e *Error
	var extraction *MetadataExtractionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &extraction):
		return &abi.Error{Code: abi.MetadataExtraction, Message: err.Error()}
	case errors.As(err, &e) && (e.Code == InvalidInput || e.Code == NotFound || e.Code == Conflict):
		return &abi.Error{Code: e.Code, Message: e.Message}
	}
	return &abi.Error{Code: Internal, Message: err.Error()}
}
