package sdk

import "fmt"

// UnreachableError is the cause of a call that reached no server: nothing of it was sent.
type UnreachableError struct {
	// URL is the server's address as the client has it.
	URL string
	// Err is what the network said.
	Err error
}

// Error says what was tried and how to mend it.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no server can be reached at %s (%v); start one with `bb-server`, or name another in %s", e.URL, e.Err, EnvURL)
}

// Unwrap returns what the network said.
func (e *UnreachableError) Unwrap() error { return e.Err }
