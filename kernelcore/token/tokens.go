package token

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// Scope is what a token admits to.
type Scope string

// The scopes of tokens.
const (
	All  Scope = "all"  // every method
	Read Scope = "read" // methods that change nothing: queries and streams
)

// Token is what is known about a token. Its secret is not.
type Token struct {
	Name    string
	Scope   Scope
	Created time.Time
	LastUse time.Time // to the second; zero: never used
	Expires time.Time // zero: never
}

// Tokens are the tokens of a data directory. They are safe for concurrent use.
type Tokens struct{ book *book[tokenDetails] }

type tokenDetails struct {
	Scope Scope `json:"scope"`
}

// OpenTokens reads the tokens in s and keeps them in memory from then on; nobody else may change
// them meanwhile. log hears of what could not be read or written; nil drops it.
func OpenTokens(ctx context.Context, s store.Store, log *slog.Logger) (*Tokens, error) {
	b, err := openBook[tokenDetails](ctx, s, "token", "kernel/tokens", log)
	if err != nil {
		return nil, err
	}
	return &Tokens{b}, nil
}

// Create makes a token. The secret is in the answer and nowhere else; when Create returns, the token
// is stored. A zero expires means that it does not expire. The error is an [*InvalidError] when an
// argument breaks a rule, has [ErrExists] when the name is taken, or is the store's.
func (t *Tokens) Create(ctx context.Context, name string, scope Scope, expires time.Time) (secret string, _ Token, err error) {
	if name == "local" || name == "anonymous" { // user:local and user:anonymous are somebody else
		return "", Token{}, &InvalidError{Field: "name", Problem: fmt.Sprintf("%q is reserved: use another", name)}
	}
	if scope != All && scope != Read {
		return "", Token{}, &InvalidError{Field: "scope", Problem: fmt.Sprintf("%.80q does not do: use %q or %q", string(scope), All, Read)}
	}
	if !expires.IsZero() && !expires.After(time.Now()) {
		return "", Token{}, &InvalidError{Field: "expires", Problem: fmt.Sprintf("%s is past: choose a time to come", expires.Format(time.RFC3339))}
	}
	if !expires.IsZero() {
		expires = expires.UTC()
	}
	secret, hash := Mint(User)
	e, err := t.book.create(ctx, name, hash, expires, tokenDetails{scope})
	if err != nil {
		return "", Token{}, err
	}
	return secret, tokenOf(e), nil
}

// List returns all tokens by name, expired ones too: they keep their name until they are revoked.
func (t *Tokens) List() []Token {
	entries := t.book.list()
	all := make([]Token, len(entries))
	for i, e := range entries {
		all[i] = tokenOf(e)
	}
	return all
}

// Revoke ends a token for good: it admits nobody from then on, and what Lookup gave for it is closed.
// The error has [ErrNotFound] when there is none of that name, or is the store's, and then the token
// is not revoked.
func (t *Tokens) Revoke(ctx context.Context, name string) error { return t.book.remove(ctx, name) }

// Lookup returns the token with this hash and notes that it was used. ended is closed when it is
// revoked or expires. The error is [ErrUnknown] or [ErrExpired].
func (t *Tokens) Lookup(hash Hash) (_ Token, ended <-chan struct{}, err error) {
	e, err := t.book.lookup(hash)
	if err != nil {
		return Token{}, nil, err
	}
	return tokenOf(e), e.ended, nil
}

// Flush writes the times of last use, which otherwise happens every minute.
func (t *Tokens) Flush(ctx context.Context) error { return t.book.flush(ctx) }

// Close stops keeping the tokens and writes the times of last use. It does not close the store.
func (t *Tokens) Close(ctx context.Context) error { return t.book.close(ctx) }

func tokenOf(e *entry[tokenDetails]) Token {
	return Token{Name: e.name, Scope: e.record.Details.Scope, Created: e.record.Created, LastUse: e.lastUse(), Expires: e.record.Expires}
}
