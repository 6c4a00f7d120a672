package kernelcontract

import (
	"slices"
	"strings"
)

// ActorKind is the first part of an actor: who acts.
type ActorKind string

// The four kinds of actors.
const (
	User   ActorKind = "user"
	Agent  ActorKind = "agent"
	Plugin ActorKind = "plugin"
	System ActorKind = "system"
)

// Via is how the kernel came to know a principal (docs/spec/principals.md).
type Via string

// The kinds of evidence. A relay from a plugin is ViaPlugin(id).
const (
	ViaTool        Via = "tool"
	ViaHostProxy   Via = "host-proxy"
	ViaHost        Via = "host"
	ViaGateMachine Via = "gate-machine"
	ViaGateSession Via = "gate-session"
	ViaToken       Via = "token"
	ViaOrigin      Via = "origin"
	ViaLoopback    Via = "loopback"
	ViaAnonymous   Via = "anonymous"
	ViaOffline     Via = "offline"
	ViaProcess     Via = "process" // the embedder's own calls, made with Kernel.As
)

const viaPluginPrefix = "plugin:"

// ViaPlugin is the evidence of a call that a plugin makes into another one.
func ViaPlugin(id string) Via { return Via(viaPluginPrefix + id) }

// IsPlugin reports whether v is a relay from a plugin.
func (v Via) IsPlugin() bool { return strings.HasPrefix(string(v), viaPluginPrefix) }

// Principal is who calls, as derived from evidence; a client cannot assert it.
type Principal struct {
	Actor string `json:"actor"` // kind:name, such as user:local or agent:<threadId>
	Via   Via    `json:"via"`
}

// Kind returns the actor's kind, the part before the first colon.
func (p Principal) Kind() ActorKind {
	kind, _, _ := strings.Cut(p.Actor, ":")
	return ActorKind(kind)
}

// Name returns the actor without its kind, "" when there is none.
func (p Principal) Name() string {
	_, name, _ := strings.Cut(p.Actor, ":")
	return name
}

// Auth is what evidence a method asks for.
type Auth string

// The classes of evidence. The zero Auth is AuthOperator.
const (
	AuthOperator Auth = "operator"
	AuthMachine  Auth = "machine"
	AuthNone     Auth = "none"
)

// Admits reports whether evidence v satisfies a. In-process calls of an embedder and offline ones always do: no
// boundary was crossed.
func (a Auth) Admits(v Via) bool {
	if a == AuthNone {
		return true
	}
	switch v {
	case ViaLoopback, ViaOrigin, ViaGateSession, ViaToken, ViaHostProxy, ViaGateMachine, ViaTool, ViaProcess, ViaOffline:
		return true
	case ViaHost:
		return a == AuthMachine
	}
	return v.IsPlugin()
}

// Access says who may call a method. The zero value admits operators, as every kind of actor.
type Access struct {
	Auth   Auth        // zero: AuthOperator
	Local  bool        // only from this machine, never through a gate
	Actors []ActorKind // nil: every kind
}

// AdmitsActor reports whether a kind of actor may call.
func (a Access) AdmitsActor(k ActorKind) bool { return a.Actors == nil || slices.Contains(a.Actors, k) }

// ContextKey names a value of a caller's context.
type ContextKey string

// The values that a context may hold.
const (
	ThreadID      ContextKey = "threadId"
	ProjectID     ContextKey = "projectId"
	EnvironmentID ContextKey = "environmentId"
	HostID        ContextKey = "hostId"
	CWD           ContextKey = "cwd"
)

// ContextKeys lists the keys in their documented order.
func ContextKeys() []ContextKey { return []ContextKey{ThreadID, ProjectID, EnvironmentID, HostID, CWD} }

// Current says for people what fills a field of that key: "the current thread".
func (k ContextKey) Current() string {
	switch k {
	case ThreadID:
		return "the current thread"
	case ProjectID:
		return "the current project"
	case EnvironmentID:
		return "the current environment"
	case HostID:
		return "the current host"
	case CWD:
		return "the working directory"
	}
	return string(k)
}

// Context is where a caller works. It fills ambient fields that the caller omitted; "" is absent.
type Context struct {
	ThreadID      string `json:"threadId,omitempty"`
	ProjectID     string `json:"projectId,omitempty"`
	EnvironmentID string `json:"environmentId,omitempty"`
	HostID        string `json:"hostId,omitempty"`
	CWD           string `json:"cwd,omitempty"`
}

// Value returns the value of a key, "" when absent or unknown.
func (c Context) Value(k ContextKey) string {
	switch k {
	case ThreadID:
		return c.ThreadID
	case ProjectID:
		return c.ProjectID
	case EnvironmentID:
		return c.EnvironmentID
	case HostID:
		return c.HostID
	case CWD:
		return c.CWD
	}
	return ""
}

// ClientInfo is what a client says of itself in X-BB-Client. It is information, never evidence.
type ClientInfo struct {
	Kind    string `json:"kind"`
	Surface string `json:"surface"`
	Version string `json:"version,omitempty"`
}

// HeadlessClient returns what a client is that says nothing of itself.
func HeadlessClient() ClientInfo { return ClientInfo{Kind: "sdk", Surface: "headless"} }
