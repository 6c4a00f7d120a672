package kernelapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

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
	Source  PluginSource   `json:"source"`
	Summary string         `json:"summary"`
}

// PluginSource says where a plugin comes from.
type PluginSource string

// The sources of plugins.
const (
	BuiltIn   PluginSource = "built-in"  // compiled into the server
	Installed PluginSource = "installed" // a program of its own
)

// Enum lists the sources, for the schema.
func (PluginSource) Enum() []any { return []any{BuiltIn, Installed} }

// InstallInput names what was uploaded.
type InstallInput struct {
	UploadID string `json:"uploadId" description:"What /internal/uploads answered; on the command line the folder, .tar.gz or .zip itself"`
}

// LogsInput says which lines of a plugin's log are wanted.
type LogsInput struct {
	ID     string `json:"id" description:"The plugin's id"`
	Limit  int    `json:"limit,omitempty" default:"100" minimum:"1" maximum:"1000" description:"At most so many of the last lines"`
	Follow bool   `json:"follow,omitempty" description:"Go on with the lines that come"`
}

// LogLine is a record of a plugin's log.
type LogLine struct {
	Seq     uint64                     `json:"seq"` // counts from 1
	Time    time.Time                  `json:"time"`
	Level   string                     `json:"level"` // debug, info, warn or error
	Message string                     `json:"message"`
	Attrs   map[string]json.RawMessage `json:"attrs"`
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
	Source   PluginSource   `json:"source"`
	Restarts uint64         `json:"restarts"` // of its program, after it had ended by itself
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

// InstallPlugin installs an uploaded plugin, or a new version of one.
var InstallPlugin = &kernelcontract.Mutation[InstallInput, PluginInfo]{
	Ref: "kernel/plugin.install", Summary: "Install a plugin that is a program of its own, or a new version of it",
	Description: "The archive holds a `contract.json` and the program. It is checked without running anything; then the plugin is set up, and only when that works it takes the place of the version before. Otherwise that one runs on.",
	CLI:         kernelcontract.CLI{Args: []string{"uploadId"}, Flags: map[string]kernelcontract.Flag{"uploadId": {Placeholder: "folder|archive", Format: "path"}}},
	Access:      people, RenderText: renderPlugin, Wait: 2 * time.Minute,
}

// PluginLogs shows what a plugin has logged.
var PluginLogs = &kernelcontract.Stream[LogsInput, LogLine]{
	Ref: "kernel/plugin.logs", Summary: "Show the log of a plugin",
	CLI:        kernelcontract.CLI{Args: []string{"id"}, Flags: map[string]kernelcontract.Flag{"follow": {Short: "f"}, "limit": {Short: "n"}}},
	Access:     people,
	Cursor:     func(l LogLine) string { return strconv.FormatUint(l.Seq, 10) },
	RenderText: renderLine,
}

func renderLine(l LogLine, _ kernelcontract.Render) string {
	text := l.Time.UTC().Format("2006-01-02 15:04:05.000Z") + " " + fmt.Sprintf("%-5s", l.Level) + " " + l.Message
	for _, name := range slices.Sorted(maps.Keys(l.Attrs)) {
		if name != "plugin" { // it is asked for
			text += " " + name + "=" + string(l.Attrs[name])
		}
	}
	return text
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
	Methods: []kernelcontract.Method{ListPlugins, ShowPlugin, InstallPlugin, EnablePlugin, DisablePlugin, ReloadPlugins, RemovePlugin, PluginLogs},
}
