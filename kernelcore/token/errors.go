package token

import (
	"errors"
	"fmt"
)

// Errors of credentials. Ask for them with errors.Is.
var (
	// ErrMalformed says that a text is no secret of ours.
	ErrMalformed = errors.New("token: malformed; a secret is bbt_, bbh_ or bbs_ and 43 more characters, as it was shown when it was made")
	// ErrUnknown says that a secret was never made here, or was revoked.
	ErrUnknown = errors.New("token: unknown or revoked; make a new one")
	// ErrExpired says that a token's time is over.
	ErrExpired = errors.New("token: expired; make a new one")
	// ErrNotFound says that nothing has a name.
	ErrNotFound = errors.New("no such name")
	// ErrExists says that a name is taken.
	ErrExists = errors.New("the name is taken")
)

// InvalidError says that an argument breaks a rule.
type InvalidError struct {
	Field   string // the argument: name, scope or expires
	Problem string // what is wrong with it and what would do
}

// Error names the argument, the problem and the rule.
func (e *InvalidError) Error() string { return "token: " + e.Field + " " + e.Problem }

func taken(what, name string) error {
	return fmt.Errorf("%s %s: %w; choose another, or remove that one first", what, name, ErrExists)
}

func missing(what, name string) error {
	return fmt.Errorf("%s %.80q: %w; list them to see which there are", what, name, ErrNotFound)
}
