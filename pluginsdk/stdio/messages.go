// Package stdio is the protocol between a kernel and a plugin that is a program of its own: JSON-RPC 2.0, one message a line,
// over the program's standard input and output. pluginsdk speaks it for plugins in Go, kernelcore/procplugin for kernels;
// docs/spec/plugin-protocol.md states it for every other language.
package stdio

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
)

// Version is the version of the protocol.
const Version = 1

// Limits of a connection.
const (
	// MaxLine bounds a message: a value of the plugin's store has up to 8 MiB, and JSON around it.
	MaxLine = 16 << 20
	// InitializeTimeout bounds the handshake: the program has only to start.
	InitializeTimeout = 10 * time.Second
	// RenderTimeout bounds a text form, which is made of a result that is there.
	RenderTimeout = 2 * time.Second
	// PingEvery is how often a plugin is asked whether it is alive, PingTimeout how long it has for the answer. A runtime answers
	// while its handlers work.
	PingEvery   = 10 * time.Second
	PingTimeout = 10 * time.Second
	// MaxCalls is how many calls a plugin answers at once; further ones wait for their turn.
	MaxCalls = 256
	// Credit is how many items of a stream may be under way.
	Credit = 64
	// MaxPage and MaxPageBytes bound a page of kv/list.
	MaxPage      = 1000
	MaxPageBytes = 4 << 20
)

// Requests of the kernel.
const (
	Initialize = "initialize"  // InitializeParams → InitializeResult
	Setup      = "setup"       // SetupParams → SetupResult
	Call       = "call"        // CallParams → CallResult
	StreamOpen = "stream/open" // OpenParams → Nothing
	Render     = "render"      // RenderParams → RenderResult
	Guard      = "guard"       // GuardParams → Nothing
	Ping       = "ping"        // Nothing → Nothing
	Shutdown   = "shutdown"    // ShutdownParams → Nothing
)

// Requests of the plugin.
const (
	KVGet       = "kv/get"       // KVGetParams → KVGetResult
	KVList      = "kv/list"      // KVRange → KVListResult
	KVCommit    = "kv/commit"    // KVCommitParams → Nothing
	ConfigGet   = "config/get"   // ConfigGetParams → ValueResult
	SecretGet   = "secret/get"   // SecretGetParams → ValueResult
	ServiceHas  = "service/has"  // ServiceHasParams → ServiceHasResult
	ServiceCall = "service/call" // ServiceCallParams → CallResult
	ServiceOpen = "service/open" // ServiceOpenParams → Nothing
)

// Notifications. Items flow from whom serves the stream; credit and cancellation to it.
const (
	Cancel       = "cancel"        // CancelParams
	StreamItem   = "stream/item"   // ItemParams
	StreamEnd    = "stream/end"    // EndParams
	StreamCredit = "stream/credit" // CreditParams
	Log          = "log"           // LogParams, of the plugin
)

// Nothing is the params or the result of a message that says all by its method.
type Nothing struct{}

// InitializeParams begins a connection.
type InitializeParams struct {
	Protocol int    `json:"protocol"`
	PluginID string `json:"pluginId"`
	ServerID string `json:"serverId,omitempty"`
	DataDir  string `json:"dataDir,omitempty"` // the plugin's own, also its working directory
	TempDir  string `json:"tempDir,omitempty"`
}

// InitializeResult says which plugin this is.
type InitializeResult struct {
	Protocol int    `json:"protocol"`
	PluginID string `json:"pluginId"`
	Version  string `json:"version"`
}

// SetupParams asks the plugin to get ready.
type SetupParams struct{}

// SetupResult says what the plugin provides.
type SetupResult struct {
	Methods  []string          `json:"methods"`           // refs, exactly those of the contract
	Guards   bool              `json:"guards,omitempty"`  // whether calls of all plugins are shown to it
	Bridges  map[string]Bridge `json:"bridges,omitempty"` // by provider id
	Requires []string          `json:"requires,omitempty"`
}

// Bridge is the program of a provider.
type Bridge struct {
	Command []string            `json:"command"`
	Options protocol.JSONObject `json:"options,omitempty"`
	Agent   string              `json:"agent,omitempty"`
}

// CallInfo is who calls what.
type CallInfo struct {
	ID        string                    `json:"id"`
	Ref       string                    `json:"ref"`
	Since     string                    `json:"since,omitempty"` // of a stream that is resumed
	Principal kernelcontract.Principal  `json:"principal"`
	Client    kernelcontract.ClientInfo `json:"client"`
	Context   kernelcontract.Context    `json:"context"`
	Depth     int                       `json:"depth"`
}

// InfoOf returns a call as it crosses.
func InfoOf(c *kernelcontract.CallInfo) CallInfo {
	return CallInfo{ID: c.ID, Ref: c.Ref, Since: c.Since, Principal: c.Principal, Client: c.Client, Context: c.Context, Depth: c.Depth}
}

// Info returns the call that crossed.
func (c CallInfo) Info() *kernelcontract.CallInfo {
	return &kernelcontract.CallInfo{ID: c.ID, Ref: c.Ref, Since: c.Since, Principal: c.Principal, Client: c.Client, Context: c.Context, Depth: c.Depth}
}

// CallParams is a call of a query or a mutation. The input fits its schema, with its defaults filled.
type CallParams struct {
	Call     CallInfo        `json:"call"`
	Input    json.RawMessage `json:"input"`
	Deadline time.Time       `json:"deadline,omitzero"`
}

// CallResult is what was answered.
type CallResult struct {
	Result json.RawMessage `json:"result"`
}

