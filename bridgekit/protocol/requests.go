package protocol

// The methods that core calls.
const (
	MethodInitialize         = "initialize"
	MethodModelList          = "model/list"
	MethodHealth             = "provider/health"
	MethodUsage              = "provider/usage"
	MethodInstallationStatus = "provider/installation/status"
	MethodInstallationRun    = "provider/installation/run"
	MethodSkillsDiscover     = "skills/discover"
	MethodSkillsConfigure    = "skills/configure"
	MethodThreadStart        = "thread/start"
	MethodThreadResume       = "thread/resume"
	MethodThreadFork         = "thread/fork"
	MethodThreadStop         = "thread/stop"
	MethodThreadDiscard      = "thread/discard"
	MethodThreadArchive      = "thread/archive"
	MethodThreadUnarchive    = "thread/unarchive"
	MethodThreadNameSet      = "thread/name/set"
	MethodThreadGoalSet      = "thread/goal/set"
	MethodThreadGoalClear    = "thread/goal/clear"
	MethodTurnStart          = "turn/start"
	MethodTurnSteer          = "turn/steer"
	MethodShutdown           = "shutdown"
)

// ProviderParams addresses a provider without a session: the params of model/list, provider/health, provider/usage and
// skills/discover.
type ProviderParams struct {
	ProviderID    string     `json:"providerId" rule:"nonempty"`
	Cwd           string     `json:"cwd" rule:"nonempty"`
	BridgeOptions JSONObject `json:"bridgeOptions"`
	Extra         Extra      `json:"-"`
}

// InstallationStatusParams asks how a provider's program is installed.
type InstallationStatusParams struct {
	ProviderParams
	CheckUpdates bool `json:"checkUpdates"` // ask the network for the latest version too
}

// InstallationRunParams asks for the command that installs or updates a provider's program.
type InstallationRunParams struct {
	ProviderParams
	Action InstallAction `json:"action"`
}

// ModelListResult answers model/list.
type ModelListResult struct {
	Models []ModelDecl `json:"models" rule:"unique=id"`
	Extra  Extra       `json:"-"`
}

// HealthResult answers provider/health.
type HealthResult struct {
	Health ProviderHealth `json:"health"`
	Extra  Extra          `json:"-"`
}

// UsageResult answers provider/usage.
type UsageResult struct {
	Usage ProviderUsage `json:"usage"`
	Extra Extra         `json:"-"`
}

// InstallationStatusResult answers provider/installation/status.
type InstallationStatusResult struct {
	Status InstallationStatus `json:"status"`
	Extra  Extra              `json:"-"`
}

// SkillsDiscoverResult answers skills/discover.
type SkillsDiscoverResult struct {
	Skills []DiscoveredSkill `json:"skills"`
	Extra  Extra             `json:"-"`
}

// SkillsConfigureParams stages skill directories for a thread.
type SkillsConfigureParams struct {
	ThreadID string      `json:"threadId" rule:"nonempty"`
	Roots    []SkillRoot `json:"roots" rule:"unique=id"`
	Extra    Extra       `json:"-"`
}

// ThreadRef addresses a session: the params of thread/discard, thread/archive, thread/unarchive and thread/goal/clear.
type ThreadRef struct {
	ThreadID         string `json:"threadId" rule:"nonempty"`
	ProviderThreadID string `json:"providerThreadId" rule:"nonempty"`
	Extra            Extra  `json:"-"`
}

// ThreadStopParams ends the open turn, or the session.
type ThreadStopParams struct {
	ThreadRef
	Intent StopIntent `json:"intent"`
}

// StopIntent is why a thread is stopped.
type StopIntent string

// The values of StopIntent.
const (
	Interrupt StopIntent = "interrupt" // the open turn settles before the result; the session stays
	Release   StopIntent = "release"   // an idle session is let go of
)

func (StopIntent) values() []string { return []string{"interrupt", "release"} }

// ThreadNameParams renames a session.
type ThreadNameParams struct {
	ThreadRef
	Title string `json:"title" rule:"nonblank"`
}

// ThreadGoalParams sets a session's goal.
type ThreadGoalParams struct {
	ThreadRef
	Goal string `json:"goal" rule:"nonblank"`
}

// TurnStartParams starts a turn. ClientRequestID comes back in the delta input.accepted.
type TurnStartParams struct {
	ThreadID         string           `json:"threadId" rule:"nonempty"`
	ProviderThreadID string           `json:"providerThreadId" rule:"nonempty"`
	Input            Inputs           `json:"input"` // may be empty only with an action
	ClientRequestID  string           `json:"clientRequestId" rule:"nonempty"`
	Options          ExecutionOptions `json:"options"`
	Actions          []Action         `json:"actions" rule:"unique"`
	Extra            Extra            `json:"-"`
}

// TurnSteerParams adds input to a session whose turn is open. TurnID is the bridge's own key of that turn.
type TurnSteerParams struct {
	TurnStartParams
	TurnID string `json:"turnId" rule:"nonempty"`
}

// ShutdownParams ends the bridge.
type ShutdownParams struct {
	GraceMs int64 `json:"graceMs" rule:"min=0"`
	Extra   Extra `json:"-"`
}
