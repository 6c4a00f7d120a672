package protocol

import "encoding/json"

// Interaction is something that the agent asks of a person: *Approval, *Questions or *OpenInteraction.
//
//sumtype:decl
type Interaction interface {
	// Accepts checks that r answers this request: that it is of the paired kind and within what was offered.
	Accepts(r Resolution) error
	interaction()
}

// Resolution is the answer to an interaction: *Decision, *Answers or *Submitted, each to its own kind of request, or
// *InterruptedResolution, which is only ever stored: on the wire an interruption is the error InteractionInterrupted.
//
//sumtype:decl
type Resolution interface{ resolution() }

// Approval asks for permission. RequestKey is the agent's own key of the request and Scope what it belongs to; both
// travel beside the request. Nil Decisions stands for allow_once and deny.
type Approval struct {
	RequestKey string         `json:"-"`
	Scope      Scope          `json:"-"`
	Subject    Subject        `json:"subject"`
	Reason     string         `json:"reason" rule:"null"`
	Decisions  []DecisionKind `json:"decisions" rule:"min=1,unique"`
	Extra      Extra          `json:"-"`
}

// Questions asks a person to choose or to write.
type Questions struct {
	RequestKey string     `json:"-"`
	Scope      Scope      `json:"-"`
	Questions  []Question `json:"questions" rule:"min=1,max=questions,unique=id"`
	Extra      Extra      `json:"-"`
}

// OpenInteraction is a request of a kind that the plugin declares, <pluginId>/<kind>.
type OpenInteraction struct {
	RequestKey string          `json:"-"`
	Scope      Scope           `json:"-"`
	Name       string          `json:"-" rule:"tag"` // the kind
	Title      string          `json:"title" rule:"max=title"`
	Data       json.RawMessage `json:"data" rule:"bytes=interaction"`
	Extra      Extra           `json:"-"`
}

// Decision answers an Approval.
type Decision struct {
	Kind    DecisionKind  `json:"decision"`
	Granted *GrantProfile `json:"granted"` // null with deny
	Extra   Extra         `json:"-"`
}

// Allowed tells whether the decision is not a denial.
func (d *Decision) Allowed() bool {
	return d != nil && (d.Kind == AllowOnce || d.Kind == AllowForSession)
}

// Answers answers Questions: an Answer for the id of each.
type Answers struct {
	Answers map[string]Answer `json:"answers" rule:"bytes=interaction"`
	Extra   Extra             `json:"-"`
}

// Submitted answers an OpenInteraction.
type Submitted struct {
	Data  json.RawMessage `json:"data" rule:"bytes=interaction"`
	Extra Extra           `json:"-"`
}

// InterruptedResolution is what is stored when a request ended without an answer.
type InterruptedResolution struct {
	Extra Extra `json:"-"`
}

// DecisionKind is a decision about an approval. To deny is the agent's decline or reject once; to cancel the turn is
// thread/stop.
type DecisionKind string

// The values of DecisionKind.
const (
	AllowOnce       DecisionKind = "allow_once"
	AllowForSession DecisionKind = "allow_for_session"
	Deny            DecisionKind = "deny"
)

func (DecisionKind) values() []string { return []string{"allow_once", "allow_for_session", "deny"} }

// Question is one question. Options may be empty only when free text is allowed.
type Question struct {
	ID            string           `json:"id" rule:"nonempty"`
	Prompt        string           `json:"prompt" rule:"nonempty"`
	ShortLabel    *string          `json:"shortLabel"`
	MultiSelect   bool             `json:"multiSelect"`
	Options       []QuestionOption `json:"options" rule:"max=options,unique=value"`
	AllowFreeText bool             `json:"allowFreeText"`
	Extra         Extra            `json:"-"`
}

// QuestionOption is an option of a question.
type QuestionOption struct {
	Value       string  `json:"value" rule:"nonempty"`
	Label       string  `json:"label" rule:"nonempty"`
	Description *string `json:"description"`
	Extra       Extra   `json:"-"`
}

// Answer is the answer to one question.
type Answer struct {
	Selected []string `json:"selected" rule:"max=selected,unique"`
	FreeText *string  `json:"freeText" rule:"nonblank,max=freeText"`
	Extra    Extra    `json:"-"`
}

// GrantProfile is what a permission covers.
type GrantProfile struct {
	Network    *NetworkGrant    `json:"network"`
	FileSystem *FileSystemGrant `json:"fileSystem"`
	Extra      Extra            `json:"-"`
}

// NetworkGrant allows or forbids the network; null leaves it as it is.
type NetworkGrant struct {
	Enabled *bool `json:"enabled"`
	Extra   Extra `json:"-"`
}

// FileSystemGrant lists paths that may be read and written.
type FileSystemGrant struct {
	Read  []string `json:"read"`
	Write []string `json:"write"`
	Extra Extra    `json:"-"`
}

