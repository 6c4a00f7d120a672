// Package schema is what this bridge says to Codex's app-server and understands of it, as Go types. The program prints the
// whole of it with "codex app-server generate-json-schema --experimental --out DIR"; fields that nothing here needs are left
// out, and unknown ones are skipped.
package schema

import "encoding/json"

// The requests and the notification that the bridge sends.
const (
	Initialize       = "initialize"
	Initialized      = "initialized"
	ThreadStart      = "thread/start"
	ThreadResume     = "thread/resume"
	ThreadFork       = "thread/fork"
	ThreadArchive    = "thread/archive"
	ThreadUnarchive  = "thread/unarchive"
	ThreadDelete     = "thread/delete"
	ThreadSetName    = "thread/name/set"
	ThreadGoalSet    = "thread/goal/set"
	ThreadGoalClear  = "thread/goal/clear"
	ThreadCompact    = "thread/compact/start"
	CleanTerminals   = "thread/backgroundTerminals/clean"
	TurnStart        = "turn/start"
	TurnSteer        = "turn/steer"
	TurnInterrupt    = "turn/interrupt"
	ModelList        = "model/list"
	AccountRead      = "account/read"
	AccountLimits    = "account/rateLimits/read"
	SkillsExtraRoots = "skills/extraRoots/set"
)

// The notifications that the bridge understands.
const (
	ErrorNote        = "error"
	TurnStarted      = "turn/started"
	TurnCompleted    = "turn/completed"
	TurnDiff         = "turn/diff/updated"
	TurnPlan         = "turn/plan/updated"
	ItemStarted      = "item/started"
	ItemCompleted    = "item/completed"
	MessageDelta     = "item/agentMessage/delta"
	PlanDelta        = "item/plan/delta"
	ReasoningText    = "item/reasoning/textDelta"
	ReasoningSummary = "item/reasoning/summaryTextDelta"
	CommandOutput    = "item/commandExecution/outputDelta"
	PatchUpdated     = "item/fileChange/patchUpdated"
	MCPProgress      = "item/mcpToolCall/progress"
	TokenUsage       = "thread/tokenUsage/updated"
	ThreadName       = "thread/name/updated"
	RateLimits       = "account/rateLimits/updated"
	ModelRerouted    = "model/rerouted"
	Warning          = "warning"
	GuardianWarning  = "guardianWarning"
	ConfigWarning    = "configWarning"
	Deprecation      = "deprecationNotice"
	MCPStartup       = "mcpServer/startupStatus/updated"
	RequestResolved  = "serverRequest/resolved"
)

// The requests of the app-server that the bridge answers.
const (
	ApproveCommand    = "item/commandExecution/requestApproval"
	ApproveFileChange = "item/fileChange/requestApproval"
	ApprovePermission = "item/permissions/requestApproval"
	AskUser           = "item/tool/requestUserInput"
	Elicit            = "mcpServer/elicitation/request"
	CallTool          = "item/tool/call"
)

// Codes of JSON-RPC errors.
const (
	CodeInvalidParams  = -32602
	CodeMethodNotFound = -32601
	CodeFailed         = -32000
)

// InitializeParams opens the connection.
type InitializeParams struct {
	ClientInfo   Client       `json:"clientInfo"`
	Capabilities Capabilities `json:"capabilities"`
}

// Client names this program.
type Client struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// Capabilities are those of this client. The experimental part of the protocol has the end of background terminals and
// dynamic tools.
type Capabilities struct {
	ExperimentalAPI    bool `json:"experimentalApi"`
	RequestAttestation bool `json:"requestAttestation"`
}

// InitializeResult answers it; UserAgent is "<client>/<version of Codex> (…".
type InitializeResult struct {
	UserAgent string `json:"userAgent"`
}

// ThreadParams are those of thread/start, thread/resume and thread/fork, as far as each takes them.
type ThreadParams struct {
	ThreadID              string         `json:"threadId,omitempty"`
	LastTurnID            string         `json:"lastTurnId,omitempty"`
	ExcludeTurns          bool           `json:"excludeTurns,omitempty"`
	Model                 string         `json:"model,omitempty"`
	ServiceTier           string         `json:"serviceTier,omitempty"`
	Cwd                   string         `json:"cwd"`
	ApprovalPolicy        string         `json:"approvalPolicy,omitempty"`
	Sandbox               string         `json:"sandbox,omitempty"`
	Config                map[string]any `json:"config,omitempty"`
	BaseInstructions      string         `json:"baseInstructions,omitempty"`
	DeveloperInstructions string         `json:"developerInstructions,omitempty"`
	DynamicTools          []DynamicTool  `json:"dynamicTools,omitempty"`
}

