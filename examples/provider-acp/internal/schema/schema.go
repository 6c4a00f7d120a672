// Package schema holds the messages of the Agent Client Protocol, version 1, as far as a client needs them. Fields that
// agents add are ignored, and those that they leave out have their zero value: agents differ, and a client that insists
// works with none of them. See https://agentclientprotocol.com.
package schema

import (
	"bytes"
	"encoding/json"
)

// Version is the version of the protocol.
const Version = 1

// Error codes of agents.
const (
	CodeAuthRequired     = -32000 // the user has to log in first
	CodeResourceNotFound = -32002
	CodeInvalidParams    = -32602
	CodeMethodNotFound   = -32601
	CodeInternal         = -32603
	CodeCancelled        = -32800 // the answer to a request that $/cancel_request took back
)

// Methods of agents.
const (
	Initialize       = "initialize"
	Authenticate     = "authenticate"
	SessionNew       = "session/new"
	SessionLoad      = "session/load"
	SessionResume    = "session/resume"
	SessionClose     = "session/close"
	SessionPrompt    = "session/prompt"
	SessionCancel    = "session/cancel" // a notification
	SessionSetMode   = "session/set_mode"
	SessionSetModel  = "session/set_model"
	SessionSetOption = "session/set_config_option"
)

// Methods of clients.
const (
	SessionUpdate     = "session/update" // a notification
	RequestPermission = "session/request_permission"
	ReadTextFile      = "fs/read_text_file"
	WriteTextFile     = "fs/write_text_file"
	TerminalCreate    = "terminal/create"
	TerminalOutput    = "terminal/output"
	TerminalRelease   = "terminal/release"
	TerminalWait      = "terminal/wait_for_exit"
	TerminalKill      = "terminal/kill"
	CancelRequest     = "$/cancel_request" // a notification, in both directions
)

// InitializeParams begin a connection.
type InitializeParams struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         Implementation     `json:"clientInfo"`
}

// ClientCapabilities say what agents may ask of a client.
type ClientCapabilities struct {
	FS       FileSystem `json:"fs"`
	Terminal bool       `json:"terminal"`
}

