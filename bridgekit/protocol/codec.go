package protocol

// The types of the protocol encode and decode themselves, so that encoding/json works with all of them: decoding checks
// every rule and returns an *Error with InvalidParams, encoding writes the form that the schemas describe.

// MarshalJSON writes the wire form, see Marshal.
func (v Capabilities) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Capabilities) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ProviderDeclaration) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ProviderDeclaration) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ProviderStrings) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ProviderStrings) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Choice) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Choice) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Maintenance) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Maintenance) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ModelSource) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ModelSource) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SkillSupport) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SkillSupport) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ExtensionKind) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ExtensionKind) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v EnvAccess) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *EnvAccess) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ItemKey) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ItemKey) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InputAccepted) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InputAccepted) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TurnOpen) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TurnOpen) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TurnBoundary) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TurnBoundary) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TurnError) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TurnError) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TurnDiff) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TurnDiff) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ItemOpen) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ItemOpen) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ItemText) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ItemText) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ItemOutput) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ItemOutput) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ItemProgress) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ItemProgress) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ItemClose) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ItemClose) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Usage) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Usage) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TokenBreakdown) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TokenBreakdown) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Cost) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Cost) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ContextWindow) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ContextWindow) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ContextCleared) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ContextCleared) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Todo) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Todo) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TodoStep) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TodoStep) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ThreadName) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ThreadName) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ExtensionState) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ExtensionState) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v RateLimits) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *RateLimits) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ModelFallback) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ModelFallback) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ProviderError) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ProviderError) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ProviderWarning) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ProviderWarning) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ProviderUnhandled) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ProviderUnhandled) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SessionEnded) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SessionEnded) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SessionReset) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SessionReset) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InitializeParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InitializeParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v VersionRange) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *VersionRange) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ClientInfo) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ClientInfo) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v PluginInfo) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *PluginInfo) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InitializeResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InitializeResult) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TextInput) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TextInput) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ImageInput) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ImageInput) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v LocalImageInput) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *LocalImageInput) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v LocalFileInput) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *LocalFileInput) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v PromptMention) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *PromptMention) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v MentionResource) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *MentionResource) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v DynamicTool) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *DynamicTool) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ToolPresentation) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ToolPresentation) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ToolLabel) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ToolLabel) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ToolResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ToolResult) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ToolContent) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ToolContent) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ToolCall) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ToolCall) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Approval) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Approval) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Questions) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Questions) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v OpenInteraction) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *OpenInteraction) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Decision) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Decision) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Answers) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Answers) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Submitted) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Submitted) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InterruptedResolution) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InterruptedResolution) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Question) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Question) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v QuestionOption) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *QuestionOption) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Answer) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Answer) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v GrantProfile) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *GrantProfile) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v NetworkGrant) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *NetworkGrant) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v FileSystemGrant) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *FileSystemGrant) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v CommandSubject) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *CommandSubject) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v FileChangeSubject) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *FileChangeSubject) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v PermissionSubject) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *PermissionSubject) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v PlanSubject) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *PlanSubject) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ReadAction) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ReadAction) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ListFilesAction) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ListFilesAction) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SearchAction) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SearchAction) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v UnknownAction) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *UnknownAction) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Message) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Message) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Reasoning) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Reasoning) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Plan) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Plan) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Compaction) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Compaction) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Command) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Command) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Tool) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Tool) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v FileChange) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *FileChange) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v PathChange) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *PathChange) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Task) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Task) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TaskUsage) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TaskUsage) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Extension) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Extension) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ToolCallParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ToolCallParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InteractionParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InteractionParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v DeltaParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *DeltaParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v IdentityParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *IdentityParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ReplacedParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ReplacedParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v RecoveryParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *RecoveryParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v WithdrawnParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *WithdrawnParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v RawParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *RawParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v LogParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *LogParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Presentation) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Presentation) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Empty) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Empty) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ModelDecl) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ModelDecl) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ProviderHealth) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ProviderHealth) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ProviderUsage) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ProviderUsage) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v UsageWindow) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *UsageWindow) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v WindowCost) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *WindowCost) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InstallationStatus) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InstallationStatus) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InstallActionInfo) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InstallActionInfo) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InstallationRunResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InstallationRunResult) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InstallCommand) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InstallCommand) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InstallVerification) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InstallVerification) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v RateLimitState) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *RateLimitState) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v RateLimitWindow) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *RateLimitWindow) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ProviderParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ProviderParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InstallationStatusParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InstallationStatusParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InstallationRunParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InstallationRunParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ModelListResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ModelListResult) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v HealthResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *HealthResult) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v UsageResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *UsageResult) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v InstallationStatusResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *InstallationStatusResult) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SkillsDiscoverResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SkillsDiscoverResult) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SkillsConfigureParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SkillsConfigureParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ThreadRef) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ThreadRef) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ThreadStopParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ThreadStopParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ThreadNameParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ThreadNameParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ThreadGoalParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ThreadGoalParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TurnStartParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TurnStartParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v TurnSteerParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *TurnSteerParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ShutdownParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ShutdownParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SessionParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SessionParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ResumeParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ResumeParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ForkParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ForkParams) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SessionIdentity) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SessionIdentity) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Workspace) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Workspace) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v ExecutionOptions) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *ExecutionOptions) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v PermissionPolicy) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *PermissionPolicy) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SkillRoot) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SkillRoot) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v SkillScanRoot) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *SkillScanRoot) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v DiscoveredSkill) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *DiscoveredSkill) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Versions) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Versions) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v Inputs) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *Inputs) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }

// MarshalJSON writes the wire form, see Marshal.
func (v CommandActions) MarshalJSON() ([]byte, error) { return Marshal(v) }

// UnmarshalJSON reads the wire form, see Decode.
func (v *CommandActions) UnmarshalJSON(raw []byte) error { return unmarshal(raw, v) }
