package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

func TestNoHooksStandForNothing(t *testing.T) {
	is := is.New(t)
	var none bridge.ProviderHooks
	options, err := none.Derive(t.Context(), bridge.OptionsRequest{})
	is.NoErr(err)
	is.True(options != nil) // {}
	is.Equal(len(options), 0)
	env, err := none.Env(t.Context(), bridge.EnvRequest{})
	is.NoErr(err)
	is.Equal(len(env), 0)
	models, err := none.Models(t.Context(), bridge.ModelsRequest{})
	is.NoErr(err)
	is.True(models == nil) // ask the bridge
}

func TestHooksGetTheRequest(t *testing.T) {
	is := is.New(t)
	h := bridge.ProviderHooks{
		DeriveProviderOptions: func(_ context.Context, r bridge.OptionsRequest) (protocol.JSONObject, error) {
			return protocol.JSONObject{"for": []byte(`"` + r.Operation + " " + r.ThreadID + `"`)}, nil
		},
		BridgeEnv: func(_ context.Context, r bridge.EnvRequest) (map[string]string, error) {
			return map[string]string{"FOR": r.ProviderID}, nil
		},
		ModelCatalog: func(_ context.Context, r bridge.ModelsRequest) ([]protocol.ModelDecl, error) {
			return []protocol.ModelDecl{{ID: r.Cwd}}, nil
		},
	}
	options, err := h.Derive(t.Context(), bridge.OptionsRequest{Operation: string(bridge.Fork), ThreadID: "t1"})
	is.NoErr(err)
	is.Equal(string(options["for"]), `"fork t1"`)
	env, err := h.Env(t.Context(), bridge.EnvRequest{ProviderID: "p"})
	is.NoErr(err)
	is.Equal(env, map[string]string{"FOR": "p"})
	models, err := h.Models(t.Context(), bridge.ModelsRequest{Cwd: "/work"})
	is.NoErr(err)
	is.Equal(models[0].ID, "/work")
}

// Each row is a way for a function of a plugin to fail; what it breaks is the call that needed it.
func TestHookFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func(ctx context.Context) error
		says string
	}{
		{"an error", func(context.Context) error { return errors.New("no such account") }, "no such account"},
		{"a panic", func(context.Context) error { panic("oops") }, "panicked: oops"},
		{"too slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "took longer than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				h := bridge.ProviderHooks{
					DeriveProviderOptions: func(ctx context.Context, _ bridge.OptionsRequest) (protocol.JSONObject, error) {
						return nil, tt.fail(ctx)
					},
					BridgeEnv: func(ctx context.Context, _ bridge.EnvRequest) (map[string]string, error) { return nil, tt.fail(ctx) },
				}
				_, err := h.Derive(t.Context(), bridge.OptionsRequest{ProviderID: "p"})
				is.Equal(kernelcontract.CodeOf(err), kernelcontract.ProviderOptionsFailed)
				is.True(strings.Contains(err.Error(), tt.says))
				_, err = h.Env(t.Context(), bridge.EnvRequest{ProviderID: "p"})
				is.Equal(kernelcontract.CodeOf(err), kernelcontract.BridgeEnvFailed)
				is.True(strings.Contains(err.Error(), tt.says))
			})
		})
	}
}

func TestOptionsHaveTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		forever := make(chan struct{})
		h := bridge.ProviderHooks{DeriveProviderOptions: func(context.Context, bridge.OptionsRequest) (protocol.JSONObject, error) {
			<-forever // ignores its context
			return nil, nil
		}}
		before := time.Now()
		_, err := h.Derive(t.Context(), bridge.OptionsRequest{})
		is.Equal(kernelcontract.CodeOf(err), kernelcontract.ProviderOptionsFailed)
		is.Equal(time.Since(before), 2*time.Second)
		close(forever)
	})
}

func TestACallerWhoGoesAwayIsNotTheHooksFailure(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := bridge.ProviderHooks{DeriveProviderOptions: func(ctx context.Context, _ bridge.OptionsRequest) (protocol.JSONObject, error) {
		return nil, ctx.Err()
	}}
	_, err := h.Derive(ctx, bridge.OptionsRequest{})
	is.True(errors.Is(err, context.Canceled))
}

func TestReservedNamesOfTheEnvironment(t *testing.T) {
	for name, want := range map[string]kernelcontract.Code{
		"BB_TOKEN": kernelcontract.BridgeEnvReserved,
		"bb_token": kernelcontract.BridgeEnvReserved, // the same on Windows
		"":         kernelcontract.BridgeEnvFailed,
		"A=B":      kernelcontract.BridgeEnvFailed,
		"BBQ":      "",
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			h := bridge.ProviderHooks{BridgeEnv: func(context.Context, bridge.EnvRequest) (map[string]string, error) {
				return map[string]string{name: "x"}, nil
			}}
			_, err := h.Env(t.Context(), bridge.EnvRequest{})
			is.Equal(kernelcontract.CodeOf(err), want)
		})
	}
}

func TestProgramNeedsACommand(t *testing.T) {
	is := is.New(t)
	is.True(bridge.Program{}.Check() != nil)
	is.True(bridge.Program{Command: []string{" "}}.Check() != nil)
	is.True(bridge.Program{Command: []string{"a\x00b"}}.Check() != nil)
	is.NoErr(bridge.Program{Command: []string{"a"}}.Check())
}
