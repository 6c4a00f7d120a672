package protocol

// ModelDecl describes a model.
type ModelDecl struct {
	ID                    string   `json:"id" rule:"nonempty"`
	Label                 string   `json:"label" rule:"nonempty"`
	Description           string   `json:"description"`
	ReasoningLevels       []string `json:"reasoningLevels"`
	DefaultReasoningLevel string   `json:"defaultReasoningLevel" rule:"null"`
	ServiceTiers          []string `json:"serviceTiers"`
	IsDefault             bool     `json:"isDefault"` // the provider's default, with its DefaultReasoningLevel
	Extra                 Extra    `json:"-"`
}

// ProviderHealth says whether a provider can be used.
type ProviderHealth struct {
	Status                  HealthStatus `json:"status"`
	StatusMessage           *string      `json:"statusMessage"`
	AccountEmail            *string      `json:"accountEmail"`
	PlanLabel               *string      `json:"planLabel"`
	InstalledVersion        *string      `json:"installedVersion"`
	MinimumSupportedVersion *string      `json:"minimumSupportedVersion"`
	CanInstall              bool         `json:"canInstall"`
	CanUpdate               bool         `json:"canUpdate"`
	LoginCommand            *string      `json:"loginCommand"`
	Extra                   Extra        `json:"-"`
}

// HealthStatus is the state of a provider.
type HealthStatus string

// The values of HealthStatus.
const (
	HealthReady              HealthStatus = "ready"
	HealthNotInstalled       HealthStatus = "not_installed"
	HealthUnauthenticated    HealthStatus = "unauthenticated"
	HealthExpired            HealthStatus = "expired"
	HealthUnsupportedVersion HealthStatus = "unsupported_version"
	HealthUnknown            HealthStatus = "unknown"
)

func (HealthStatus) values() []string {
	return []string{"ready", "not_installed", "unauthenticated", "expired", "unsupported_version", "unknown"}
}

// ProviderUsage is how much of an account's quota is used. Windows belong to ok, Message to error, AccountEmail and
// PlanLabel to both; the other states carry nothing else.
type ProviderUsage struct {
	Status       UsageStatus   `json:"status"`
	AccountEmail *string       `json:"accountEmail" rule:"when=status:ok|error"`
	PlanLabel    *string       `json:"planLabel" rule:"when=status:ok|error"`
	Windows      []UsageWindow `json:"windows" rule:"when=status:ok"`
	Message      string        `json:"message" rule:"when=status:error"`
	Extra        Extra         `json:"-"`
}

// UsageStatus is whether usage could be read.
type UsageStatus string

// The values of UsageStatus.
const (
	UsageOK              UsageStatus = "ok"
	UsageNotInstalled    UsageStatus = "not_installed"
	UsageUnauthenticated UsageStatus = "unauthenticated"
	UsageExpired         UsageStatus = "expired"
	UsageError           UsageStatus = "error"
)

func (UsageStatus) values() []string {
	return []string{"ok", "not_installed", "unauthenticated", "expired", "error"}
}

// UsageWindow is a window of a quota. ResetsAt is a time as text.
type UsageWindow struct {
	Label       string      `json:"label"`
	UsedPercent float64     `json:"usedPercent"`
	ResetsAt    *string     `json:"resetsAt"`
	Cost        *WindowCost `json:"cost"`
	Extra       Extra       `json:"-"`
}

// WindowCost is the money side of a usage window, in US cents.
type WindowCost struct {
	UsedUSDCents  float64 `json:"usedUsdCents"`
	LimitUSDCents float64 `json:"limitUsdCents"`
	Extra         Extra   `json:"-"`
}

// InstallationStatus says how a provider's program is installed.
type InstallationStatus struct {
	ExecutableName          string             `json:"executableName" rule:"nonempty"`
	ExecutablePath          *string            `json:"executablePath"`
	Installed               bool               `json:"installed"`
	InstallSource           InstallSource      `json:"installSource"`
	CurrentVersion          *string            `json:"currentVersion"`
	LatestVersion           *string            `json:"latestVersion"`
	MinimumSupportedVersion *string            `json:"minimumSupportedVersion"`
	NpmPackageName          *string            `json:"npmPackageName"`
	NpmGlobalPackageVersion *string            `json:"npmGlobalPackageVersion"`
	InstallAction           *InstallActionInfo `json:"installAction"`
	NeedsUpdate             bool               `json:"needsUpdate"`
	VersionUnsupported      bool               `json:"versionUnsupported"`
	Extra                   Extra              `json:"-"`
}

// InstallSource is how a program was installed.
type InstallSource string

// The values of InstallSource.
const (
	SourceNotInstalled InstallSource = "notInstalled"
	SourceNpmGlobal    InstallSource = "npmGlobal"
	SourceExternal     InstallSource = "external"
)