// DynamicTool is a tool that the client runs.
type DynamicTool struct {
	Type        string `json:"type"` // function
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema any    `json:"inputSchema"`
}

// ThreadResult answers thread/start, thread/resume and thread/fork.
type ThreadResult struct {
	Thread struct {
		ID string `json:"id"`
	} `json:"thread"`
	Model string `json:"model"`
}

// TurnParams are those of turn/start.
type TurnParams struct {
	ThreadID          string             `json:"threadId"`
	Input             []Input            `json:"input"`
	ApprovalPolicy    string             `json:"approvalPolicy,omitempty"`
	SandboxPolicy     *SandboxPolicy     `json:"sandboxPolicy,omitempty"`
	Model             string             `json:"model,omitempty"`
	ServiceTier       string             `json:"serviceTier,omitempty"`
	Effort            string             `json:"effort,omitempty"`
	Summary           string             `json:"summary,omitempty"`
	AdditionalContext map[string]Context `json:"additionalContext,omitempty"`
	Mode              *Mode              `json:"collaborationMode,omitempty"`
}

// Mode is how Codex works with the user: plan or default. Without instructions it has those of the mode.
type Mode struct {
	Mode     string `json:"mode"`
	Settings struct {
		Model        string  `json:"model"`
		Effort       *string `json:"reasoning_effort"`
		Instructions *string `json:"developer_instructions"`
	} `json:"settings"`
}

// Context is a text beside the input.
type Context struct {
	Value string `json:"value"`
	Kind  string `json:"kind"` // application
}

// SteerParams are those of turn/steer.
type SteerParams struct {
	ThreadID       string  `json:"threadId"`
	Input          []Input `json:"input"`
	ExpectedTurnID string  `json:"expectedTurnId"`
}

// SandboxPolicy is what commands may touch.
type SandboxPolicy struct {
	Type          string   `json:"type"`
	WritableRoots []string `json:"writableRoots,omitempty"`
}

// Input is a part of what a person says.
type Input struct {
	Type string  `json:"type"` // text, image, localImage, mention
	Text *string `json:"text,omitempty"`
	URL  string  `json:"url,omitempty"`
	Path string  `json:"path,omitempty"`
	Name string  `json:"name,omitempty"`
}

// TurnResult answers turn/start, and is the params of turn/started and turn/completed.
type TurnResult struct {
	ThreadID string `json:"threadId"`
	Turn     Turn   `json:"turn"`
}

// Turn is a turn.
type Turn struct {
	ID     string     `json:"id"`
	Status string     `json:"status"` // inProgress, completed, interrupted, failed
	Error  *TurnError `json:"error"`
}

// The states of turns and items.
const (
	InProgress  = "inProgress"
	Completed   = "completed"
	Interrupted = "interrupted"
	Failed      = "failed"
	Declined    = "declined"
)

// TurnError is what went wrong. Info is a name, or an object whose only member has the name.
type TurnError struct {
	Message           string          `json:"message"`
	Info              json.RawMessage `json:"codexErrorInfo"`
	AdditionalDetails *string         `json:"additionalDetails"`
}

// Note is the params of any notification and request of a thread, as far as its fields occur there.
type Note struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
	ItemID   string `json:"itemId"`

	Delta        string          `json:"delta"`
	SummaryIndex int             `json:"summaryIndex"`
	ContentIndex int             `json:"contentIndex"`
	Item         json.RawMessage `json:"item"`
	Changes      []FileChange    `json:"changes"`
	Diff         string          `json:"diff"`
	Plan         []PlanStep      `json:"plan"`
	Explanation  *string         `json:"explanation"`
	TokenUsage   *Usage          `json:"tokenUsage"`
	RateLimits   *Limits         `json:"rateLimits"`
	ThreadName   string          `json:"threadName"`
	FromModel    string          `json:"fromModel"`
	ToModel      string          `json:"toModel"`
	Message      string          `json:"message"`
	Summary      string          `json:"summary"`
	Details      *string         `json:"details"`
	Name         string          `json:"name"`
	WillRetry    bool            `json:"willRetry"`
	RequestID    json.RawMessage `json:"requestId"`
}