// OpenParams opens a stream, which is known by the id of the call.
type OpenParams struct {
	Call   CallInfo        `json:"call"`
	Input  json.RawMessage `json:"input"`
	Credit int             `json:"credit"`
}

// ItemParams is an item of a stream.
type ItemParams struct {
	Stream string          `json:"stream"`
	Cursor string          `json:"cursor,omitempty"`
	Item   json.RawMessage `json:"item"`
}

// EndParams ends a stream.
type EndParams struct {
	Stream string `json:"stream"`
	Error  *Error `json:"error,omitempty"` // absent: it is complete
}

// CreditParams lets more items of a stream come.
type CreditParams struct {
	Stream string `json:"stream"`
	N      int    `json:"n"`
}

// CancelParams ends one thing: a call, a guard or a stream of the kernel's by the id of its call, one of the plugin's by its own.
type CancelParams struct {
	Call   string `json:"call,omitempty"`
	Stream string `json:"stream,omitempty"`
}

// RenderParams asks for the text of a result or an item.
type RenderParams struct {
	Ref    string          `json:"ref"`
	Value  json.RawMessage `json:"value"`
	Render RenderOptions   `json:"render"`
}

// RenderOptions is a kernelcontract.Render.
type RenderOptions struct {
	Width int  `json:"width"`
	Color bool `json:"color"`
	TTY   bool `json:"tty"`
}

// RenderResult is that text.
type RenderResult struct {
	Text string `json:"text"`
}

// GuardParams shows a call to a guard.
type GuardParams struct {
	Call  CallInfo        `json:"call"`
	Input json.RawMessage `json:"input"`
}

// ShutdownParams asks the plugin to stop.
type ShutdownParams struct {
	GraceMs int64 `json:"graceMs"`
}

// KVGetParams names a key of the plugin's store.
type KVGetParams struct {
	Key string `json:"key"`
}

// KVGetResult is its value. Without one the error is not_found.
type KVGetResult struct {
	Value json.RawMessage `json:"value"`
}

// KVRange is a pluginsdk.Range. A page has at most MaxPage entries and about MaxPageBytes.
type KVRange struct {
	Prefix  string `json:"prefix,omitempty"`
	After   string `json:"after,omitempty"`
	Before  string `json:"before,omitempty"`
	Reverse bool   `json:"reverse,omitempty"`
	Limit   int    `json:"limit,omitempty"`
}

// KVListResult is a page.
type KVListResult struct {
	Entries []KVEntry `json:"entries"`
	More    bool      `json:"more,omitempty"` // the range has further entries
}

// KVEntry is a key with its value.
type KVEntry struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// KVCommitParams writes when nothing has changed that was read: otherwise the error is conflict, nothing is written, and the
// transaction begins anew.
type KVCommitParams struct {
	Checks []KVCheck     `json:"checks,omitempty"`
	Lists  []KVListCheck `json:"lists,omitempty"`
	Writes []KVWrite     `json:"writes,omitempty"`
}

// KVCheck says what a key was: the SHA-256 of the bytes of its value in hexadecimal, or absent.
type KVCheck struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256,omitempty"`
}

// KVListCheck says what a page was: the SHA-256 over key, a zero byte, value and a line feed of each entry.
type KVListCheck struct {
	KVRange
	SHA256 string `json:"sha256"`
}

// KVWrite sets a key, or deletes it.
type KVWrite struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value,omitempty"`
	Delete bool            `json:"delete,omitempty"`
}

// ConfigGetParams names a setting that the plugin declares.
type ConfigGetParams struct {
	Key string `json:"key"`
}

// SecretGetParams names a secret.
type SecretGetParams struct {
	Name string `json:"name"`
}

// ValueResult is a value that may not be set.
type ValueResult struct {
	Set   bool            `json:"set"`
	Value json.RawMessage `json:"value,omitempty"`
}

// ServiceHasParams asks, while the plugin is set up, for a service of another one. What is asked for so may be called.
type ServiceHasParams struct {
	Service string `json:"service"`
}

// ServiceHasResult says whether it is there.
type ServiceHasResult struct {
	There bool `json:"there"`
}

// ServiceCallParams calls another plugin: as the caller of the call that the plugin answers, by its id, or as the plugin
// itself. An id that is not under way is the error precondition.
type ServiceCallParams struct {
	For   string          `json:"for,omitempty"`
	Ref   string          `json:"ref"`
	Input json.RawMessage `json:"input,omitempty"`
}

// ServiceOpenParams opens a stream of another plugin, under an id of the caller's choice that no open stream of it has.
type ServiceOpenParams struct {
	For    string          `json:"for,omitempty"`
	Stream string          `json:"stream"`
	Ref    string          `json:"ref"`
	Input  json.RawMessage `json:"input,omitempty"`
	Since  string          `json:"since,omitempty"`
	Credit int             `json:"credit"`
}

// LogParams is a line of the plugin's log.
type LogParams struct {
	Level   string         `json:"level"` // debug, info, warn or error
	Message string         `json:"message"`
	Attrs   map[string]any `json:"attrs,omitempty"`
	Call    string         `json:"call,omitempty"` // the call that it belongs to
}

// HashEntries returns what a KVListCheck says of a page.
func HashEntries(entries []KVEntry) string {
	h := sha256.New()
	for _, e := range entries {
		_, _ = h.Write([]byte(e.Key + "\x00")) // a hash takes everything
		_, _ = h.Write(e.Value)
		_, _ = h.Write([]byte("\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Hash returns what a KVCheck says of a value.
func Hash(value json.RawMessage) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}
