// Package host is core's side of a provider bridge: it starts the bridge's program, shakes hands, calls its methods with
// deadlines, hands on what it reports in the order of the wire, answers what it asks, and ends it with everything that
// it started.
//
// Start gives a *Bridge with a method for each method of the protocol. What the bridge sends by itself goes to the
// functions of Handler. See docs/spec/bridges-host.md.
package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The deadlines that the zero Timeouts stands for.
const (
	HandshakeTimeout = protocol.HandshakeTimeout
	RequestTimeout   = protocol.RequestTimeout
	SessionTimeout   = protocol.SessionTimeout
	StopTimeout      = protocol.StopGrace
	ShutdownTimeout  = protocol.ShutdownGrace
)

// MaxRequests is how many requests of one bridge may be unanswered at a time. Each holds a goroutine and its params; an
// agent asks for one thing a tool call, so that a bridge with this many has lost count.
const MaxRequests = 1024

// maxThreads is how many threads one process may have: beyond it core never released them.
const maxThreads = 4096

// Options says what to start and how to deal with it. Command, Plugin and Declarations are needed.
type Options struct {
	Command      []string // the program and its arguments
	Dir          string   // its working directory; "" is this process's
	Env          []string // its whole environment, as NAME=value; nil is an empty one
	Client       protocol.ClientInfo
	Plugin       protocol.PluginInfo
	Declarations []protocol.ProviderDeclaration // of the providers that the bridge serves

	// InteractionKinds are the open interactions that the plugin declares, as <pluginId>/<kind>; requests of others are
	// refused.
	InteractionKinds []string
	// Ambient are the BB_* variables that every session gets in its env. BB_THREAD_ID is added.
	Ambient map[string]string

	Handler  Handler
	Timeouts Timeouts
	Log      *slog.Logger // what is wrong with the bridge and what it logs; nil drops it
	// RecordDir, when it is not "", records every line that crosses into this directory. See package record.
	RecordDir string
}

// Timeouts are the deadlines of a bridge; 0 stands for the constant of the same name. Time in which a function of
// Handler holds the reader back does not count: the answer may be waiting behind what it works on.
type Timeouts struct {
	Handshake, Request, Session, Stop, Shutdown time.Duration
}

// Handler takes what a bridge sends. Any function may be nil: what it would take is dropped, and requests are refused.
//
// All but ToolCall and Interact are called one after the other in the order of the wire, on the goroutine that reads.
// While one of them runs nothing more is read; that is the backpressure. They must not call methods of the Bridge that
// wait for an answer, nor Stop; Kill is fine. A panic in one of them is logged and loses what it was called with.
type Handler struct {
	// Deltas takes those deltas of one thread/delta that keep the grammar. The slice is valid until Deltas returns, the
	// deltas for good.
	Deltas    func(threadID string, ds protocol.Deltas)
	Identity  func(protocol.IdentityParams)
	Replaced  func(protocol.ReplacedParams)
	Recovery  func(protocol.RecoveryParams)
	Withdrawn func(protocol.WithdrawnParams) // the context of Interact has ended by then
	Raw       func(protocol.RawParams)
	// Log takes the messages of bridge/log, and in the same form the warnings about what was dropped, which name the
	// broken rule in Data. nil: they go to Options.Log.
	Log func(protocol.LogParams)
	// Lost says that a line was over the limit, so that nobody knows what was in it: the open turns of these threads
	// have failed with stream_disconnected.
	Lost func(threads []string)

	// ToolCall runs a tool, on a goroutine of its own and for as long as it takes. Its context ends when the thread is
	// stopped or discarded, when the bridge ends, and with Stop; it must then return soon. The bridge gets a
	// *protocol.Error as it is and any other error as BRIDGE_ERROR.
	ToolCall func(ctx context.Context, p protocol.ToolCallParams) (protocol.ToolResult, error)
	// Interact gets the answer to an interaction, like ToolCall; its context also ends when the turn that it belongs to
	// settles, and when the bridge withdraws it. ErrInterrupted, an *protocol.InterruptedResolution and the end of the
	// context answer INTERACTION_INTERRUPTED. A request that is repeated while it waits joins the first one.
	Interact func(ctx context.Context, p protocol.InteractionParams) (protocol.Resolution, error)

	// Exit is called once, after every other function has returned, when the process is gone.
	Exit func(*ExitError)
}

// withDefaults fills in what the zero values stand for.
func (t Timeouts) withDefaults() Timeouts {
	fill := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	fill(&t.Handshake, HandshakeTimeout)
	fill(&t.Request, RequestTimeout)
	fill(&t.Session, SessionTimeout)
	fill(&t.Stop, StopTimeout)
	fill(&t.Shutdown, ShutdownTimeout)
	return t
}