// ErrorParams are those of the notification error.
type ErrorParams struct {
	Error TurnError `json:"error"`
}

// MCPStartupParams tell how the start of a server of tools goes.
type MCPStartupParams struct {
	Name   string  `json:"name"`
	Status string  `json:"status"`
	Error  *string `json:"error"`
}

// PlanStep is a step of a plan.
type PlanStep struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

// Usage is what a thread cost.
type Usage struct {
	Total  Tokens `json:"total"`
	Last   Tokens `json:"last"`
	Window *int64 `json:"modelContextWindow"`
}

// Tokens counts tokens.
type Tokens struct {
	Total      int64 `json:"totalTokens"`
	Input      int64 `json:"inputTokens"`
	Cached     int64 `json:"cachedInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
	Output     int64 `json:"outputTokens"`
	Reasoning  int64 `json:"reasoningOutputTokens"`
}

// Limits is how much of a quota is used. Updates are sparse: what is null is as before.
type Limits struct {
	Primary   *LimitWindow `json:"primary"`
	Secondary *LimitWindow `json:"secondary"`
	Plan      *string      `json:"planType"`
	Reached   *string      `json:"rateLimitReachedType"`
}

// LimitWindow is a window of a quota; ResetsAt is in seconds since 1970.
type LimitWindow struct {
	UsedPercent float64 `json:"usedPercent"`
	Minutes     *int64  `json:"windowDurationMins"`
	ResetsAt    *int64  `json:"resetsAt"`
}

// LimitsResult answers account/rateLimits/read.
type LimitsResult struct {
	RateLimits Limits `json:"rateLimits"`
}

// AccountResult answers account/read.
type AccountResult struct {
	Account *struct {
		Type  string  `json:"type"`
		Email *string `json:"email"`
		Plan  *string `json:"planType"`
	} `json:"account"`
	RequiresAuth bool `json:"requiresOpenaiAuth"`
}

// ModelsResult answers model/list.
type ModelsResult struct {
	Data       []Model `json:"data"`
	NextCursor *string `json:"nextCursor"`
}

// Model is a model.
type Model struct {
	ID          string `json:"id"`
	Model       string `json:"model"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
	Hidden      bool   `json:"hidden"`
	Efforts     []struct {
		Effort string `json:"reasoningEffort"`
	} `json:"supportedReasoningEfforts"`
	DefaultEffort string `json:"defaultReasoningEffort"`
	Tiers         []struct {
		ID string `json:"id"`
	} `json:"serviceTiers"`
	IsDefault bool `json:"isDefault"`
}

// The types of items.
const (
	UserMessage   = "userMessage"
	HookPrompt    = "hookPrompt"
	AgentMessage  = "agentMessage"
	ToolOutput    = "functionCallOutput"
	PlanItem      = "plan"
	Reasoning     = "reasoning"
	CommandItem   = "commandExecution"
	FileItem      = "fileChange"
	MCPItem       = "mcpToolCall"
	DynamicItem   = "dynamicToolCall"
	CollabItem    = "collabAgentToolCall"
	SubAgent      = "subAgentActivity"
	WebSearch     = "webSearch"
	ImageView     = "imageView"
	ImageItem     = "imageGeneration"
	SleepItem     = "sleep"
	EnteredReview = "enteredReviewMode"
	ExitedReview  = "exitedReviewMode"
	Compaction    = "contextCompaction"
)

// Item is any item.
type Item struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"`

	Text    string   `json:"text"`
	Summary []string `json:"summary"`
	Content []any    `json:"content"` // texts of a reasoning item

	Command    string   `json:"command"`
	Cwd        string   `json:"cwd"`
	Actions    []Action `json:"commandActions"`
	Output     *string  `json:"aggregatedOutput"`
	ExitCode   *int64   `json:"exitCode"`
	DurationMs *int64   `json:"durationMs"`

	Changes []FileChange `json:"changes"`

	Server       string          `json:"server"`
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	Result       json.RawMessage `json:"result"`
	Error        json.RawMessage `json:"error"`
	ContentItems []ToolContent   `json:"contentItems"`
	Success      *bool           `json:"success"`
	Query        string          `json:"query"`
	WebAction    json.RawMessage `json:"action"`
	Path         string          `json:"path"`

	Prompt    *string           `json:"prompt"`
	Receivers []string          `json:"receiverThreadIds"`
	Agents    map[string]*Agent `json:"agentsStates"`
}

