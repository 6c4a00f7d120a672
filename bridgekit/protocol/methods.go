package protocol

import "reflect"

// MethodSpec describes a method that core calls.
type MethodSpec struct {
	Method   string
	Required bool       // every bridge has a handler for it
	Provider bool       // its params carry providerId
	Params   func() any // a pointer to new params
	Result   func() any // a pointer to a new result
	// Advertised tells whether a bridge with the declaration and the capabilities answers the method. Without, core does
	// not call it, and the bridge answers CapabilityNotAdvertised.
	Advertised func(*ProviderDeclaration, *Capabilities) bool
}

func always(*ProviderDeclaration, *Capabilities) bool { return true }

func fresh[T any]() any { return new(T) }

// CoreToBridge returns the methods that core calls.
func CoreToBridge() []MethodSpec {
	return []MethodSpec{
		{MethodInitialize, true, false, fresh[InitializeParams], fresh[InitializeResult], always},
		{MethodModelList, false, true, fresh[ProviderParams], fresh[ModelListResult],
			func(d *ProviderDeclaration, _ *Capabilities) bool { return d.Models.Catalog == CatalogBridge }},
		{MethodHealth, false, true, fresh[ProviderParams], fresh[HealthResult],
			func(d *ProviderDeclaration, _ *Capabilities) bool { return d.Maintenance.Health }},
		{MethodUsage, false, true, fresh[ProviderParams], fresh[UsageResult],
			func(d *ProviderDeclaration, _ *Capabilities) bool { return d.Maintenance.Usage }},
		{MethodInstallationStatus, false, true, fresh[InstallationStatusParams], fresh[InstallationStatusResult],
			func(d *ProviderDeclaration, _ *Capabilities) bool { return d.Maintenance.Installation }},
		{MethodInstallationRun, false, true, fresh[InstallationRunParams], fresh[InstallationRunResult],
			func(d *ProviderDeclaration, _ *Capabilities) bool { return d.Maintenance.Installation }},
		{MethodSkillsDiscover, false, true, fresh[ProviderParams], fresh[SkillsDiscoverResult],
			func(d *ProviderDeclaration, _ *Capabilities) bool { return d.Skills.Discover }},
		{MethodSkillsConfigure, false, false, fresh[SkillsConfigureParams], fresh[Empty],
			func(d *ProviderDeclaration, _ *Capabilities) bool { return d.Skills.Configure }},
		{MethodThreadStart, true, true, fresh[SessionParams], fresh[SessionIdentity], always},
		{MethodThreadResume, false, true, fresh[ResumeParams], fresh[SessionIdentity],
			func(_ *ProviderDeclaration, c *Capabilities) bool { return c.SessionRestore }},
		{MethodThreadFork, false, true, fresh[ForkParams], fresh[SessionIdentity],
			func(_ *ProviderDeclaration, c *Capabilities) bool {
				return c.Fork == ForkTip || c.Fork == ForkCheckpoint
			}},
		{MethodThreadStop, true, false, fresh[ThreadStopParams], fresh[Empty], always},
		{MethodThreadDiscard, true, false, fresh[ThreadRef], fresh[Empty], always},
		{MethodThreadArchive, false, false, fresh[ThreadRef], fresh[Empty],
			func(_ *ProviderDeclaration, c *Capabilities) bool { return c.ThreadArchive }},
		{MethodThreadUnarchive, false, false, fresh[ThreadRef], fresh[Empty],
			func(_ *ProviderDeclaration, c *Capabilities) bool { return c.ThreadArchive }},
		{MethodThreadNameSet, false, false, fresh[ThreadNameParams], fresh[Empty],
			func(_ *ProviderDeclaration, c *Capabilities) bool { return c.ThreadRename }},
		{MethodThreadGoalSet, false, false, fresh[ThreadGoalParams], fresh[Empty],
			func(_ *ProviderDeclaration, c *Capabilities) bool { return c.ThreadGoal }},
		{MethodThreadGoalClear, false, false, fresh[ThreadRef], fresh[Empty],
			func(_ *ProviderDeclaration, c *Capabilities) bool { return c.ThreadGoal }},
		{MethodTurnStart, true, false, fresh[TurnStartParams], fresh[Empty], always},
		{MethodTurnSteer, false, false, fresh[TurnSteerParams], fresh[Empty],
			func(_ *ProviderDeclaration, c *Capabilities) bool {
				return c.Steer == SteerQueue || c.Steer == SteerNative
			}},
		{MethodShutdown, true, false, fresh[ShutdownParams], fresh[Empty], always},
	}
}

// SpecOf returns the description of a method that core calls; false for any other name.
func SpecOf(method string) (MethodSpec, bool) {
	for _, s := range CoreToBridge() {
		if s.Method == method {
			return s, true
		}
	}
	return MethodSpec{}, false
}

// message is a request or notification that a bridge sends.
type message struct {
	method string
	params reflect.Type
	result reflect.Type // nil: a notification
}

// bridgeToCore returns what a bridge sends.
func bridgeToCore() []message {
	return []message{
		{MethodToolCall, reflect.TypeFor[ToolCallParams](), reflect.TypeFor[ToolResult]()},
		{MethodInteractionRequest, reflect.TypeFor[InteractionParams](), reflect.TypeFor[Resolution]()},
		{MethodThreadDelta, reflect.TypeFor[DeltaParams](), nil},
		{MethodThreadIdentity, reflect.TypeFor[IdentityParams](), nil},
		{MethodSessionReplaced, reflect.TypeFor[ReplacedParams](), nil},
		{MethodProviderRecovery, reflect.TypeFor[RecoveryParams](), nil},
		{MethodInteractionWithdrawn, reflect.TypeFor[WithdrawnParams](), nil},
		{MethodProviderRaw, reflect.TypeFor[RawParams](), nil},
		{MethodBridgeLog, reflect.TypeFor[LogParams](), nil},
	}
}

// rootTypes returns the types from which every type of the protocol is reached.
func rootTypes() []reflect.Type {
	list := []reflect.Type{
		reflect.TypeFor[ProviderDeclaration](), reflect.TypeFor[Versions](), reflect.TypeFor[ToolCall](),
		reflect.TypeFor[Delta](), reflect.TypeFor[Item](), reflect.TypeFor[PromptInput](), reflect.TypeFor[Subject](),
		reflect.TypeFor[CommandAction](), reflect.TypeFor[Interaction](), reflect.TypeFor[Resolution](),
	}
	for _, s := range CoreToBridge() {
		list = append(list, reflect.TypeOf(s.Params()).Elem(), reflect.TypeOf(s.Result()).Elem())
	}
	for _, m := range bridgeToCore() {
		list = append(list, m.params)
		if m.result != nil {
			list = append(list, m.result)
		}
	}
	return list
}
