// Package protocol is version 3 of the bridge protocol as Go types: what a kernel ("core") and a provider bridge say to
// each other, one JSON-RPC message a line, over the bridge's standard input and output.
//
// Requests, results and notifications are additive: fields that this version does not know are kept in Extra.
// Deltas, and with them items and presentations, are strict: an unknown field is an error. Decoding checks every
// refinement and reports every problem with its path, as Issues. The same descriptions of the types produce the
// decoder and schema.json, the JSON Schemas for bridges in other languages.
//
// A field that may be null is a pointer, or a plain string where the empty string would be invalid anyway: then ""
// stands for null. See docs/spec/bridges-protocol.md.
package protocol

import (
	"encoding/json"
	"time"
)

const (
	// Version is the protocol version that this package speaks.
	Version = 3
	// MinVersion and MaxVersion are the range that a handshake offers. A change of the delta grammar raises
	// MaxVersion, since deltas are persisted; new fields of requests and results do not.
	MinVersion, MaxVersion = 3, 3
)

// ItemKeySeparator joins the parts of an item key into its key string, and may not occur in a part.
const ItemKeySeparator = "\x1f"

// Limits of the protocol. Sizes are bytes of UTF-8.
const (
	MaxDeltaText     = 1 << 20   // text of one item.text or item.output: a line of many stays below the line limit
	MaxDiff          = 4 << 20   // a diff, which cannot be sent in parts
	MaxRaw           = 16 << 10  // raw of provider.unhandled: kept for a person to look at, not to be replayed
	MaxInteraction   = 64 << 10  // data of an open interaction, and an answer to one
	MaxExtension     = 64 << 10  // payload of an extension item or state
	MaxQuestions     = 4         // questions of one request: what a person answers at a glance
	MaxOptions       = 4         // options of one question
	MaxSelected      = 4         // selected options of one answer
	MaxFreeText      = 4096      // characters of a free-text answer
	MaxTitle         = 200       // characters of an open interaction's title
	MaxInstallArgs   = 64        // arguments of an installation command
	UnknownKeyBuffer = 256 << 10 // output held for items that are not open yet, a thread
)

// Times that core keeps to. A bridge that wants to be done in time has less: its answers take time too.
const (
	HandshakeTimeout = 10 * time.Second // for initialize: a bridge does nothing but say what it can do
	RequestTimeout   = 30 * time.Second // for every method that has no time of its own
	SessionTimeout   = 60 * time.Second // for thread/start, thread/resume and thread/fork: agents start slowly
	StopGrace        = 10 * time.Second // for thread/stop, in which a turn settles; then the process is stopped
	ShutdownGrace    = 5 * time.Second  // from shutdown to the signal that terminates the process
)

// Extra holds the fields of an additive message that this version does not know, by name. They are written back when
// the message is encoded.
type Extra map[string]json.RawMessage

// Empty is the result of the methods that answer {}.
type Empty struct {
	Extra Extra `json:"-"`
}

// Ptr returns a pointer to v, for the fields that may be null.
func Ptr[T any](v T) *T { return &v }
