package kernelapi

import (
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
)

// PluginInput names a plugin.
type PluginInput struct {
	ID string `json:"id" description:"The plugin's id"`
}

// ReloadInput names a plugin, or none for all.
type ReloadInput struct {
	ID string `json:"id,omitempty" description:"The plugin's id; all enabled plugins when omitted"`
}

// PluginInfo is a plugin of the composition.
type PluginInfo struct {
	ID      string         `json:"id"`
	Version string         `json:"version"`
	State   manifest.State `json:"state"`
	Summary string         `json:"summary"`
}

// PluginDetail is a plugin with all that is known of it.
type PluginDetail struct {
	ID       string         `json:"id"`
	Version  string         `json:"version"`
	State    manifest.State `json:"state"`
	Summary  string         `json:"summary"`
	Services []string       `json:"services"`
	Requires []string       `json:"requires"` // services of other plugins
	Problems []string       `json:"problems"`
	Config   []ConfigInfo   `json:"config"`
}

// ConfigInfo is a setting that a plugin declares.
type ConfigInfo struct {
	Key      string          `json:"key"`
	Value    json.RawMessage `json:"value"` // what holds: the set value, else the default, else null
	Source   ConfigSource    `json:"source"`
	Required bool            `json:"required"`
	Summary  string          `json:"summary"`
}

// ConfigSource says where a setting's value comes from.
type ConfigSource string

// The sources of a setting's value.
const (
	ConfigSet     ConfigSource = "set"
	ConfigDefault ConfigSource = "default"
	ConfigUnset   ConfigSource = "unset"
)

// Enum lists the sources, for the schema.
func (ConfigSource) Enum() []any { return []any{ConfigSet, ConfigDefault, ConfigUnset} }

// ListPlugins lists the plugins in composition order.
var ListPlugins = &kernelcontract.Query[kernelcontract.None, []PluginInfo]{
	Ref: "kernel/plugin.list", Summary: "List the plugins",
}

// ShowPlugin shows a plugin.
var ShowPlugin = &kernelcontract.Query[PluginInput, PluginDetail]{
	Ref: "kernel/plugin.show", Summary: "Show a plugin with its services, problems and settings",
	CLI: kernelcontract.CLI{Args: []string{"id"}},
}

// EnablePlugin puts a plugin back into the catalog.
var EnablePlugin = &kernelcontract.Mutation[PluginInput, PluginInfo]{
	Ref: "kernel/plugin.enable", Summary: "Put a plugin back into service",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Access: people, RenderText: renderPlugin,
}

// DisablePlugin takes a plugin out of the catalog and keeps its data.
var DisablePlugin = &kernelcontract.Mutation[PluginInput, PluginInfo]{
	Ref: "kernel/plugin.disable", Summary: "Take a plugin out of service and keep its data",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Access: people, RenderText: renderPlugin,
}

// ReloadPlugins gives a plugin, or all, a new life.
var ReloadPlugins = &kernelcontract.Mutation[ReloadInput, []PluginInfo]{
	Ref: "kernel/plugin.reload", Summary: "Set a plugin up again, or all of them",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Access: people,
}

// RemovePlugin takes a plugin out of the catalog and deletes its data.
var RemovePlugin = &kernelcontract.Mutation[PluginInput, PluginInfo]{
	Ref: "kernel/plugin.remove", Summary: "Take a plugin out of service and delete its data",
	CLI: kernelcontract.CLI{Args: []string{"id"}}, Access: people, Destructive: true, RenderText: renderPlugin,
}

func renderPlugin(p PluginInfo, _ kernelcontract.Render) string {
	return p.ID + " " + p.Version + " is " + string(p.State)
}

// Plugin runs the composition.
var Plugin = &kernelcontract.Service{
	ID: "kernel/plugin", Summary: "Manage plugins",
	Methods: []kernelcontract.Method{ListPlugins, ShowPlugin, EnablePlugin, DisablePlugin, ReloadPlugins, RemovePlugin},
}
