package protocol_test

import (
	"encoding/json"
	"reflect"

	. "github.com/bb-kernel/bb/bridgekit/protocol"
)

// sample is a Go value whose wire form is an example.
type sample struct {
	name, typ string
	value     any
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func sampleCapabilities() Capabilities {
	return Capabilities{SessionRestore: true, ThreadGoal: true, Fork: ForkCheckpoint, ApprovalEnforcedBy: EnforcedByRuntime, Steer: SteerNative}
}

func sampleModel() ModelDecl {
	return ModelDecl{ID: "large", Label: "Large", Description: "Thinks longest", ReasoningLevels: []string{"low", "high"},
		DefaultReasoningLevel: "high", ServiceTiers: []string{"fast"}, IsDefault: true}
}

func sampleOptions() ExecutionOptions {
	return ExecutionOptions{Model: "large", ReasoningLevel: "high",
		Permission:   PermissionPolicy{Mode: ModeAcceptEdits, Scope: ScopeWorkspace, Reviewer: ReviewerUser, Escalation: EscalateAsk},
		Instructions: "Be brief.", ProviderOptions: JSONObject{"sandbox": raw(`{"network":false}`)}}
}

func sampleTool() DynamicTool {
	return DynamicTool{Name: "notes_add", Description: "Adds a note", InputSchema: JSONObject{"type": raw(`"object"`)},
		Presentation: ToolPresentation{Label: ToolLabel{Pending: "Adding a note", Completed: "Added a note"}, Icon: "note", Intent: IntentGeneric}}
}

func sampleSession() SessionParams {
	return SessionParams{ThreadID: "t1", ProviderID: "echo", Cwd: "/home/user/project",
		Workspace: Workspace{Root: "/home/user/project", WriteRoots: []string{"/home/user/project"}},
		Env:       map[string]string{"BB_THREAD_ID": "t1"}, Options: sampleOptions(), Tools: []DynamicTool{sampleTool()},
		DisallowedTools: []string{"web"}, InstructionMode: InstructionsAppend, Actions: []Action{ActionCompact},
		BridgeOptions: JSONObject{"model": raw(`"large"`)}}
}

func sampleTurn() TurnStartParams {
	return TurnStartParams{ThreadID: "t1", ProviderThreadID: "s1", Input: Inputs{&TextInput{Text: "Hello", Visibility: VisibleUser}},
		ClientRequestID: "r1", Options: sampleOptions()}
}

func sampleDeclaration() ProviderDeclaration {
	return ProviderDeclaration{ID: "echo", DisplayName: "Echo", Family: "demo", Icon: "echo/logo",
		Strings:      ProviderStrings{SignInHint: "Run echo login", ExpiredHint: "Run echo login again", InstallURL: "https://example.com/install"},
		Capabilities: sampleCapabilities(), PermissionModes: []PermissionMode{ModeAcceptEdits, ModeAuto, ModeFull}, UserQuestions: true,
		ReasoningLevels: []Choice{{ID: "high", Label: "High", Description: Ptr("Thinks longer")}},
		ServiceTiers:    []Choice{{ID: "fast", Label: "Fast"}}, Actions: []Action{ActionCompact, ActionPlan, ActionGoal},
		Maintenance: Maintenance{Health: true, Usage: true, Installation: true},
		Models:      ModelSource{Catalog: CatalogBridge, Fallback: []ModelDecl{sampleModel()}, Scope: ModelsPerHost},
		Skills: SkillSupport{Configure: true, Discover: true, Roots: []SkillScanRoot{
			{Scope: SkillUser, Path: "~/.echo/skills", Format: SkillMD, WalkParents: true, Recursive: true, Label: Ptr("Echo")}}},
		ExtensionKinds: map[string]ExtensionKind{"echo/chart": {Item: raw(`{"type":"object"}`)}},
		Env:            EnvAccess{Passthrough: []string{"ECHO_API_KEY"}}, Visibility: VisibleInstalled, BridgeOptions: JSONObject{"fast": raw(`null`)}}
}

var (
	messageKey = ItemKey{ProviderItemID: "m1"}
	commandKey = ItemKey{ProviderItemID: "c1", Channel: "stdout", ParentRef: "task1"}
	writing    = Presentation{Label: "Writing", Icon: "message"}
	decorated  = Presentation{Label: "Ran tests", Icon: "terminal", Title: "go test", Detail: "12 passed", Suppress: true, Tint: TintSuccess}
)

func sampleItems() []Item {
	return []Item{
		&Message{Text: "Hello"},
		&Reasoning{Text: "First…", Summary: "A plan"},
		&Plan{Text: "1. Read", Path: Ptr("/tmp/plan.md")},
		&Compaction{Trigger: CompactAuto, PreTokens: Ptr[int64](90000), PostTokens: Ptr[int64](12000)},
		&Command{Command: "go test", Cwd: Ptr("/src"), Intent: IntentTerminal, Actions: CommandActions{&UnknownAction{Command: "go test"}},
			Output: Ptr("ok"), ExitCode: Ptr[int64](-1), DurationMs: Ptr[int64](120), Approval: ApprovalWaiting},
		&Tool{Tool: "search", Server: Ptr("docs"), Arguments: raw(`{"q":"x"}`), Intent: IntentSearch, Result: Ptr("3 hits")},
		&FileChange{Changes: []PathChange{{Path: "a.go", Change: ChangeUpdate, MovePath: Ptr("b.go"), Diff: Ptr("--- a.go\n+++ b.go\n")}}, Approval: ApprovalDenied},
		&Task{Role: TaskDelegation, Label: "Review", TaskType: Ptr("reviewer"), ChildRef: Ptr("s2"), Background: true, Summary: Ptr("fine"),
			OutputFile: Ptr("/tmp/out"), Usage: &TaskUsage{TotalTokens: 10, ToolUses: 2, DurationMs: 900}},
		&Extension{Name: "echo/chart", Payload: raw(`{"points":[1,2.5,1e3]}`)},
	}
}

func sampleDeltas() []Delta {
	return []Delta{
		&InputAccepted{ClientRequestID: "r1"},
		&TurnOpen{TurnKey: Ptr("turn-1")},
		&TurnBoundary{TurnKey: Ptr("turn-1"), Status: Failed, Error: &TurnError{Message: "out of tokens"}, CheckpointID: Ptr("cp-1")},
		&TurnDiff{Diff: "--- a\n+++ b\n"},
		&ItemOpen{Key: messageKey, Item: &Message{}, Presentation: writing},
		&ItemText{Scope: Scope{Turn: "turn-1"}, Key: messageKey, Stream: Text, Text: "Hel\"lo\n"},
		&ItemOutput{Scope: Scope{Thread: true}, Key: commandKey, Mode: Append, Text: "ok\n"},
		&ItemProgress{Key: commandKey, Message: Ptr("half done"), Item: &Plan{Text: "x"}, Presentation: &decorated},
		&ItemClose{Key: messageKey, Status: Completed, Item: &Message{Text: "Hello"}, Presentation: decorated},
		&Usage{TurnKey: Ptr("turn-1"), Last: TokenBreakdown{TotalTokens: 9007199254740993, InputTokens: 2, CachedInputTokens: 3, OutputTokens: 4, ReasoningOutputTokens: 5},
			Total: &TokenBreakdown{TotalTokens: 9007199254740993}, ModelContextWindow: Ptr[int64](200000), CacheWriteTokens: Ptr[int64](7), Cost: &Cost{Amount: 0.25, Currency: "USD"}},
		&ContextWindow{Used: Ptr[int64](1), Size: Ptr[int64](2), Estimated: true},
		&ContextCleared{},
		&Todo{TurnKey: Ptr("turn-1"), Steps: []TodoStep{{Text: "Read", Status: TodoActive}}, Explanation: Ptr("why")},
		&ThreadName{Name: "Fix the build"},
		&ExtensionState{Name: "echo/chart", Payload: raw(`{"n":1}`)},
		&RateLimits{RateLimits: RateLimitState{Status: LimitBlocked, Kind: LimitSubscription,
			Windows:  []RateLimitWindow{{ProviderKey: Ptr("five_hour"), Label: Ptr("5 hours"), Status: LimitBlocked, ResetsAtMs: Ptr(1.8e12)}},
			ResetsAt: Ptr(1.8e12), ReachedReason: Ptr("quota"), OverageStatus: OverageRejected, OverageReason: Ptr("off")}},
		&ModelFallback{OriginalModel: "large", FallbackModel: "small", Reason: FallbackRefusal, Message: "refused"},
		&ProviderError{Category: ErrorRateLimit, Message: "slow down", Detail: Ptr("d"), ProviderCode: Ptr("429"), HTTPStatus: Ptr[int64](429), SettlesTurn: true},
		&ProviderWarning{Scope: Scope{Thread: true}, Category: WarningCompactionSkipped, Summary: Ptr("nothing to do"), Details: Ptr("d")},
		&ProviderUnhandled{RawType: "ping", Raw: raw(`{"n":9007199254740993}`), ParentRef: Ptr("task1")},
		&SessionEnded{},
		&SessionReset{},
	}
}

func sampleSubjects() []Subject {
	grant := &GrantProfile{Network: &NetworkGrant{Enabled: Ptr(true)}, FileSystem: &FileSystemGrant{Read: []string{"/etc"}, Write: []string{"/tmp"}}}
	return []Subject{
		&CommandSubject{ItemKey: commandKey, Command: "ls", Cwd: Ptr("/src"), Actions: CommandActions{
			&ReadAction{Command: "cat a", Name: "a", Path: "/src/a"}, &ListFilesAction{Command: "ls", Path: Ptr("/src")},
			&SearchAction{Command: "rg x", Query: Ptr("x"), Path: Ptr("/src")}, &UnknownAction{Command: "make"}}, SessionGrant: grant},
		&FileChangeSubject{ItemKey: messageKey, WriteScope: Ptr("/src"), SessionGrant: grant},
		&PermissionSubject{ItemKey: messageKey, ToolName: Ptr("web"), Permissions: *grant},
		&PlanSubject{ItemKey: messageKey, Plan: "1. Read", PlanFilePath: Ptr("/tmp/plan.md")},
	}
}

func sampleQuestions() *Questions {
	return &Questions{RequestKey: "q1", Questions: []Question{
		{ID: "colour", Prompt: "Which colour?", ShortLabel: Ptr("Colour"), MultiSelect: true,
			Options: []QuestionOption{{Value: "red", Label: "Red", Description: Ptr("warm")}, {Value: "blue", Label: "Blue"}}},
		{ID: "why", Prompt: "Why?", Options: []QuestionOption{}, AllowFreeText: true},
	}}
}

// samples returns a value for every message and every part of one.
func samples() []sample {
	provider := ProviderParams{ProviderID: "echo", Cwd: "/home/user/project", BridgeOptions: JSONObject{}}
	ref := ThreadRef{ThreadID: "t1", ProviderThreadID: "s1"}
	identity := SessionIdentity{ProviderThreadID: "s1", SessionRestorable: true}
	params := map[string]any{
		MethodInitialize: InitializeParams{Protocol: VersionRange{Min: 3, Max: 3}, Client: ClientInfo{Name: "bb", Version: "1.0.0"},
			Plugin: PluginInfo{ID: "echo", Version: "1.0.0"}, ProviderIDs: []string{"echo"}},
		MethodModelList: provider, MethodHealth: provider, MethodUsage: provider, MethodSkillsDiscover: provider,
		MethodInstallationStatus: InstallationStatusParams{ProviderParams: provider, CheckUpdates: true},
		MethodInstallationRun:    InstallationRunParams{ProviderParams: provider, Action: ActionInstall},
		MethodSkillsConfigure:    SkillsConfigureParams{ThreadID: "t1", Roots: []SkillRoot{{ID: "r", Path: "/skills", Label: "Mine"}}},
		MethodThreadStart:        sampleSession(),
		MethodThreadResume:       ResumeParams{SessionParams: sampleSession(), ProviderThreadID: "s1"},
		MethodThreadFork:         ForkParams{SessionParams: sampleSession(), SourceProviderThreadID: "s1", SourceCheckpointID: "cp-1"},
		MethodThreadStop:         ThreadStopParams{ThreadRef: ref, Intent: Interrupt},
		MethodThreadDiscard:      ref, MethodThreadArchive: ref, MethodThreadUnarchive: ref, MethodThreadGoalClear: ref,
		MethodThreadNameSet: ThreadNameParams{ThreadRef: ref, Title: "Fix the build"},
		MethodThreadGoalSet: ThreadGoalParams{ThreadRef: ref, Goal: "All tests pass"},
		MethodTurnStart:     sampleTurn(),
		MethodTurnSteer:     TurnSteerParams{TurnStartParams: sampleTurn(), TurnID: "turn-1"},
		MethodShutdown:      ShutdownParams{GraceMs: 5000},
	}
	results := map[string]any{
		MethodInitialize: InitializeResult{Protocol: 3, Capabilities: sampleCapabilities()},
		MethodModelList:  ModelListResult{Models: []ModelDecl{sampleModel()}},
		MethodHealth: HealthResult{Health: ProviderHealth{Status: HealthReady, StatusMessage: Ptr("fine"), AccountEmail: Ptr("a@example.com"),
			PlanLabel: Ptr("Pro"), InstalledVersion: Ptr("2.1.0"), MinimumSupportedVersion: Ptr("2.0.0"), CanInstall: true, CanUpdate: true, LoginCommand: Ptr("echo login")}},
		MethodUsage: UsageResult{Usage: ProviderUsage{Status: UsageOK, AccountEmail: Ptr("a@example.com"), PlanLabel: Ptr("Pro"),
			Windows: []UsageWindow{{Label: "5 hours", UsedPercent: 12.5, ResetsAt: Ptr("2026-01-01T00:00:00Z"), Cost: &WindowCost{UsedUSDCents: 50, LimitUSDCents: 100}}}}},
		MethodInstallationStatus: InstallationStatusResult{Status: InstallationStatus{ExecutableName: "echo", ExecutablePath: Ptr("/bin/echo"), Installed: true,
			InstallSource: SourceNpmGlobal, CurrentVersion: Ptr("1"), LatestVersion: Ptr("2"), MinimumSupportedVersion: Ptr("1"), NpmPackageName: Ptr("echo"),
			NpmGlobalPackageVersion: Ptr("1"), InstallAction: &InstallActionInfo{Kind: ActionUpdate, Label: "Update", Command: "npm i -g echo"}, NeedsUpdate: true}},
		MethodInstallationRun: InstallationRunResult{Available: true, Command: &InstallCommand{Command: "npm", Args: []string{"i", "-g", "echo"}, DisplayCommand: "npm i -g echo"},
			Verification: &InstallVerification{Kind: VerifyVersionAtLeast, Version: "2"}},
		MethodSkillsDiscover: SkillsDiscoverResult{Skills: []DiscoveredSkill{{Name: "review", Description: "Reviews", Path: "/skills/review", Scope: SkillProject, Source: "echo"}}},
		MethodThreadStart:    identity, MethodThreadResume: identity, MethodThreadFork: identity,
	}
	var list []sample
	add := func(name, typ string, value any) {
		if typ == "" {
			typ = reflect.Indirect(reflect.ValueOf(value)).Type().Name()
		}
		list = append(list, sample{name, typ, value})
	}
	for _, s := range CoreToBridge() {
		add(s.Method+" params", "", params[s.Method])
		result, ok := results[s.Method]
		if !ok {
			result = Empty{}
		}
		add(s.Method+" result", "", result)
	}
	add("provider/usage result signed out", "", UsageResult{Usage: ProviderUsage{Status: UsageUnauthenticated}})
	add("provider/usage result error", "", UsageResult{Usage: ProviderUsage{Status: UsageError, Message: "no answer"}})
	add("provider/installation/run result unavailable", "", InstallationRunResult{Message: "Install it by hand"})
	add("provider/installation/run result installed", "", InstallationRunResult{Available: true, Command: &InstallCommand{Command: "make", DisplayCommand: "make"},
		Verification: &InstallVerification{Kind: VerifyInstalled}})
	add("provider/installation/run result changed", "", InstallationRunResult{Available: true, Command: &InstallCommand{Command: "make", DisplayCommand: "make"},
		Verification: &InstallVerification{Kind: VerifyVersionChanged, PreviousVersion: "1"}})
	add("an unknown field is kept", "", SessionIdentity{ProviderThreadID: "s1", Extra: Extra{"later": raw(`{"x":null}`)}})

	add("tool/call params", "", ToolCallParams{ThreadID: "t1", ProviderThreadID: "s1",
		ToolCall: ToolCall{RequestKey: "1", TurnKey: Ptr("turn-1"), ItemKey: &commandKey, Tool: "notes_add", Arguments: raw(`{"text":"x"}`)}})
	add("tool/call result", "", ToolResult{Success: true, Content: []ToolContent{{Type: ContentText, Text: "Added"}, {Type: ContentImage, MimeType: "image/png", Base64: "iVBORw0KGgo="}}})
	add("interaction/request params", "", InteractionParams{ThreadID: "t1", ProviderThreadID: "s1", RequestKey: "q1", Scope: Scope{Turn: "turn-1"}, Request: sampleQuestions()})
	add("interaction/request params of the thread", "", InteractionParams{ThreadID: "t1", ProviderThreadID: "s1", RequestKey: "q2", Scope: Scope{Thread: true},
		Request: &Approval{Subject: &PlanSubject{ItemKey: messageKey, Plan: "x"}}})
	add("thread/delta params", "", DeltaParams{ThreadID: "t1", Deltas: sampleDeltas()})
	add("thread/identity params", "", IdentityParams{ThreadID: "t1", ProviderThreadID: "s1", SessionRestorable: true})
	add("session/replaced params", "", ReplacedParams{ThreadID: "t1", ProviderThreadID: "s2", Reason: "the session file is gone", ContextLost: true})
	add("provider/recovery params", "", RecoveryParams{ThreadID: "t1", Hint: RecoverReauthenticate, Message: "signed out"})
	add("interaction/withdrawn params", "", WithdrawnParams{ThreadID: "t1", RequestKey: "q1"})
	add("provider/raw params", "", RawParams{Coverage: CoverageUnknown, Payload: raw(`{"type":"new"}`)})
	add("bridge/log params", "", LogParams{ThreadID: "t1", Level: LogWarn, Message: "odd", Data: raw(`{"n":1}`)})
	for _, d := range sampleDeltas() {
		add("delta "+string(d.Kind()), "Delta", d)
	}
	for _, i := range sampleItems() {
		add("item "+string(i.Kind()), "Item", i)
		add("delta item.open of "+string(i.Kind()), "Delta", &ItemOpen{Key: messageKey, Item: i, Presentation: writing})
	}
	add("delta item.progress of nothing", "Delta", &ItemProgress{Key: messageKey})
	add("delta provider.error of the thread", "Delta", &ProviderError{Scope: Scope{Thread: true}, Category: ErrorUnknown})
	for _, i := range []PromptInput{
		&TextInput{Text: "see @a.go", Mentions: []PromptMention{{Start: 4, End: 9, Resource: MentionResource{Kind: "file", Label: "a.go", Extra: Extra{"path": raw(`"/src/a.go"`)}}}}, Visibility: VisibleAgentOnly},
		&ImageInput{URL: "data:image/png;base64,iVBORw0KGgo=", Visibility: VisibleUser},
		&LocalImageInput{Path: "/tmp/a.png", Visibility: VisibleUser},
		&LocalFileInput{Path: "/tmp/a.txt", Name: Ptr("a.txt"), SizeBytes: Ptr[int64](3), MimeType: Ptr("text/plain"), Visibility: VisibleUser},
	} {
		add("input "+string(i.Type()), "PromptInput", i)
	}
	for _, mode := range []PermissionPolicy{
		{Mode: ModeAcceptEdits, Scope: ScopeWorkspace, Reviewer: ReviewerUser, Escalation: EscalateDeny},
		{Mode: ModeAuto, Scope: ScopeWorkspace, Reviewer: ReviewerAutomatic, Escalation: EscalateAsk},
		{Mode: ModeFull, Scope: ScopeFull},
	} {
		add("permission "+string(mode.Mode), "", mode)
	}
	for _, s := range sampleSubjects() {
		add("interaction approval of "+string(s.Kind()), "Interaction", &Approval{Subject: s, Reason: "needed", Decisions: []DecisionKind{AllowOnce, AllowForSession, Deny}})
	}
	add("interaction question", "Interaction", sampleQuestions())
	add("interaction of a plugin", "Interaction", &OpenInteraction{Name: "echo/permission", Title: "Pick", Data: raw(`{"options":["a"]}`)})
	add("resolution allow_for_session", "Resolution", &Decision{Kind: AllowForSession, Granted: &GrantProfile{Network: &NetworkGrant{Enabled: Ptr(true)}}})
	add("resolution deny", "Resolution", &Decision{Kind: Deny})
	add("resolution answer", "Resolution", &Answers{Answers: map[string]Answer{"colour": {Selected: []string{"red"}}, "why": {FreeText: Ptr("I like it")}}})
	add("resolution submitted", "Resolution", &Submitted{Data: raw(`{"choice":"a"}`)})
	add("resolution interrupted", "Resolution", &InterruptedResolution{})
	add("provider declaration", "", sampleDeclaration())
	for _, e := range sampleErrors() {
		add("error "+e.Code.Name(), "Error", e)
	}
	return list
}

func sampleErrors() []*Error {
	return []*Error{
		{Code: InvalidParams, Message: "the value breaks the protocol", Issues: []Issue{{Path: "input[0].text", Code: IssueRequired, Message: "missing"}}},
		{Code: MethodNotFound, Message: "no such method"},
		{Code: BridgeError, Message: "signed out", Recovery: RecoverReauthenticate},
		{Code: NoActiveTurn, Message: "the turn is gone"},
		{Code: SessionNotRestorable, Message: "the session file is gone"},
		{Code: ForkCheckpointUnsupported, Message: "forks only at its end"},
		{Code: MissingExecutable, Message: "echo is not installed"},
		{Code: CapabilityNotAdvertised, Message: "threadRename is false"},
		{Code: ProtocolUnsupported, Message: "no common version", Versions: &Versions{Core: VersionRange{Min: 4, Max: 5}, Bridge: VersionRange{Min: 3, Max: 3}}},
		{Code: InteractionInterrupted, Message: "the thread stopped"},
	}
}

// wireOf returns the wire form of a sample.
func wireOf(value any) ([]byte, error) {
	e, ok := value.(*Error)
	if !ok {
		return Marshal(value)
	}
	return json.Marshal(struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{int(e.Code), e.Message, e.WireData()})
}
