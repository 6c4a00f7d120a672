// Package bridge is what a provider plugin says about its bridge beside the declaration: which program speaks the bridge
// protocol, and the functions that run in the server for it. A plugin lists its declarations in pluginsdk.Plugin and
// hands a [Program] for each of them to pluginsdk.Host.ProvideBridge. The bridge itself is written with package
// bridgekit, or in any other language. The rules are docs/spec/providers.md.
package bridge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
)

// Bounds of the functions of [ProviderHooks].
const (
	// OptionsTimeout bounds DeriveProviderOptions: every input waits for it.
	OptionsTimeout = bridgekit.ProviderOptionsTimeout
	// EnvTimeout bounds BridgeEnv: the start of a bridge waits for it, and it may ask a program for a secret.
	EnvTimeout = 10 * time.Second
	// CatalogTimeout bounds ModelCatalog, as long as a bridge has for its list.
	CatalogTimeout = bridgekit.RequestTimeout
)

// Program is the program that serves a provider.
type Program struct {
	// Command is the program and its arguments; required. A name without a slash is looked for in the server's PATH.
	Command []string
	// Options are the bridgeOptions of sessions; nil: those of the declaration.
	Options protocol.JSONObject
	// Agent is the agent's own program, a path or a name that is looked for in the server's PATH, when the bridge needs one:
	// whether it is there tells whether the provider is installed. "": the bridge is asked, where that matters.
	Agent string
	// Hooks run in the server.
	Hooks ProviderHooks
}

// ProviderHooks are the functions of a provider that run in the server. Those that are nil stand for {} options, no
// variables, and the bridge's own list of models. An error or a panic of one fails what needed it, and nothing else.
type ProviderHooks struct {
	// DeriveProviderOptions returns what becomes ExecutionOptions.ProviderOptions. It runs once for each create, send and
	// fork, and has OptionsTimeout. When it fails the operation does, with kernelcontract.ProviderOptionsFailed.
	DeriveProviderOptions func(ctx context.Context, r OptionsRequest) (protocol.JSONObject, error)
	// BridgeEnv returns variables for the bridge's process, before each start; it has EnvTimeout. When it fails the bridge
	// is not started: kernelcontract.BridgeEnvFailed, and BridgeEnvReserved for a name that begins with BB_.
	BridgeEnv func(ctx context.Context, r EnvRequest) (map[string]string, error)
	// ModelCatalog returns the provider's models; nil says to ask the bridge. It has CatalogTimeout.
	ModelCatalog func(ctx context.Context, r ModelsRequest) ([]protocol.ModelDecl, error)
}

// Operation is what options are derived for.
type Operation string

// The values of Operation.
const (
	Create Operation = "create"
	Send   Operation = "send"
	Fork   Operation = "fork"
)

// OptionsRequest says what options are derived for.
type OptionsRequest struct {
	Operation  string // an Operation: create, send or fork
	ThreadID   string
	ProviderID string
	Cwd        string // absolute
	ProjectID  string // "": none
	Model      string // "": the provider's default
	Permission protocol.PermissionPolicy
	// Grants are those that were allowed for the whole session and are kept on the thread.
	Grants []protocol.GrantProfile
}

// EnvRequest says which bridge is about to be started.
type EnvRequest struct {
	ProviderID  string
	Maintenance bool // it serves questions about the provider, and no sessions
}

// ModelsRequest says whose models are asked for.
type ModelsRequest struct {
	ProviderID string
	Cwd        string // where the agent would work, absolute; "" when nobody said
}

// Check says what is wrong with a program, nil for nothing.
func (p Program) Check() error {
	switch {
	case len(p.Command) == 0 || strings.TrimSpace(p.Command[0]) == "":
		return fmt.Errorf("it has no command: set Command to the bridge's program and arguments")
	case strings.ContainsRune(strings.Join(p.Command, ""), 0):
		return fmt.Errorf("its command has a zero byte in it")
	}
	return nil
}

// Derive calls DeriveProviderOptions within its time. The error is kernelcontract.ProviderOptionsFailed.
func (h ProviderHooks) Derive(ctx context.Context, r OptionsRequest) (protocol.JSONObject, error) {
	if h.DeriveProviderOptions == nil {
		return protocol.JSONObject{}, nil
	}
	options, err := within(ctx, OptionsTimeout, func(ctx context.Context) (protocol.JSONObject, error) { return h.DeriveProviderOptions(ctx, r) })
	if err != nil {
		return nil, failure(ctx, err, kernelcontract.ProviderOptionsFailed, "the options of provider %s could not be derived", r.ProviderID)
	}
	if options == nil {
		options = protocol.JSONObject{}
	}
	return options, nil
}

// Env calls BridgeEnv within its time and refuses names that are not the plugin's to set. The error is
// kernelcontract.BridgeEnvFailed or BridgeEnvReserved.
func (h ProviderHooks) Env(ctx context.Context, r EnvRequest) (map[string]string, error) {
	if h.BridgeEnv == nil {
		return nil, nil
	}
	env, err := within(ctx, EnvTimeout, func(ctx context.Context) (map[string]string, error) { return h.BridgeEnv(ctx, r) })
	if err != nil {
		return nil, failure(ctx, err, kernelcontract.BridgeEnvFailed, "the environment of the bridge of provider %s could not be computed", r.ProviderID)
	}
	for name, value := range env {
		switch {
		case strings.HasPrefix(strings.ToUpper(name), "BB_"):
			return nil, kernelcontract.BridgeEnvReserved.Errorf("the plugin of provider %s sets the variable %s for its bridge: names that begin with BB_ belong to the server", r.ProviderID, name)
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0):
			return nil, kernelcontract.BridgeEnvFailed.Errorf("the plugin of provider %s sets a variable %q for its bridge, which is no name or has no value that can be passed on", r.ProviderID, name)
		}
	}
	return env, nil
}

// Models calls ModelCatalog within its time. A nil list says to ask the bridge.
func (h ProviderHooks) Models(ctx context.Context, r ModelsRequest) ([]protocol.ModelDecl, error) {
	if h.ModelCatalog == nil {
		return nil, nil
	}
	return within(ctx, CatalogTimeout, func(ctx context.Context) ([]protocol.ModelDecl, error) { return h.ModelCatalog(ctx, r) })
}

// failure is err as an error with a code, which keeps its text: it is for who runs the plugin. When the caller went away
// the error is the caller's.
func failure(ctx context.Context, err error, code kernelcontract.Code, format string, args ...any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return code.Errorf(format+": %s: %w", append(args, err.Error(), err)...)
}

// within runs a function of a plugin with a deadline, whether or not it heeds its context, and contains its panics.
func within[T any](ctx context.Context, limit time.Duration, fn func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan outcome, 1)
	go func() { // ends with fn; one that ignores its context is left behind, since nothing can end it
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: fmt.Errorf("it panicked: %v", p)}
			}
			done <- o
		}()
		o.value, o.err = fn(bounded)
	}()
	var none T
	select {
	case o := <-done:
		if o.err != nil && bounded.Err() != nil && ctx.Err() == nil {
			return none, fmt.Errorf("it took longer than %s", limit)
		}
		return o.value, o.err
	case <-bounded.Done():
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		return none, fmt.Errorf("it took longer than %s", limit)
	}
}