func (InstallSource) values() []string { return []string{"notInstalled", "npmGlobal", "external"} }

// InstallAction is what an installation command does.
type InstallAction string

// The values of InstallAction.
const (
	ActionInstall InstallAction = "install"
	ActionUpdate  InstallAction = "update"
)

func (InstallAction) values() []string { return []string{"install", "update"} }

// InstallActionInfo is an action that is offered; Label is Install or Update, as Kind says.
type InstallActionInfo struct {
	Kind    InstallAction `json:"kind"`
	Label   string        `json:"label" rule:"enum=Install|Update"`
	Command string        `json:"command" rule:"nonempty"`
	Extra   Extra         `json:"-"`
}

// InstallationRunResult answers provider/installation/run. Core runs the command and verifies what it did. Message
// belongs to unavailable, Command and Verification to available.
type InstallationRunResult struct {
	Available    bool                 `json:"available"`
	Message      string               `json:"message" rule:"when=available:false"`
	Command      *InstallCommand      `json:"command" rule:"notnull,when=available:true"`
	Verification *InstallVerification `json:"verification" rule:"notnull,when=available:true"`
	Extra        Extra                `json:"-"`
}

// InstallCommand is a program with its arguments.
type InstallCommand struct {
	Command        string   `json:"command" rule:"nonempty"`
	Args           []string `json:"args" rule:"max=installArgs"`
	DisplayCommand string   `json:"displayCommand" rule:"nonempty"`
	Extra          Extra    `json:"-"`
}

// InstallVerification says how core checks that an installation worked. PreviousVersion belongs to version_changed,
// Version to version_at_least.
type InstallVerification struct {
	Kind            VerificationKind `json:"kind"`
	PreviousVersion string           `json:"previousVersion" rule:"when=kind:version_changed"`
	Version         string           `json:"version" rule:"when=kind:version_at_least"`
	Extra           Extra            `json:"-"`
}

// VerificationKind is how an installation is checked.
type VerificationKind string

// The values of VerificationKind.
const (
	VerifyInstalled      VerificationKind = "installed"
	VerifyVersionChanged VerificationKind = "version_changed"
	VerifyVersionAtLeast VerificationKind = "version_at_least"
)

func (VerificationKind) values() []string {
	return []string{"installed", "version_changed", "version_at_least"}
}

// RateLimitState is how much of a provider's quota is left. ResetsAt is set when a quota is used up: together with an
// error of category rate_limit that settles the turn, it lets core try again then. It is strict, as part of a delta.
type RateLimitState struct {
	Status        RateLimitStatus   `json:"status"`
	Kind          RateLimitKind     `json:"kind"`
	Windows       []RateLimitWindow `json:"windows"`
	ResetsAt      *float64          `json:"resetsAt"` // milliseconds since 1970
	ReachedReason *string           `json:"reachedReason"`
	OverageStatus OverageStatus     `json:"overageStatus" rule:"null"`
	OverageReason *string           `json:"overageReason"`
}

// RateLimitWindow is one window of a quota.
type RateLimitWindow struct {
	ProviderKey *string         `json:"providerKey"`
	Label       *string         `json:"label"`
	Status      RateLimitStatus `json:"status"`
	ResetsAtMs  *float64        `json:"resetsAtMs"` // milliseconds since 1970
}

// RateLimitStatus is the state of a quota.
type RateLimitStatus string

// The values of RateLimitStatus.
const (
	LimitAllowed RateLimitStatus = "allowed"
	LimitWarning RateLimitStatus = "warning"
	LimitBlocked RateLimitStatus = "blocked"
	LimitUnknown RateLimitStatus = "unknown"
)

func (RateLimitStatus) values() []string { return []string{"allowed", "warning", "blocked", "unknown"} }

// RateLimitKind is what kind of quota it is.
type RateLimitKind string

// The values of RateLimitKind.
const (
	LimitSubscription RateLimitKind = "subscription-window"
	LimitCredits      RateLimitKind = "credits"
	LimitSpend        RateLimitKind = "spend-control"
	LimitKindUnknown  RateLimitKind = "unknown"
)

func (RateLimitKind) values() []string {
	return []string{"subscription-window", "credits", "spend-control", "unknown"}
}

// OverageStatus says whether use beyond the quota is possible; "" (null) is unknown.
type OverageStatus string

// The values of OverageStatus.
const (
	OverageAllowed     OverageStatus = "allowed"
	OverageWarning     OverageStatus = "warning"
	OverageRejected    OverageStatus = "rejected"
	OverageUnavailable OverageStatus = "unavailable"
)

func (OverageStatus) values() []string {
	return []string{"allowed", "warning", "rejected", "unavailable"}
}
