package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

func TestHandshake(t *testing.T) {
	narrow := func(old, new string) string {
		return `on initialize result {"protocol":3,"capabilities":` + strings.Replace(allCapabilities, old, new, 1) + `}`
	}
	for _, tt := range []struct {
		name     string
		commands []string
		reason   host.HandshakeReason // "" when it succeeds
		says     []string
		as       error
	}{
		{"exit before the answer", []string{"stderr 10", "on initialize exit 3"}, host.HandshakeExited, []string{"status 3", "xxxxxxxxxx"}, host.ErrExited},
		{"exit before the question", []string{"exit 0"}, host.HandshakeExited, []string{"status 0"}, host.ErrExited},
		{"standard output closed", []string{"on EOF exit 4", "on initialize quiet", "close"}, host.HandshakeExited, []string{"status 4"}, host.ErrExited},
		{"garbage instead", []string{"say usage: puppet [flags]", "exit 2"}, host.HandshakeExited, []string{"usage: puppet [flags]", "standard error"}, host.ErrExited},
		{"megabytes without a line end", []string{"junk 9000000", "exit 2"}, host.HandshakeExited, []string{"xxxx"}, host.ErrExited},
		{"banner before the first message", []string{"say \ufeffwelcome", "say", "say []"}, "", nil, nil},
		{"refused", []string{`on initialize error {"code":-32000,"message":"no licence"}`}, host.HandshakeRefused, []string{"BRIDGE_ERROR", "no licence"}, protocol.BridgeError},
		{"version refused", []string{`on initialize error {"code":-32006,"message":"too new","data":{"core":{"min":3,"max":3},"bridge":{"min":1,"max":2}}}`}, host.HandshakeVersion, []string{"PROTOCOL_UNSUPPORTED"}, protocol.ProtocolUnsupported},
		{"version not offered", []string{`on initialize result {"protocol":4,"capabilities":` + allCapabilities + `}`}, host.HandshakeVersion, []string{"version 4"}, protocol.ProtocolUnsupported},
		{"capabilities missing", []string{`on initialize result {"protocol":3}`}, host.HandshakeInvalid, []string{"capabilities"}, nil},
		{"result no object", []string{`on initialize result 3`}, host.HandshakeInvalid, []string{"initialize"}, nil},
		{"capabilities narrower", []string{narrow(`"fork":"checkpoint"`, `"fork":"none"`)}, "", nil, nil},
		{"enforcer differs", []string{narrow(`"approvalEnforcedBy":"runtime"`, `"approvalEnforcedBy":"provider"`)}, host.HandshakeCapabilities, []string{"puppet: approvalEnforcedBy"}, nil},
		{"messages before the answer", []string{
			notification("bridge/log", `{"threadId":null,"level":"info","message":"hi","data":null}`),
			notification("thread/delta", `{"threadId":"t1","deltas":[]}`), `say {"jsonrpc":"2.0","id":"x","result":{}}`}, "", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			o := options(tt.commands...)
			s := watch(&o)
			b, err := host.Start(background, o)
			if tt.reason == "" {
				is.NoErr(err)
				is.NoErr(b.Stop(background))
				return
			}
			var failed *host.HandshakeError
			is.True(errors.As(err, &failed))
			is.Equal(failed.Reason, tt.reason)
			if tt.as != nil {
				is.True(errors.Is(err, tt.as))
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
			s.wait(t, "exit") // the process is gone
		})
	}

	t.Run("no answer in time", func(t *testing.T) {
		is := is.New(t)
		o := options("on initialize quiet")
		o.Timeouts.Handshake = 50 * time.Millisecond
		_, err := host.Start(background, o)
		var failed *host.HandshakeError
		is.True(errors.As(err, &failed))
		is.Equal(failed.Reason, host.HandshakeTimedOut)
		is.True(errors.Is(err, context.DeadlineExceeded))
	})
	t.Run("context ends", func(t *testing.T) {
		is := is.New(t)
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		o := options(notification("bridge/log", `{"threadId":null,"level":"info","message":"hi","data":null}`), "on initialize quiet")
		o.Handler.Log = func(protocol.LogParams) { cancel() }
		_, err := host.Start(ctx, o)
		var failed *host.HandshakeError
		is.True(errors.As(err, &failed))
		is.Equal(failed.Reason, host.HandshakeCancelled)
		is.True(errors.Is(err, context.Canceled))
	})
	t.Run("capabilities wider", func(t *testing.T) {
		is := is.New(t)
		o := options()
		d := &o.Declarations[0]
		d.Capabilities.ThreadGoal, d.Capabilities.Fork, d.Capabilities.Steer = false, protocol.ForkTip, protocol.SteerQueue
		_, err := host.Start(background, o)
		var failed *host.HandshakeError
		is.True(errors.As(err, &failed))
		is.Equal(failed.Reason, host.HandshakeCapabilities)
		is.Equal(len(failed.Wider), 3)
	})
	t.Run("missing executable", func(t *testing.T) {
		is := is.New(t)
		o := options()
		o.Command = []string{"no-such-bridge-anywhere"}
		_, err := host.Start(background, o)
		var missing *process.NotFoundError
		is.True(errors.As(err, &missing))
		is.True(strings.Contains(err.Error(), "no-such-bridge-anywhere"))
	})
	t.Run("options are checked all at once", func(t *testing.T) {
		is := is.New(t)
		_, err := host.Start(background, host.Options{})
		for _, part := range []string{"Command", "Plugin", "Declarations"} {
			is.True(strings.Contains(err.Error(), part))
		}
		o := options()
		o.Declarations = append(o.Declarations, declaration("puppet"), protocol.ProviderDeclaration{ID: "NO"})
		_, err = host.Start(background, o)
		for _, part := range []string{"declared twice", `"NO"`} {
			is.True(strings.Contains(err.Error(), part))
		}
	})
}
