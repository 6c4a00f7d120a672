package protocol

import "encoding/json"

// PromptInput is a part of a prompt: *TextInput, *ImageInput, *LocalImageInput or *LocalFileInput. On the wire the
// field "type" tells them apart.
//
//sumtype:decl
type PromptInput interface {
	// Type returns what tells the part apart on the wire.
	Type() InputType
	promptInput()
}

// Inputs is a prompt.
type Inputs []PromptInput

// InputType tells the parts of a prompt apart.
type InputType string

// The values of InputType.
const (
	InputText       InputType = "text"
	InputImage      InputType = "image"
	InputLocalImage InputType = "localImage"
	InputLocalFile  InputType = "localFile"
)

// TextInput is text that a person or a program wrote.
type TextInput struct {
	Text       string          `json:"text"`
	Mentions   []PromptMention `json:"mentions"`
	Visibility InputVisibility `json:"visibility"`
	Extra      Extra           `json:"-"`
}

// ImageInput is an image by URL, often a data URL.
type ImageInput struct {
	URL        string          `json:"url" rule:"nonempty"`
	Visibility InputVisibility `json:"visibility"`
	Extra      Extra           `json:"-"`
}

// LocalImageInput is an image file on the bridge's machine.
type LocalImageInput struct {
	Path       string          `json:"path" rule:"nonempty"`
	Visibility InputVisibility `json:"visibility"`
	Extra      Extra           `json:"-"`
}

// LocalFileInput is a file on the bridge's machine.
type LocalFileInput struct {
	Path       string          `json:"path" rule:"nonempty"`
	Name       *string         `json:"name"`
	SizeBytes  *int64          `json:"sizeBytes" rule:"min=0"`
	MimeType   *string         `json:"mimeType"`
	Visibility InputVisibility `json:"visibility"`
	Extra      Extra           `json:"-"`
}

// InputVisibility says who sees a part of a prompt. A bridge forwards all of them.
type InputVisibility string

// The values of InputVisibility.
const (
	VisibleUser      InputVisibility = "user"
	VisibleAgentOnly InputVisibility = "agent-only" // left out of the row that people read
)

func (InputVisibility) values() []string { return []string{"user", "agent-only"} }

// PromptMention marks a range of a text, in UTF-16 units, that names a resource.
type PromptMention struct {
	Start    int64           `json:"start" rule:"min=0"`
	End      int64           `json:"end" rule:"min=0"`
	Resource MentionResource `json:"resource"`
	Extra    Extra           `json:"-"`
}

// MentionResource is what a mention names; its further fields belong to the composer and are kept in Extra.
type MentionResource struct {
	Kind  string `json:"kind" rule:"nonempty"`
	Label string `json:"label"`
	Extra Extra  `json:"-"`
}

// Type returns text.
func (*TextInput) Type() InputType { return InputText }

// Type returns image.
func (*ImageInput) Type() InputType { return InputImage }

// Type returns localImage.
func (*LocalImageInput) Type() InputType { return InputLocalImage }

// Type returns localFile.
func (*LocalFileInput) Type() InputType { return InputLocalFile }

func (*TextInput) promptInput()       {}
func (*ImageInput) promptInput()      {}
func (*LocalImageInput) promptInput() {}
func (*LocalFileInput) promptInput()  {}

// DynamicTool is a tool of core that the bridge offers to its agent; calls come back as tool/call.
type DynamicTool struct {
	Name         string           `json:"name" rule:"nonempty"`
	Description  string           `json:"description"`
	InputSchema  JSONObject       `json:"inputSchema"`
	Presentation ToolPresentation `json:"presentation"`
	Extra        Extra            `json:"-"`
}

// ToolPresentation is how calls of a dynamic tool are shown.
type ToolPresentation struct {
	Label    ToolLabel    `json:"label"`
	Icon     string       `json:"icon" rule:"nonempty"`
	Intent   RenderIntent `json:"intent"`
	Suppress bool         `json:"suppress"`
	Extra    Extra        `json:"-"`
}

// ToolLabel is a verb phrase for a call that runs and for one that is done.
type ToolLabel struct {
	Pending   string `json:"pending" rule:"nonempty"`
	Completed string `json:"completed" rule:"nonempty"`
	Extra     Extra  `json:"-"`
}

// ToolResult answers tool/call.
type ToolResult struct {
	Success bool          `json:"success"`
	Content []ToolContent `json:"content" rule:"min=1"`
	Extra   Extra         `json:"-"`
}

// ToolContent is a part of a tool's answer: a text, or an image as base64 with its MIME type.
type ToolContent struct {
	Type     ToolContentType `json:"type"`
	Text     string          `json:"text" rule:"when=type:text"`
	MimeType string          `json:"mimeType" rule:"nonempty,when=type:image"`
	Base64   string          `json:"base64" rule:"when=type:image"`
	Extra    Extra           `json:"-"`
}

// ToolContentType tells the parts of a tool's answer apart.
type ToolContentType string

// The values of ToolContentType.
const (
	ContentText  ToolContentType = "text"
	ContentImage ToolContentType = "image"
)

func (ToolContentType) values() []string { return []string{"text", "image"} }

// ToolCall is a call of a dynamic tool by the agent. RequestKey is the agent's own key of the request.
type ToolCall struct {
	RequestKey string          `json:"requestKey" rule:"nonempty"`
	TurnKey    *string         `json:"turnKey" rule:"nonempty"`
	ItemKey    *ItemKey        `json:"itemKey"` // may name an item that is not open yet
	Tool       string          `json:"tool" rule:"nonempty"`
	Arguments  json.RawMessage `json:"arguments"`
}
