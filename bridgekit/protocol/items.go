package protocol

import "encoding/json"

// Item is the payload of an item: a non-nil pointer to a core item or to an Extension.
//
//sumtype:decl
type Item interface {
	// Kind returns the core kind, or the name of an Extension.
	Kind() ItemKind
	item()
}

// ItemKind names a kind of item: a core kind, or the name of an extension, <pluginId>/<name>.
type ItemKind string

// The core kinds of items.
const (
	KindMessage    ItemKind = "message"
	KindReasoning  ItemKind = "reasoning"
	KindPlan       ItemKind = "plan"
	KindCompaction ItemKind = "compaction"
	KindCommand    ItemKind = "command"
	KindTool       ItemKind = "tool"
	KindFileChange ItemKind = "file_change"
	KindTask       ItemKind = "task"
)

// Message is what the agent says. It opens with the text so far, usually none, and closes with its whole text.
type Message struct {
	Text string `json:"text"`
}

// Reasoning is what the agent thinks, and a summary of it.
type Reasoning struct {
	Text    string `json:"text"`
	Summary string `json:"summary"`
}

// Plan is a plan, and the file that holds it.
type Plan struct {
	Text string  `json:"text"`
	Path *string `json:"path"`
}

// Compaction is a shortening of the context, with its size before and after.
type Compaction struct {
	Trigger    CompactionTrigger `json:"trigger" rule:"null"`
	PreTokens  *int64            `json:"preTokens" rule:"min=0"`
	PostTokens *int64            `json:"postTokens" rule:"min=0"`
}

// CompactionTrigger is who asked for a compaction; "" is unknown.
type CompactionTrigger string

// The values of CompactionTrigger.
const (
	CompactManual CompactionTrigger = "manual"
	CompactAuto   CompactionTrigger = "auto"
)

func (CompactionTrigger) values() []string { return []string{"manual", "auto"} }

// Command is a shell command.
type Command struct {
	Command    string         `json:"command"`
	Cwd        *string        `json:"cwd"`
	Intent     RenderIntent   `json:"intent"`
	Actions    CommandActions `json:"actions"`
	Output     *string        `json:"output"`
	ExitCode   *int64         `json:"exitCode"`
	DurationMs *int64         `json:"durationMs" rule:"min=0"`
	Approval   ApprovalState  `json:"approval" rule:"null"`
}

// Tool is a call of a tool.
type Tool struct {
	Tool       string          `json:"tool"`
	Server     *string         `json:"server"` // the tool server it belongs to
	Arguments  json.RawMessage `json:"arguments"`
	Intent     RenderIntent    `json:"intent"`
	Result     *string         `json:"result"`
	Error      *string         `json:"error"`
	DurationMs *int64          `json:"durationMs" rule:"min=0"`
	Approval   ApprovalState   `json:"approval" rule:"null"`
}

// FileChange is a change of files.
type FileChange struct {
	Changes  []PathChange  `json:"changes"`
	Approval ApprovalState `json:"approval" rule:"null"`
}

// PathChange is the change of one file; Diff is unified, with file headers.
type PathChange struct {
	Path     string     `json:"path"`
	Change   ChangeType `json:"change"`
	MovePath *string    `json:"movePath"` // where an updated file went
	Diff     *string    `json:"diff" rule:"bytes=diff"`
}

// ChangeType is what happened to a file.
type ChangeType string

// The values of ChangeType.
const (
	ChangeAdd    ChangeType = "add"
	ChangeUpdate ChangeType = "update"
	ChangeDelete ChangeType = "delete"
)

func (ChangeType) values() []string { return []string{"add", "update", "delete"} }

// Task is work of its own: delegated to a sub-agent, whose items name it in ParentRef, or in the background.
type Task struct {
	Role       TaskRole   `json:"role"`
	Label      string     `json:"label"`
	TaskType   *string    `json:"taskType"`
	ChildRef   *string    `json:"childRef"`
	Background bool       `json:"background"`
	Summary    *string    `json:"summary"`
	Error      *string    `json:"error"`
	OutputFile *string    `json:"outputFile"`
	Usage      *TaskUsage `json:"usage"`
}

// TaskRole is what a task is for.
type TaskRole string

// The values of TaskRole.
const (
	TaskDelegation TaskRole = "delegation"
	TaskBackground TaskRole = "background"
)

func (TaskRole) values() []string { return []string{"delegation", "background"} }

// TaskUsage is what a task cost.
type TaskUsage struct {
	TotalTokens int64 `json:"totalTokens" rule:"min=0"`
	ToolUses    int64 `json:"toolUses" rule:"min=0"`
	DurationMs  int64 `json:"durationMs" rule:"min=0"`
}

// Extension is an item of a kind that a provider declares. Name is the kind, <pluginId>/<name>; Payload is checked
// against the declared JSON Schema by package extension.
type Extension struct {
	Name    string          `json:"-" rule:"tag"`
	Payload json.RawMessage `json:"payload" rule:"bytes=extension"`
}

// Kind returns message.
func (*Message) Kind() ItemKind { return KindMessage }

// Kind returns reasoning.
func (*Reasoning) Kind() ItemKind { return KindReasoning }

// Kind returns plan.
func (*Plan) Kind() ItemKind { return KindPlan }

// Kind returns compaction.
func (*Compaction) Kind() ItemKind { return KindCompaction }

// Kind returns command.
func (*Command) Kind() ItemKind { return KindCommand }

// Kind returns tool.
func (*Tool) Kind() ItemKind { return KindTool }

// Kind returns file_change.
func (*FileChange) Kind() ItemKind { return KindFileChange }

// Kind returns task.
func (*Task) Kind() ItemKind { return KindTask }

// Kind returns the extension's name.
func (e *Extension) Kind() ItemKind { return ItemKind(e.Name) }

func (*Message) item()    {}
func (*Reasoning) item()  {}
func (*Plan) item()       {}
func (*Compaction) item() {}
func (*Command) item()    {}
func (*Tool) item()       {}
func (*FileChange) item() {}
func (*Task) item()       {}
func (*Extension) item()  {}

// Detaches tells whether opening an item of the kind completes the open messages beside it: commands, tools, file
// changes, tasks and every extension do (message/auto-detach).
func (k ItemKind) Detaches() bool {
	switch k {
	case KindMessage, KindReasoning, KindPlan, KindCompaction:
		return false
	}
	return true
}
