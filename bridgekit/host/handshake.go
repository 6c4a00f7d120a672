package host

import (
	"context"
	"errors"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// handshake opens the connection. The error has everything but the standard error, which is complete only when the
// process is gone.
func (b *Bridge) handshake(ctx context.Context) *HandshakeError {
	p := protocol.InitializeParams{
		Protocol: protocol.VersionRange{Min: protocol.MinVersion, Max: protocol.MaxVersion},
		Client:   b.o.Client,
		Plugin:   b.o.Plugin,
	}
	for _, d := range b.o.Declarations {
		p.ProviderIDs = append(p.ProviderIDs, d.ID)
	}
	raw, err := b.roundTrip(ctx, protocol.MethodInitialize, p, b.o.Timeouts.Handshake, nil)
	if err != nil {
		return b.failed(reasonOf(ctx, err), err)
	}
	result, wrong := protocol.Decode[protocol.InitializeResult](raw)
	if wrong != nil {
		return b.failed(HandshakeInvalid, &ResultError{Method: protocol.MethodInitialize, Issues: wrong.Issues})
	}
	if v := result.Protocol; v < protocol.MinVersion || v > protocol.MaxVersion {
		e := protocol.ProtocolUnsupported.Errorf("the bridge chose version %d, which was not offered", v)
		e.Versions = &protocol.Versions{Core: p.Protocol, Bridge: protocol.VersionRange{Min: v, Max: v}}
		return b.failed(HandshakeVersion, e)
	}
	var wider []string
	for _, d := range b.o.Declarations {
		for _, name := range protocol.CapabilityWidens(d.Capabilities, result.Capabilities) {
			wider = append(wider, d.ID+": "+name)
		}
	}
	if len(wider) > 0 {
		e := b.failed(HandshakeCapabilities, nil)
		e.Wider = wider
		return e
	}
	b.capabilities = result.Capabilities
	return nil
}

// reasonOf sorts the error of the request.
func reasonOf(ctx context.Context, err error) HandshakeReason {
	var timeout *TimeoutError
	var exit *ExitError
	switch {
	case errors.As(err, &timeout):
		return HandshakeTimedOut
	case errors.As(err, &exit):
		return HandshakeExited
	case errors.Is(err, protocol.ProtocolUnsupported):
		return HandshakeVersion
	case ctx.Err() != nil:
		return HandshakeCancelled
	}
	return HandshakeRefused
}

func (b *Bridge) failed(reason HandshakeReason, err error) *HandshakeError {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &HandshakeError{Reason: reason, Garbage: b.garbage, Err: err}
}