// FileSystem says whether the client reads and writes files.
type FileSystem struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// InitializeResult is what an agent can do.
type InitializeResult struct {
	ProtocolVersion   int `json:"protocolVersion"`
	AgentCapabilities struct {
		LoadSession     bool `json:"loadSession"`
		MCPCapabilities struct {
			HTTP bool `json:"http"`
			SSE  bool `json:"sse"`
		} `json:"mcpCapabilities"`
		PromptCapabilities struct {
			Image bool `json:"image"`
		} `json:"promptCapabilities"`
		SessionCapabilities struct {
			Close  json.RawMessage `json:"close"`
			Resume json.RawMessage `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	AgentInfo   Implementation `json:"agentInfo"`
	AuthMethods []AuthMethod   `json:"authMethods"`
}

// Has tells whether a capability that is an object or null is there.
func Has(capability json.RawMessage) bool {
	return len(capability) > 0 && !bytes.Equal(capability, []byte("null")) && !bytes.Equal(capability, []byte("false"))
}

// AuthMethod is a way to log in.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// SessionParams make a session, or load the one of SessionID.
type SessionParams struct {
	SessionID  string      `json:"sessionId,omitempty"`
	Cwd        string      `json:"cwd"`
	MCPServers []MCPServer `json:"mcpServers"`
}

// MCPServer is a server of tools for the agent. Type is http or sse; without a type it is a program.
type MCPServer struct {
	Type    string     `json:"type,omitempty"`
	Name    string     `json:"name"`
	URL     string     `json:"url,omitempty"`
	Headers []Variable `json:"headers"`
	Command string     `json:"command,omitempty"`
	Args    []string   `json:"args"`
	Env     []Variable `json:"env"`
}

// MarshalJSON leaves out the lists of the other transport, since some agents refuse them.
func (s MCPServer) MarshalJSON() ([]byte, error) {
	m := map[string]any{"name": s.Name}
	if s.Type != "" {
		m["type"], m["url"], m["headers"] = s.Type, s.URL, list(s.Headers)
	} else {
		m["command"], m["args"], m["env"] = s.Command, list(s.Args), list(s.Env)
	}
	return json.Marshal(m)
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// Variable is a header or a variable of the environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SessionResult is a session as it begins. Agents state modes and models in their own fields, as options, or not at all.
type SessionResult struct {
	SessionID     string         `json:"sessionId"`
	Modes         *Modes         `json:"modes"`
	Models        *Models        `json:"models"`
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// Modes are the modes of a session.
type Modes struct {
	CurrentModeID  string `json:"currentModeId"`
	AvailableModes []struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"availableModes"`
}

// Models are the models of a session.
type Models struct {
	CurrentModelID  string `json:"currentModelId"`
	AvailableModels []struct {
		ModelID     string `json:"modelId"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"availableModels"`
}

// ConfigOption is something that can be chosen for a session.
type ConfigOption struct {
	ID           string          `json:"id"`
	Category     string          `json:"category"` // mode, model, thought_level or the agent's own
	CurrentValue json.RawMessage `json:"currentValue"`
	Options      []ConfigValue   `json:"options"`
}

// ConfigValue is a value of an option, or a group of values.
type ConfigValue struct {
	Value       string        `json:"value"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Options     []ConfigValue `json:"options"` // of a group
}

// PromptParams begin a turn.
type PromptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []Block `json:"prompt"`
}

// PromptResult ends a turn.
type PromptResult struct {
	StopReason string `json:"stopReason"`
	Usage      *Usage `json:"usage"`
}

// Reasons to stop.
const (
	EndTurn         = "end_turn"
	MaxTokens       = "max_tokens"
	MaxTurnRequests = "max_turn_requests"
	Refusal         = "refusal"
	Cancelled       = "cancelled"
)

// Usage counts the tokens of a turn.
type Usage struct {
	TotalTokens       int64  `json:"totalTokens"`
	InputTokens       int64  `json:"inputTokens"`
	OutputTokens      int64  `json:"outputTokens"`
	ThoughtTokens     int64  `json:"thoughtTokens"`
	CachedReadTokens  int64  `json:"cachedReadTokens"`
	CachedWriteTokens *int64 `json:"cachedWriteTokens"`
}

// Block is a piece of content: text, image, audio, resource_link or resource.
type Block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Size     *int64    `json:"size,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
}

// Resource is content with an address.
type Resource struct {
	URI  string `json:"uri"`
	Text string `json:"text"`
}

// MarshalJSON keeps the empty text of a text block, which the protocol requires.
func (b Block) MarshalJSON() ([]byte, error) {
	type plain Block
	if b.Type == "text" {
		return json.Marshal(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{b.Type, b.Text})
	}
	return json.Marshal(plain(b))
}

// UpdateParams tell what happened in a session.
type UpdateParams struct {
	SessionID string          `json:"sessionId"`
	Update    json.RawMessage `json:"update"`
}

// Update is one of the updates; SessionUpdate tells which fields count.
type Update struct {
	SessionUpdate string `json:"sessionUpdate"`

	MessageID string          `json:"messageId"` // chunks
	Content   json.RawMessage `json:"content"`   // a Block in chunks, a list of ToolContent in tool calls
	ToolCall

	Entries []struct { // plan
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`

	AvailableCommands []Command `json:"availableCommands"` // available_commands_update

	CurrentModeID string         `json:"currentModeId"` // current_mode_update
	ConfigOptions []ConfigOption `json:"configOptions"` // config_option_update

	Title *string `json:"title"` // session_info_update, tool calls

	Used *int64 `json:"used"` // usage_update
	Size *int64 `json:"size"`
	Cost *Cost  `json:"cost"`
}

// Cost is what a session has cost so far.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Kinds of updates.
const (
	UserChunk      = "user_message_chunk"
	MessageChunk   = "agent_message_chunk"
	ThoughtChunk   = "agent_thought_chunk"
	ToolCallNew    = "tool_call"
	ToolCallUpdate = "tool_call_update"
	PlanUpdate     = "plan"
	CommandsUpdate = "available_commands_update"
	ModeUpdate     = "current_mode_update"
	OptionsUpdate  = "config_option_update"
	InfoUpdate     = "session_info_update"
	UsageUpdate    = "usage_update"
)

// Command is a command that the user may begin a prompt with.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// ToolCall is a call of a tool, or what changed of one: what is left out stays as it was.
type ToolCall struct {
	ToolCallID string          `json:"toolCallId"`
	Kind       string          `json:"kind"`
	Status     string          `json:"status"`
	Locations  []Location      `json:"locations"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
}

// States of tool calls.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Completed  = "completed"
	Failed     = "failed"
)

// Location is a file that a tool call is about.
type Location struct {
	Path string `json:"path"`
	Line *int64 `json:"line"`
}

// ToolContent is a piece of what a tool call shows: content, diff or terminal.
type ToolContent struct {
	Type       string  `json:"type"`
	Content    Block   `json:"content"`
	Path       string  `json:"path"`
	OldText    *string `json:"oldText"`
	NewText    string  `json:"newText"`
	TerminalID string  `json:"terminalId"`
}

// PermissionParams ask for permission to make a tool call.
type PermissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  json.RawMessage    `json:"toolCall"` // an Update of a tool call
	Options   []PermissionOption `json:"options"`
}

// PermissionOption is a possible answer.
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// Kinds of permission options.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// PermissionResult answers a request for permission; without an option it is cancelled.
type PermissionResult struct{ OptionID string }

// MarshalJSON writes the outcome.
func (r PermissionResult) MarshalJSON() ([]byte, error) {
	outcome := map[string]string{"outcome": Cancelled}
	if r.OptionID != "" {
		outcome = map[string]string{"outcome": "selected", "optionId": r.OptionID}
	}
	return json.Marshal(map[string]any{"outcome": outcome})
}

// FileParams read or write a file.
type FileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"` // to be written
	Line      *int   `json:"line"`    // the first to be read, from 1
	Limit     *int   `json:"limit"`   // how many lines
}

// TerminalParams name a terminal, or make one.
type TerminalParams struct {
	SessionID       string     `json:"sessionId"`
	TerminalID      string     `json:"terminalId"`
	Command         string     `json:"command"`
	Args            []string   `json:"args"`
	Env             []Variable `json:"env"`
	Cwd             *string    `json:"cwd"`
	OutputByteLimit *int       `json:"outputByteLimit"`
}

// ExitStatus is how the program of a terminal ended.
type ExitStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}

// TerminalOutputResult is what a terminal shows.
type TerminalOutputResult struct {
	Output     string      `json:"output"`
	Truncated  bool        `json:"truncated"`
	ExitStatus *ExitStatus `json:"exitStatus"`
}
