package bridgekit

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// ErrInterrupted is what Thread.Approve, Thread.Ask, Thread.Interact and Thread.CallTool return when no answer will
// come: the thread was stopped, its session ended, or the bridge shuts down. It is also the cause of the contexts that
// end for these reasons. A function that returns it is answered with INTERACTION_INTERRUPTED; it fails no turn, since
// whatever interrupted it settles the turn.
var ErrInterrupted error = protocol.InteractionInterrupted.Errorf("interrupted before an answer came")

// interrupted tells whether err says that a function gave up because it was told to.
func interrupted(ctx context.Context, err error) bool {
	return errors.Is(err, protocol.InteractionInterrupted) ||
		errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), ErrInterrupted)
}

// protocolError is the error that core gets for an author's.
func protocolError(err error) *protocol.Error {
	var typed *protocol.Error
	var code protocol.Code
	var start *fs.PathError
	switch {
	case errors.As(err, &typed) && typed != nil:
		return typed
	case errors.As(err, &code):
		return code.Errorf("%s", clip(err.Error()))
	case errors.Is(err, exec.ErrNotFound),
		errors.As(err, &start) && start.Op == "fork/exec" && errors.Is(err, fs.ErrNotExist):
		return protocol.MissingExecutable.Errorf("%s", clip(err.Error()))
	}
	return protocol.BridgeError.Errorf("%s", clip(err.Error()))
}

// wireError is err as it travels.
func wireError(err error) *wire.Error {
	e := protocolError(err)
	return &wire.Error{Code: int(e.Code), Message: e.Message, Data: e.WireData()}
}

// clip shortens text of others to maxMessage bytes and makes it valid UTF-8.
func clip(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
