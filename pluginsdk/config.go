package pluginsdk

import (
	"context"
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Missing is one thing that has to be set before a call can work: an element of Details "missing" of a
// kernelcontract.NeedsConfiguration error.
type Missing struct {
	Key string `json:"key"`
	How string `json:"how"` // the command that sets it
}

// Config decodes the setting of a declared key into v, a pointer: the value that was set, else the default. Without
// either the error is kernelcontract.NeedsConfiguration, which lists every required setting that is missing and how to
// set it: return it as it is. Settings may change while the plugin runs; each call reads the present value.
func (h *Host) Config(ctx context.Context, key string, v any) error {
	k, ok := h.plugin.configKey(key)
	if !ok {
		return kernelcontract.Internal.Errorf("plugin %s reads the config key %q: declare it in Plugin.Config", h.plugin.ID, key)
	}
	raw, set, err := h.setting(ctx, key)
	if err != nil {
		return err
	}
	if !set {
		if k.Default == nil {
			return h.missing(ctx, key)
		}
		if raw, err = json.Marshal(k.Default); err != nil {
			return kernelcontract.Internal.Errorf("the default of the config key %s: %w", key, err)
		}
	}
	if err := json.Unmarshal(raw, v); err != nil {
		e := kernelcontract.NeedsConfiguration.Errorf("the setting %s of plugin %s has a value that does not fit: %s", key, h.plugin.ID, err)
		e.Details = map[string]any{"missing": []Missing{h.howTo(key)}}
		return e.WithCause(err)
	}
	return nil
}

// Secret returns a secret of the installation. Without it the error is kernelcontract.NeedsConfiguration, which says
// how to set it: return it as it is. Ask for a secret when it is used, and never log it.
func (h *Host) Secret(ctx context.Context, name string) (string, error) {
	if h.backend.Secret != nil {
		value, set, err := h.backend.Secret(ctx, name)
		if err != nil || set {
			return value, err
		}
	}
	e := kernelcontract.NeedsConfiguration.Errorf("plugin %s needs the secret %s: bb secret set %s", h.plugin.ID, name, name)
	e.Details = map[string]any{"missing": []Missing{{Key: name, How: "bb secret set " + name}}}
	return "", e
}

func (h *Host) setting(ctx context.Context, key string) (json.RawMessage, bool, error) {
	if h.backend.Config == nil {
		return nil, false, nil
	}
	return h.backend.Config(ctx, key)
}

// missing returns the error for an unset key, with every other required one that is unset too.
func (h *Host) missing(ctx context.Context, key string) error {
	list := []Missing{h.howTo(key)}
	for _, k := range h.plugin.Config {
		if !k.Required || k.Key == key {
			continue
		}
		if _, set, err := h.setting(ctx, k.Key); err == nil && !set {
			list = append(list, h.howTo(k.Key))
		}
	}
	e := kernelcontract.NeedsConfiguration.Errorf("plugin %s needs the setting %s: %s", h.plugin.ID, key, list[0].How)
	e.Details = map[string]any{"missing": list}
	return e
}

func (h *Host) howTo(key string) Missing {
	return Missing{Key: key, How: "bb plugin config set " + h.plugin.ID + " " + key + " <value>"}
}

func (p *Plugin) configKey(key string) (ConfigKey, bool) {
	for _, k := range p.Config {
		if k.Key == key {
			return k, true
		}
	}
	return ConfigKey{}, false
}
