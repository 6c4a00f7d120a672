// Package abi is the boundary between a bundle and its host: what crosses it, as plain data. Both sides import it; a bundle
// in another language is written from docs/bundles.md, which states the same.
//
// Everything that crosses is a frame: a header, which is JSON, and a body, which is bytes. The host dispatches a [Request]
// and takes a [Response]; while it answers, the bundle may send [Call] frames and gets [Result] frames.
package abi

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/pluginsdk/bundle/metadata"
)

// Version is the number of the interface. A bundle exports bundle_abi_v1.
const Version = 1

// Names of the module's exports and of the host's imports.
const (
	ExportVersion  = "bundle_abi_v1"
	ExportDispatch = "bundle_dispatch"
	ImportModule   = "bundlehost"
	MetadataName   = "bb.metadata" // the custom section that holds the metadata
)

// MaxHeader bounds the header of a frame: 64 KiB of HTTP headers or 128 tool schemas, with room for JSON escapes.
const MaxHeader = 4 << 20

// headerLength is the size of the length in front of a header.
const headerLength = 4

// Append appends a frame of the header, encoded to JSON, and the body.
func Append(dst []byte, header any, body []byte) ([]byte, error) {
	raw, err := json.Marshal(header)
	if err != nil {
		return nil, fmt.Errorf("a frame's header cannot be written: %w", err)
	}
	if len(raw) > MaxHeader {
		return nil, fmt.Errorf("a frame's header has %d bytes, over %d", len(raw), MaxHeader)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(raw)))
	return append(append(dst, raw...), body...), nil
}

// Split decodes the header of a frame into v, a pointer, and returns the body, a part of frame.
func Split(frame []byte, v any) (body []byte, err error) {
	if len(frame) < headerLength {
		return nil, fmt.Errorf("a frame has %d bytes, less than the length of its header", len(frame))
	}
	n := binary.LittleEndian.Uint32(frame)
	rest := frame[headerLength:]
	if n > MaxHeader || uint64(n) > uint64(len(rest)) {
		return nil, fmt.Errorf("a frame of %d bytes says that its header has %d", len(frame), n)
	}
	if err := json.Unmarshal(rest[:n], v); err != nil {
		return nil, fmt.Errorf("a frame's header cannot be read: %w", err)
	}
	return rest[n:], nil
}

// Kind says what a request asks for.
type Kind string

// The kinds of requests.
const (
	Probe  Kind = "probe"  // what the bundle is: the environment is empty and every call is denied
	HTTP   Kind = "http"   // a route
	Action Kind = "action" // an action of a capability
	Tool   Kind = "tool"   // a tool
	Hook   Kind = "hook"   // a hook of a capability or the agent
)

// Request is the header of what the host dispatches. Members that a kind does not need are empty. The body is that of the
// HTTP request, the data of the action (JSON) or the input of the tool (JSON).
type Request struct {
	Kind Kind `json:"kind"`
	// Token authorizes the calls that are made while the request is answered. It is opaque.
	Token      string            `json:"token,omitempty"`
	DeadlineMs int64             `json:"deadlineMs,omitempty"` // from now
	Env        map[string]string `json:"env,omitempty"`

	AgentID      string `json:"agentId,omitempty"`
	SessionID    string `json:"sessionId,omitempty"`
	CapabilityID string `json:"capabilityId,omitempty"`
	Caller       string `json:"caller,omitempty"` // the actor, such as user:local
	PublicURL    string `json:"publicUrl,omitempty"`

	// Of HTTP. Method and Route, the pattern, name the route.
	Method  string              `json:"method,omitempty"`
	Route   string              `json:"route,omitempty"`
	Path    string              `json:"path,omitempty"` // below the agent, escaped
	Params  map[string]string   `json:"params,omitempty"`
	Query   map[string][]string `json:"query,omitempty"`
	Headers map[string]string   `json:"headers,omitempty"` // names in lower case

	Action string        `json:"action,omitempty"`
	Tool   string        `json:"tool,omitempty"`
	CallID string        `json:"callId,omitempty"` // of Tool
	Hook   metadata.Hook `json:"hook,omitempty"`
}

// Response is the header of an answer. The body is that of the HTTP response, or the text of a tool or a prompt.
type Response struct {
	Error    *Error             `json:"error,omitempty"`
	Metadata *metadata.Metadata `json:"metadata,omitempty"` // of Probe
	Status   int                `json:"status,omitempty"`   // of HTTP
	Headers  map[string]string  `json:"headers,omitempty"`  // of HTTP
}

