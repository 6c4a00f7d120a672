package kernelapi

import (
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Scope says what a token may do.
type Scope string

// The scopes of a token.
const (
	ScopeAll  Scope = "all"
	ScopeRead Scope = "read" // queries and streams
)

// Enum lists the scopes, for the schema.
func (Scope) Enum() []any { return []any{ScopeAll, ScopeRead} }

// TokenInput names a token.
type TokenInput struct {
	Name string `json:"name" description:"The token's name"`
}

// TokenCreateInput says what token to make.
type TokenCreateInput struct {
	Name      string                   `json:"name" description:"The token's name, which is also the user's" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._@-]*$"`
	Scope     Scope                    `json:"scope,omitempty" default:"all" description:"What the token may do: everything, or only queries and streams"`
	ExpiresIn *kernelcontract.Duration `json:"expiresIn,omitempty" description:"How long it is valid; for ever when omitted"`
}

// CreatedToken is a new token with its secret, which is shown once.
type CreatedToken struct {
	Name      string     `json:"name"`
	Token     string     `json:"token"`
	Scope     Scope      `json:"scope"`
	ExpiresAt *time.Time `json:"expiresAt"`
}

// TokenInfo is a token without its secret.
type TokenInfo struct {
	Name      string     `json:"name"`
	Scope     Scope      `json:"scope"`
	CreatedAt time.Time  `json:"createdAt"`
	LastUse   *time.Time `json:"lastUse"`
	ExpiresAt *time.Time `json:"expiresAt"`
}

// CreateToken makes a token. Its secret is in the result and nowhere else.
var CreateToken = &kernelcontract.Mutation[TokenCreateInput, CreatedToken]{
	Ref: "kernel/token.create", Summary: "Make a token and show it once",
	CLI: kernelcontract.CLI{Args: []string{"name"}}, Access: people,
	RenderText: func(t CreatedToken, _ kernelcontract.Render) string {
		return t.Token + "\n\nKeep it now: it is not shown again. Clients read it from BB_TOKEN."
	},
}

// ListTokens lists the tokens without their secrets.
var ListTokens = &kernelcontract.Query[kernelcontract.None, []TokenInfo]{
	Ref: "kernel/token.list", Summary: "List the tokens", Access: people,
}

// RevokeToken makes a token invalid at once and ends its streams.
var RevokeToken = &kernelcontract.Mutation[TokenInput, kernelcontract.None]{
	Ref: "kernel/token.revoke", Summary: "Make a token invalid and end its streams",
	CLI: kernelcontract.CLI{Args: []string{"name"}}, Access: people,
	RenderText: func(kernelcontract.None, kernelcontract.Render) string { return "the token is no longer valid" },
}

// Token lets clients in that are not on this machine.
var Token = &kernelcontract.Service{
	ID: "kernel/token", Summary: "Manage tokens", Group: []string{"runtime", "token"},
	Methods: []kernelcontract.Method{CreateToken, ListTokens, RevokeToken},
}
