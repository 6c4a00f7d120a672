package acp

import (
	"context"
	"errors"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

// needsLogin tells whether an agent refused because nobody is logged in. The code is also that of errors without one.
func needsLogin(err error) bool {
	var answer *wire.Error
	if !errors.As(err, &answer) || answer.Code != schema.CodeAuthRequired {
		return false
	}
	text := strings.ToLower(answerText(answer))
	return strings.Contains(text, "auth") || strings.Contains(text, "log in") || strings.Contains(text, "login") || strings.Contains(text, "sign in")
}

// signInHint says how to log in.
func (p *provider) signInHint(about schema.InitializeResult) string {
	if p.o.SignInHint != "" {
		return p.o.SignInHint
	}
	var ways []string
	for _, m := range about.AuthMethods {
		way := m.Name
		if m.Description != "" {
			way += ": " + m.Description
		}
		ways = append(ways, way)
	}
	if len(ways) == 0 {
		return Declaration(p.o).Strings.SignInHint
	}
	return cut(strings.Join(ways, "; "), maxLastWords)
}

// authenticated does something that may need a login. When the options name a way to log in, it is tried once.
func (p *provider) authenticated(ctx context.Context, a *agent, c config, do func() error) error {
	err := do()
	if !needsLogin(err) {
		return err
	}
	if c.authMethod != "" {
		if err = a.call(ctx, schema.Authenticate, map[string]string{"methodId": c.authMethod}, nil); err == nil {
			err = do()
		}
		if err == nil {
			return nil
		}
	}
	return &loginError{hint: p.signInHint(a.about), cause: err}
}

// loginError says that the agent wants a login. It reaches core as a failed request with the hint that helps.
type loginError struct {
	hint  string
	cause error
}

func (e *loginError) Error() string { return "the agent wants a login. " + e.hint }

func (e *loginError) Unwrap() []error {
	return []error{e.cause, &protocol.Error{Code: protocol.BridgeError, Message: e.Error(), Recovery: protocol.RecoverReauthenticate}}
}
