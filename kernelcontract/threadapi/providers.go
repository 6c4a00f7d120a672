package threadapi

import (
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract"
)

// ProviderState says whether a provider's bridge works.
type ProviderState string

// The values of ProviderState.
const (
	ProviderStopped  ProviderState = "stopped"  // no bridge runs; the next use starts one
	ProviderRunning  ProviderState = "running"  // a bridge runs
	ProviderBackoff  ProviderState = "backoff"  // the bridge died and is started again soon
	ProviderDegraded ProviderState = "degraded" // see Problem
)

// Enum lists the states.
func (ProviderState) Enum() []any {
	return []any{ProviderStopped, ProviderRunning, ProviderBackoff, ProviderDegraded}
}

// Provider is something that runs agents.
type Provider struct {
	ID              string        `json:"id"`
	DisplayName     string        `json:"displayName"`
	PluginID        string        `json:"pluginId"`
	Icon            string        `json:"icon"`
	State           ProviderState `json:"state"`
	Problem         string        `json:"problem,omitempty"`
	Installed       *bool         `json:"installed"` // null: not known
	Threads         int           `json:"threads"`   // with a live session
	Restarts        int           `json:"restarts"`
	PermissionModes []Mode        `json:"permissionModes"`
	Actions         []Action      `json:"actions"`
	Capabilities    Capabilities  `json:"capabilities"`
}

// Capabilities are what a provider's agents can do.
type Capabilities struct {
	SessionRestore     bool   `json:"sessionRestore"`
	ThreadArchive      bool   `json:"threadArchive"`
	ThreadRename       bool   `json:"threadRename"`
	ThreadGoal         bool   `json:"threadGoal"`
	Fork               string `json:"fork" enum:"none,tip,checkpoint"`
	ApprovalEnforcedBy string `json:"approvalEnforcedBy" enum:"runtime,provider"`
	Steer              string `json:"steer" enum:"none,queue,native"`
}

// ProviderInput names a provider.
type ProviderInput struct {
	ID string `json:"id" minLength:"1" maxLength:"64" description:"The id of the provider"`
}

// ListProvidersInput says which providers to list.
type ListProvidersInput struct {
	All bool `json:"all,omitempty" description:"Also those whose agent is not installed"`
}

// ModelsInput says whose models to list.
type ModelsInput struct {
	ID      string `json:"id" minLength:"1" maxLength:"64" description:"The id of the provider"`
	Cwd     string `json:"cwd,omitempty" maxLength:"4096" description:"The directory that the agent would work in"`
	Refresh bool   `json:"refresh,omitempty" description:"Ask the agent again instead of using what it said within the last ten minutes"`
}

// Model is a model that a provider offers.
type Model struct {
	ID                    string   `json:"id"`
	Label                 string   `json:"label"`
	Description           string   `json:"description"`
	ReasoningLevels       []string `json:"reasoningLevels"`
	DefaultReasoningLevel string   `json:"defaultReasoningLevel,omitempty"`
	ServiceTiers          []string `json:"serviceTiers"`
	IsDefault             bool     `json:"isDefault"`
}

// Health is how a provider's agent is.
type Health struct {
	Status           string `json:"status" enum:"ready,not_installed,unauthenticated,expired,unsupported_version,unknown"`
	Message          string `json:"message,omitempty"`
	AccountEmail     string `json:"accountEmail,omitempty"`
	Plan             string `json:"plan,omitempty"`
	InstalledVersion string `json:"installedVersion,omitempty"`
	MinimumVersion   string `json:"minimumVersion,omitempty"`
	CanInstall       bool   `json:"canInstall"`
	CanUpdate        bool   `json:"canUpdate"`
	LoginCommand     string `json:"loginCommand,omitempty"`
	Hint             string `json:"hint,omitempty"` // what to do next
}

// InstallationStatusInput says whose installation to look at.
type InstallationStatusInput struct {
	ID           string `json:"id" minLength:"1" maxLength:"64" description:"The id of the provider"`
	CheckUpdates bool   `json:"checkUpdates,omitempty" description:"Ask the network for the latest version too"`
}