// Subject is what an approval is about: *CommandSubject, *FileChangeSubject, *PermissionSubject or *PlanSubject.
//
//sumtype:decl
type Subject interface {
	// Kind returns what tells the subject apart on the wire.
	Kind() SubjectKind
	subject()
}

// SubjectKind names a kind of subject.
type SubjectKind string

// The kinds of subjects.
const (
	SubjectCommand    SubjectKind = "command"
	SubjectFileChange SubjectKind = "file_change"
	SubjectPermission SubjectKind = "permission_grant"
	SubjectPlan       SubjectKind = "plan"
)

// CommandSubject is a command that the agent wants to run.
type CommandSubject struct {
	ItemKey      ItemKey        `json:"itemKey"`
	Command      string         `json:"command"`
	Cwd          *string        `json:"cwd"`
	Actions      CommandActions `json:"actions"`
	SessionGrant *GrantProfile  `json:"sessionGrant"` // what allow_for_session would cover
	Extra        Extra          `json:"-"`
}

// FileChangeSubject is a change of files; WriteScope is the folder that it stays in.
type FileChangeSubject struct {
	ItemKey      ItemKey       `json:"itemKey"`
	WriteScope   *string       `json:"writeScope"`
	SessionGrant *GrantProfile `json:"sessionGrant"`
	Extra        Extra         `json:"-"`
}

// PermissionSubject is a wider permission.
type PermissionSubject struct {
	ItemKey     ItemKey      `json:"itemKey"`
	ToolName    *string      `json:"toolName"`
	Permissions GrantProfile `json:"permissions"`
	Extra       Extra        `json:"-"`
}

// PlanSubject is a plan to go on with.
type PlanSubject struct {
	ItemKey      ItemKey `json:"itemKey"`
	Plan         string  `json:"plan"`
	PlanFilePath *string `json:"planFilePath"`
	Extra        Extra   `json:"-"`
}

// Kind returns command.
func (*CommandSubject) Kind() SubjectKind { return SubjectCommand }

// Kind returns file_change.
func (*FileChangeSubject) Kind() SubjectKind { return SubjectFileChange }

// Kind returns permission_grant.
func (*PermissionSubject) Kind() SubjectKind { return SubjectPermission }

// Kind returns plan.
func (*PlanSubject) Kind() SubjectKind { return SubjectPlan }

func (*CommandSubject) subject()    {}
func (*FileChangeSubject) subject() {}
func (*PermissionSubject) subject() {}
func (*PlanSubject) subject()       {}

func (*Decision) resolution()              {}
func (*Answers) resolution()               {}
func (*Submitted) resolution()             {}
func (*InterruptedResolution) resolution() {}

func (*Approval) interaction()        {}
func (*Questions) interaction()       {}
func (*OpenInteraction) interaction() {}

// CommandAction is what a command does, as far as the agent knows: *ReadAction, *ListFilesAction, *SearchAction or
// *UnknownAction.
//
//sumtype:decl
type CommandAction interface {
	// Kind returns what tells the action apart on the wire.
	Kind() ActionKind
	commandAction()
}

// CommandActions is the list of what a command does.
type CommandActions []CommandAction

// ActionKind names a kind of command action.
type ActionKind string

// The kinds of command actions.
const (
	ActionRead      ActionKind = "read"
	ActionListFiles ActionKind = "listFiles"
	ActionSearch    ActionKind = "search"
	ActionUnknown   ActionKind = "unknown"
)

// ReadAction reads a file.
type ReadAction struct {
	Command string `json:"command"`
	Name    string `json:"name"`
	Path    string `json:"path"`
	Extra   Extra  `json:"-"`
}

// ListFilesAction lists a folder.
type ListFilesAction struct {
	Command string  `json:"command"`
	Path    *string `json:"path"`
	Extra   Extra   `json:"-"`
}

// SearchAction searches files.
type SearchAction struct {
	Command string  `json:"command"`
	Query   *string `json:"query"`
	Path    *string `json:"path"`
	Extra   Extra   `json:"-"`
}

// UnknownAction is anything else.
type UnknownAction struct {
	Command string `json:"command"`
	Extra   Extra  `json:"-"`
}

// Kind returns read.
func (*ReadAction) Kind() ActionKind { return ActionRead }

// Kind returns listFiles.
func (*ListFilesAction) Kind() ActionKind { return ActionListFiles }

// Kind returns search.
func (*SearchAction) Kind() ActionKind { return ActionSearch }

// Kind returns unknown.
func (*UnknownAction) Kind() ActionKind { return ActionUnknown }

func (*ReadAction) commandAction()      {}
func (*ListFilesAction) commandAction() {}
func (*SearchAction) commandAction()    {}
func (*UnknownAction) commandAction()   {}