// Agent is the state of a sub-agent.
type Agent struct {
	Status  string  `json:"status"`
	Message *string `json:"message"`
}

// Action is what a command does.
type Action struct {
	Type    string  `json:"type"`
	Command string  `json:"command"`
	Name    string  `json:"name"`
	Path    *string `json:"path"`
	Query   *string `json:"query"`
}

// FileChange is the change of a file. Diff is the whole text of a file that is added or deleted, and of one that is updated
// the hunks of a unified diff.
type FileChange struct {
	Path string `json:"path"`
	Kind struct {
		Type     string  `json:"type"` // add, delete, update
		MovePath *string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

// ApprovalParams are those of the requests for approval.
type ApprovalParams struct {
	Note
	ApprovalID  *string           `json:"approvalId"`
	Reason      *string           `json:"reason"`
	Network     *NetworkContext   `json:"networkApprovalContext"`
	Command     *string           `json:"command"`
	Cwd         *string           `json:"cwd"`
	Actions     []Action          `json:"commandActions"`
	Decisions   []json.RawMessage `json:"availableDecisions"`
	GrantRoot   *string           `json:"grantRoot"`
	Permissions Permissions       `json:"permissions"`
}

// NetworkContext is the host that a command wants to reach.
type NetworkContext struct {
	Host     string `json:"host"`
	Protocol string `json:"protocol"`
}

// Permissions is a wider permission.
type Permissions struct {
	Network    *Network    `json:"network,omitempty"`
	FileSystem *FileSystem `json:"fileSystem,omitempty"`
}

// Network allows the network.
type Network struct {
	Enabled *bool `json:"enabled"`
}

// FileSystem allows paths. Entries say the same in another form, and more, such as patterns.
type FileSystem struct {
	Read    []string        `json:"read"`
	Write   []string        `json:"write"`
	Entries json.RawMessage `json:"entries,omitempty"`
}

// The decisions about approvals.
const (
	Accept           = "accept"
	AcceptForSession = "acceptForSession"
	Decline          = "decline"
	Cancel           = "cancel"
)

// Decision answers a request for approval.
type Decision struct {
	Decision string `json:"decision"`
}

// PermissionAnswer answers a request for permissions; none denies it.
type PermissionAnswer struct {
	Permissions Permissions `json:"permissions"`
	Scope       string      `json:"scope"` // turn, session
}

// QuestionParams are those of a question to the user.
type QuestionParams struct {
	Note
	Questions []Question `json:"questions"`
}

// Question is a question.
type Question struct {
	ID       string `json:"id"`
	Header   string `json:"header"`
	Question string `json:"question"`
	IsOther  bool   `json:"isOther"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

// QuestionAnswers answers the questions by their ids.
type QuestionAnswers struct {
	Answers map[string]QuestionAnswer `json:"answers"`
}

// QuestionAnswer is what was chosen and written.
type QuestionAnswer struct {
	Answers []string `json:"answers"`
}

// ElicitParams are those of a question that a server of tools asks.
type ElicitParams struct {
	Note
	ServerName string `json:"serverName"`
	Mode       string `json:"mode"`
	Schema     struct {
		Properties map[string]json.RawMessage `json:"properties"`
	} `json:"requestedSchema"`
}

// ElicitAnswer answers it.
type ElicitAnswer struct {
	Action  string `json:"action"` // accept, decline, cancel
	Content any    `json:"content"`
	Meta    any    `json:"_meta"`
}

// CallParams are those of the call of a dynamic tool.
type CallParams struct {
	Note
	CallID    string          `json:"callId"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// CallResult answers it.
type CallResult struct {
	ContentItems []ToolContent `json:"contentItems"`
	Success      bool          `json:"success"`
}

// ToolContent is a part of what a tool answers.
type ToolContent struct {
	Type     string `json:"type"` // inputText, inputImage
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"imageUrl,omitempty"`
}
