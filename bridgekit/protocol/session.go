package protocol

// SessionParams is what a session is made of: the params of thread/start, and part of those of thread/resume and
// thread/fork.
type SessionParams struct {
	ThreadID        string            `json:"threadId" rule:"nonempty"`
	ProviderID      string            `json:"providerId" rule:"nonempty"`
	Cwd             string            `json:"cwd" rule:"nonempty"`
	Workspace       Workspace         `json:"workspace"`
	Env             map[string]string `json:"env"` // the ambient BB_* names: pass them to the agent's shells through ChildEnv
	Options         ExecutionOptions  `json:"options"`
	Tools           []DynamicTool     `json:"tools" rule:"unique=name"`
	DisallowedTools []string          `json:"disallowedTools"`
	InstructionMode InstructionMode   `json:"instructionMode"`
	Actions         []Action          `json:"actions" rule:"unique"`
	BridgeOptions   JSONObject        `json:"bridgeOptions"`
	Extra           Extra             `json:"-"`
}

// ResumeParams continues a session.
type ResumeParams struct {
	SessionParams
	ProviderThreadID string `json:"providerThreadId" rule:"nonempty"`
}

// ForkParams starts a session as a copy of another one.
type ForkParams struct {
	SessionParams
	SourceProviderThreadID string `json:"sourceProviderThreadId" rule:"nonempty"`
	SourceCheckpointID     string `json:"sourceCheckpointId" rule:"null"` // "": at the tip
}

// SessionIdentity answers thread/start, thread/resume and thread/fork.
type SessionIdentity struct {
	ProviderThreadID  string `json:"providerThreadId" rule:"nonempty"`
	SessionRestorable bool   `json:"sessionRestorable"`
	Extra             Extra  `json:"-"`
}

// Workspace is where an agent may write.
type Workspace struct {
	Root       string   `json:"root" rule:"nonempty"`
	WriteRoots []string `json:"writeRoots"`
	Extra      Extra    `json:"-"`
}

// ExecutionOptions is how a turn is run. It rides every session and turn method.
type ExecutionOptions struct {
	Model           string           `json:"model"`
	ReasoningLevel  string           `json:"reasoningLevel" rule:"null"`
	ServiceTier     string           `json:"serviceTier" rule:"null"`
	Permission      PermissionPolicy `json:"permission"`
	Instructions    string           `json:"instructions"`
	ProviderOptions JSONObject       `json:"providerOptions"`
	Extra           Extra            `json:"-"`
}

// PermissionMode names a permission policy.
type PermissionMode string

// The values of PermissionMode.
const (
	ModeAcceptEdits PermissionMode = "accept-edits"
	ModeAuto        PermissionMode = "auto"
	ModeFull        PermissionMode = "full"
)

func (PermissionMode) values() []string { return []string{"accept-edits", "auto", "full"} }

// PermissionPolicy is one of three presets: accept-edits (scope workspace, reviewer user) and auto (workspace,
// automatic), each with an escalation, and full (scope full, no reviewer and no escalation).
type PermissionPolicy struct {
	Mode       PermissionMode  `json:"mode"`
	Scope      PermissionScope `json:"scope"`
	Reviewer   Reviewer        `json:"reviewer" rule:"null"`
	Escalation Escalation      `json:"escalation" rule:"null"`
	Extra      Extra           `json:"-"`
}

// PermissionScope is what a policy covers.
type PermissionScope string

// The values of PermissionScope.
const (
	ScopeWorkspace PermissionScope = "workspace"
	ScopeFull      PermissionScope = "full"
)

func (PermissionScope) values() []string { return []string{"workspace", "full"} }

// Reviewer is who decides about what a policy does not allow by itself.
type Reviewer string

// The values of Reviewer; "" is none.
const (
	ReviewerUser      Reviewer = "user"
	ReviewerAutomatic Reviewer = "automatic"
)

func (Reviewer) values() []string { return []string{"user", "automatic"} }

// Escalation is what happens to a request that needs a person.
type Escalation string

// The values of Escalation; "" is none.
const (
	EscalateAsk  Escalation = "ask"
	EscalateDeny Escalation = "deny"
)

func (Escalation) values() []string { return []string{"ask", "deny"} }

// InstructionMode says what the instructions do to the agent's own.
type InstructionMode string

// The values of InstructionMode.
const (
	InstructionsAppend  InstructionMode = "append"
	InstructionsReplace InstructionMode = "replace"
)

func (InstructionMode) values() []string { return []string{"append", "replace"} }
