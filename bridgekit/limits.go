package bridgekit

import (
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// Constants of the protocol, under the names that its documents use.
const (
	ProtocolVersion       = protocol.Version
	ItemKeySeparator      = protocol.ItemKeySeparator
	UnknownKeyBufferLimit = protocol.UnknownKeyBuffer
	MaxLine               = wire.MaxLine
)

// HostRole is the role of a bridge among the programs that a plugin brings.
const HostRole = "provider-bridge"

// Times that core keeps to.
const (
	HandshakeTimeout       = protocol.HandshakeTimeout
	RequestTimeout         = protocol.RequestTimeout
	SessionTimeout         = protocol.SessionTimeout
	StopGrace              = protocol.StopGrace
	ShutdownGrace          = protocol.ShutdownGrace
	KillDelay              = 2 * time.Second  // from that to the end of the whole process group
	ProviderOptionsTimeout = 2 * time.Second  // for a plugin to derive a thread's options
	ModelListLifetime      = 10 * time.Minute // for which a model list is cached by provider, host and working directory
)

const (
	// answerMargin is the part of a grace that is kept for writing the answer and for the end of the process, so that
	// core sees them within its own clock.
	answerMargin = 250 * time.Millisecond
	// releasePatience is how long a release waits for a function that began before it: half of its grace, the other half
	// is for ThreadStop.
	releasePatience = StopGrace / 2
	// endGrace is what Shutdown gets when the input ends or when core gives less: enough to kill a child, and less than
	// core waits before it does so itself.
	endGrace = 250 * time.Millisecond
	// readMargin is how long Run waits for a read that it has interrupted. A terminal cannot be interrupted.
	readMargin = 50 * time.Millisecond
	// maxGraceMs bounds what core asks for to what a clock can hold.
	maxGraceMs = int64(time.Hour / time.Millisecond)
	// answerFirst is how long Shutdown waits for the answer to the request that asked for it: core may have stopped
	// reading.
	answerFirst = 100 * time.Millisecond
	// maxWaiting is how many requests of a thread wait for their turn. Core has a handful under way; more means that a
	// function hangs, and whoever asks should learn of it.
	maxWaiting = 64
	// maxOutstanding is how many requests may be unanswered altogether, so that a flood of them cannot exhaust memory.
	maxOutstanding = 1024
	// maxAsked is how many inputs that the agent never accepts are remembered, as many as core keeps.
	maxAsked = 64
	// maxHeld is how many bytes of deltas wait for a session's identity: as many as fit one line.
	maxHeld = wire.MaxLine
	// maxMessage is how much of an author's error message travels: a whole log in an error helps nobody.
	maxMessage = 16 << 10
)
