package isolate

import "errors"

var (
	// ErrClosed says that the engine has been closed.
	ErrClosed = errors.New("isolate: the engine is closed")
	// ErrBusy says that too many calls wait for an agent.
	ErrBusy = errors.New("isolate: too many calls wait for this agent")
)

// LoadError says that a version cannot be compiled or made an instance of.
type LoadError struct{ Reason string }

// Error returns the reason.
func (e *LoadError) Error() string { return e.Reason }

// TrapError says that an instance has ended or broken the rules of the interface. It has been discarded.
type TrapError struct{ Reason string }

// Error returns the reason.
func (e *TrapError) Error() string { return e.Reason }
