package kernelapi

import (
	"encoding/json"
	"errors"

	"github.com/bb-kernel/bb/kernelcontract"
)

// ConfigKeyInput names a setting.
type ConfigKeyInput struct {
	ID  string `json:"id" description:"The plugin's id"`
	Key string `json:"key" description:"The setting"`
}

// ConfigSetInput names a setting and its value.
type ConfigSetInput struct {
	ID    string `json:"id" description:"The plugin's id"`
	Key   string `json:"key" description:"The setting"`
	Value Value  `json:"value" description:"The value as JSON; a word that is not JSON is a string"`
}

// Value is any JSON value but null, as it came.
type Value json.RawMessage

// MarshalJSON returns the value.
func (v Value) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return nil, errors.New("kernelapi: an empty Value")
	}
	return v, nil
}

// UnmarshalJSON keeps a copy of the value.
func (v *Value) UnmarshalJSON(raw []byte) error {
	*v = append(Value{}, raw...)
	return nil
}

// JSONSchemaOneOf lists what a value can be.
func (Value) JSONSchemaOneOf() []any {
	return []any{"", float64(0), false, []any{}, map[string]any{}}
}

// GetConfig returns a setting.
var GetConfig = &kernelcontract.Query[ConfigKeyInput, ConfigInfo]{
	Ref: "kernel/config.get", Summary: "Show a setting of a plugin",
	CLI: kernelcontract.CLI{Args: []string{"id", "key"}},
}

// SetConfig sets a setting. The plugin reads it at its next use, at the latest when it is reloaded.
var SetConfig = &kernelcontract.Mutation[ConfigSetInput, ConfigInfo]{
	Ref: "kernel/config.set", Summary: "Set a setting of a plugin",
	CLI: kernelcontract.CLI{Args: []string{"id", "key", "value"}}, Access: people,
}

// UnsetConfig takes a setting back to its default.
var UnsetConfig = &kernelcontract.Mutation[ConfigKeyInput, ConfigInfo]{
	Ref: "kernel/config.unset", Summary: "Take a setting of a plugin back to its default",
	CLI: kernelcontract.CLI{Args: []string{"id", "key"}}, Access: people,
}

// Config keeps the settings of plugins.
var Config = &kernelcontract.Service{
	ID: "kernel/config", Summary: "Configure plugins", Group: []string{"plugin", "config"},
	Methods: []kernelcontract.Method{GetConfig, SetConfig, UnsetConfig},
}