// InstallInput says what to install.
type InstallInput struct {
	ID     string `json:"id" minLength:"1" maxLength:"64" description:"The id of the provider"`
	Action string `json:"action,omitempty" enum:"install,update" default:"install" description:"Install the agent, or bring it up to date"`
}

// InstallOutput is a piece of what an installation prints; the last one has Done. A failure ends the stream with an error too.
type InstallOutput struct {
	Text    string `json:"text,omitempty"`
	Command string `json:"command,omitempty"` // what is run, in the first piece
	Done    bool   `json:"done"`
	OK      bool   `json:"ok"` // with Done: the result was verified
}

// Errors of providers.
const (
	// ProviderUnavailable says that a thread's provider is gone, or its bridge does not start.
	ProviderUnavailable kernelcontract.Code = "provider_unavailable"
	// Unsupported says that the provider cannot do what was asked for.
	Unsupported kernelcontract.Code = "unsupported"
)

var providerErrors = map[kernelcontract.Code]kernelcontract.ErrorDef{
	ProviderUnavailable: {Like: kernelcontract.ServiceUnavailable, Description: "The provider's plugin is gone or its bridge does not start; the message says what to do.", Retryable: true},
	Unsupported:         {Like: kernelcontract.Precondition, Description: "The provider's agent cannot do this."},
}

// ListProviders lists providers.
var ListProviders = &kernelcontract.Query[ListProvidersInput, []Provider]{
	Ref: "providers/providers.list", Summary: "List the providers of agents", RenderText: renderProviders,
}

// GetProvider returns a provider.
var GetProvider = &kernelcontract.Query[ProviderInput, Provider]{
	Ref: "providers/providers.get", Summary: "Show a provider",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, RenderText: renderProvider,
}

// Models lists the models of a provider.
var Models = &kernelcontract.Query[ModelsInput, []Model]{
	Ref: "providers/providers.models", Summary: "List the models of a provider",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Ambient: map[string]kernelcontract.ContextKey{"cwd": kernelcontract.CWD},
	Errors: providerErrors, RenderText: renderModels,
}

// GetHealth says how a provider's agent is.
var GetHealth = &kernelcontract.Query[ProviderInput, Health]{
	Ref: "providers/providers.health", Summary: "Say how a provider's agent is",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Errors: providerErrors, RenderText: renderHealth,
}

// GetUsage says how much of a provider's quota is used.
var GetUsage = &kernelcontract.Query[ProviderInput, json.RawMessage]{
	Ref: "providers/providers.usage", Summary: "Say how much of a provider's quota is used",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Errors: providerErrors,
}

// InstallationStatus says how a provider's agent is installed.
var InstallationStatus = &kernelcontract.Query[InstallationStatusInput, json.RawMessage]{
	Ref: "providers/providers.installationStatus", Summary: "Say how a provider's agent is installed",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Errors: providerErrors,
}

// Install installs a provider's agent, or brings it up to date, and yields what that prints.
var Install = &kernelcontract.Stream[InstallInput, InstallOutput]{
	Ref: "providers/providers.install", Summary: "Install a provider's agent", Access: people,
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Errors: providerErrors, RenderText: renderInstall,
}

// Restart ends a provider's bridge, so that the next use starts a fresh one. Open turns are interrupted.
var Restart = &kernelcontract.Mutation[ProviderInput, Provider]{
	Ref: "providers/providers.restart", Summary: "Restart a provider's bridge", Access: people,
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Errors: providerErrors, RenderText: renderProvider,
}

// Providers are what runs agents.
var Providers = &kernelcontract.Service{
	ID: "providers/providers", Summary: "Look after the providers of agents", Group: []string{"provider"},
	Methods: []kernelcontract.Method{ListProviders, GetProvider, Models, GetHealth, GetUsage, InstallationStatus, Install, Restart},
}