// Error is why something failed.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Panicked says that the bundle's code panicked: the host discards the instance.
	Panicked bool `json:"panicked,omitempty"`
}

// Error returns "code: message".
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is matches a Code.
func (e *Error) Is(target error) bool { return target == e.Code }

// Code says why something failed. The set is closed. It is an error, for errors.Is.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// The codes of a response. A handler may choose the first three.
const (
	InvalidInput Code = "invalid_input"
	NotFound     Code = "not_found"
	Conflict     Code = "conflict"
	Internal     Code = "internal"
	// MetadataExtraction says that a capability could not be listed in the empty environment.
	MetadataExtraction Code = "metadata_extraction"
)

// Further codes of a call's result, beside NotFound and Internal.
const (
	Malformed       Code = "malformed"        // the token or the frame is none
	BadToken        Code = "bad_token"        // its signature is wrong, or it is another agent's or session's
	TokenExpired    Code = "token_expired"    // its time is over
	TokenReplay     Code = "token_replay"     // it belongs to another dispatch
	ScopeDenied     Code = "scope_denied"     // it does not allow the operation
	BudgetExceeded  Code = "budget_exceeded"  // the dispatch has made too many of such calls
	SessionRequired Code = "session_required" // there is no session
	InvalidArgument Code = "invalid_argument" // a value is not allowed
	Denied          Code = "denied"           // no calls are answered now: this is the probe
)

// Op names an operation of the host.
type Op string

// The operations.
const (
	KVGet            Op = "kv.get"            // Key → the value as body
	KVPut            Op = "kv.put"            // Key, the value (JSON) as body
	KVDelete         Op = "kv.delete"         // Key
	KVList           Op = "kv.list"           // Prefix, After → Entries, More
	ChannelBroadcast Op = "channel.broadcast" // to the session: an Event as body
	ChannelGlobal    Op = "channel.global"    // to all of the agent: an Event as body
	SpineAppend      Op = "spine.append"      // an entry's data (JSON) as body
	SpineEntries     Op = "spine.entries"     // After, Limit → a JSON array as body
	SpineContext     Op = "spine.context"     // → the messages for a model, a JSON array as body
	SpineBroadcast   Op = "spine.broadcast"   // to the session: an Event as body
	CostEmit         Op = "cost.emit"         // a Cost as body
)

// Call is the header of what a bundle asks of the host while it answers.
type Call struct {
	Op     Op     `json:"op"`
	Token  string `json:"token"`
	Key    string `json:"key,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	After  string `json:"after,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// Result is the header of the host's answer to a call.
type Result struct {
	Error   *Error  `json:"error,omitempty"`
	Entries []Entry `json:"entries,omitempty"` // of kv.list
	More    bool    `json:"more,omitempty"`    // of kv.list: further entries follow the last one
}

// Entry is a key with its value.
type Entry struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// Limits that both sides know.
const (
	MaxKey          = 512       // bytes of a key; the least is 1
	MaxValue        = 256 << 10 // bytes of a value
	MaxListed       = 1000      // entries of a page
	MaxEvent        = 64 << 10  // bytes of an event: it is sent to every client that follows
	MaxEntry        = 256 << 10 // bytes of a session's entry
	MaxAction       = 128       // bytes of an action's name
	MaxActionData   = 256 << 10 // bytes of an action's data
	MaxResponseBody = 4 << 20   // bytes of an HTTP response: larger things belong elsewhere
	MaxToolText     = 64 << 10  // bytes of a tool's answer that reach the model
	MaxPrompt       = 64 << 10  // bytes of a prompt
	MaxLog          = 64 << 10  // bytes of log a dispatch
)

// Event is what clients of an agent follow. The host sets CapabilityID, AgentID and SessionID.
type Event struct {
	Type         string          `json:"type"` // state_event, or x- and a name
	CapabilityID string          `json:"capabilityId,omitempty"`
	AgentID      string          `json:"agentId,omitempty"`
	SessionID    string          `json:"sessionId,omitempty"`
	Event        string          `json:"event,omitempty"`
	Data         json.RawMessage `json:"data,omitempty"`
}

// Cost is what a tool has cost.
type Cost struct {
	ToolName string          `json:"toolName,omitempty"`
	Amount   float64         `json:"amount"`   // finite, not negative
	Currency string          `json:"currency"` // three capital letters, as ISO 4217 has them
	Detail   json.RawMessage `json:"detail,omitempty"`
}
