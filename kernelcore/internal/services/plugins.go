package services

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore/internal/pluginlog"
	"github.com/bb-kernel/bb/pluginsdk"
)

func info(p *Plugin) kernelapi.PluginInfo {
	return kernelapi.PluginInfo{ID: p.ID, Version: p.Version, State: p.State, Summary: p.Summary, Source: p.Source}
}

func (a *answers) listPlugins(context.Context, kernelcontract.None) ([]kernelapi.PluginInfo, error) {
	s := a.Snapshot()
	list := make([]kernelapi.PluginInfo, len(s.Plugins))
	for i := range s.Plugins {
		list[i] = info(&s.Plugins[i])
	}
	return list, nil
}

func (a *answers) showPlugin(ctx context.Context, in kernelapi.PluginInput) (kernelapi.PluginDetail, error) {
	s := a.Snapshot()
	p, err := s.plugin(in.ID)
	if err != nil {
		return kernelapi.PluginDetail{}, err
	}
	d := kernelapi.PluginDetail{
		ID: p.ID, Version: p.Version, State: p.State, Summary: p.Summary,
		Source: p.Source, Restarts: a.Restarts()[p.ID],
		Services: []string{}, Requires: orEmpty(p.Requires), Problems: []string{}, Config: []kernelapi.ConfigInfo{},
	}
	for _, svc := range p.Services {
		d.Services = append(d.Services, svc.ID())
	}
	for _, problem := range s.Problems {
		if problem.PluginID == p.ID {
			d.Problems = append(d.Problems, problem.Message)
		}
	}
	for _, key := range p.Config {
		c, err := a.configInfo(ctx, p.ID, key)
		if err != nil {
			return kernelapi.PluginDetail{}, err
		}
		d.Config = append(d.Config, c)
	}
	return d, nil
}

// changed runs a change and returns what became of the plugin.
func (a *answers) changed(ctx context.Context, id string, change func(context.Context, string) error) (kernelapi.PluginInfo, error) {
	if err := change(ctx, id); err != nil {
		return kernelapi.PluginInfo{}, err
	}
	s := a.Snapshot()
	p, err := s.plugin(id)
	if err != nil {
		return kernelapi.PluginInfo{}, err
	}
	return info(p), nil
}

func (a *answers) installPlugin(ctx context.Context, in kernelapi.InstallInput) (out kernelapi.PluginInfo, err error) {
	owner := kernelcontract.CallFrom(ctx).Principal.Actor
	err = a.Uploads.Use(in.UploadID, owner, func(path string) error {
		id, err := a.Install(ctx, path)
		if err != nil {
			return err
		}
		out, err = a.changed(ctx, id, func(context.Context, string) error { return nil })
		return err
	})
	return out, err
}

// pluginLogs yields the last lines of a plugin's log, or those behind a cursor, and then those that come.
func (a *answers) pluginLogs(ctx context.Context, in kernelapi.LogsInput) (iter.Seq2[kernelapi.LogLine, error], error) {
	s := a.Snapshot()
	if _, err := s.plugin(in.ID); err != nil {
		return nil, err
	}
	var since uint64
	if cursor := kernelcontract.CallFrom(ctx).Since; cursor != "" {
		var err error
		if since, err = strconv.ParseUint(cursor, 10, 64); err != nil {
			return nil, kernelcontract.InvalidInput.Errorf("the cursor %.100q is not that of a line", cursor)
		}
	}
	log := a.Log(in.ID)
	return func(yield func(kernelapi.LogLine, error) bool) {
		lines, more := log.After(since)
		if since == 0 && len(lines) > in.Limit {
			lines = lines[len(lines)-in.Limit:]
		}
		for {
			for _, l := range lines {
				since = l.Seq
				if !yield(logLine(l), nil) {
					return
				}
			}
			if !in.Follow {
				return
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
			lines, more = log.After(since)
		}
	}, nil
}

func logLine(l pluginlog.Line) kernelapi.LogLine {
	out := kernelapi.LogLine{Seq: l.Seq, Time: l.Time, Level: strings.ToLower(l.Level.String()), Message: l.Message, Attrs: map[string]json.RawMessage{}}
	if l.Attrs != nil {
		_ = json.Unmarshal(l.Attrs, &out.Attrs) // it was written as an object
	}
	return out
}

func (a *answers) enablePlugin(ctx context.Context, in kernelapi.PluginInput) (kernelapi.PluginInfo, error) {
	return a.changed(ctx, in.ID, a.Enable)
}

func (a *answers) disablePlugin(ctx context.Context, in kernelapi.PluginInput) (kernelapi.PluginInfo, error) {
	return a.changed(ctx, in.ID, a.Disable)
}

func (a *answers) removePlugin(ctx context.Context, in kernelapi.PluginInput) (kernelapi.PluginInfo, error) {
	s := a.Snapshot()
	before, err := s.plugin(in.ID)
	if err != nil {
		return kernelapi.PluginInfo{}, err
	}
	if err := a.Remove(ctx, in.ID); err != nil {
		return kernelapi.PluginInfo{}, err
	}
	out := info(before) // an installed one is not listed any more
	out.State = manifest.Removed
	return out, nil
}

func (a *answers) reloadPlugins(ctx context.Context, in kernelapi.ReloadInput) ([]kernelapi.PluginInfo, error) {
	if err := a.Reload(ctx, in.ID); err != nil {
		return nil, err
	}
	all, err := a.listPlugins(ctx, kernelcontract.None{})
	return slices.DeleteFunc(all, func(p kernelapi.PluginInfo) bool { return in.ID != "" && p.ID != in.ID }), err
}

// configKey returns the declaration of a setting.
func (a *answers) configKey(id, key string) (pluginsdk.ConfigKey, error) {
	s := a.Snapshot()
	p, err := s.plugin(id)
	if err != nil {
		return pluginsdk.ConfigKey{}, err
	}
	for _, k := range p.Config {
		if k.Key == key {
			return k, nil
		}
	}
	return pluginsdk.ConfigKey{}, kernelcontract.NotFound.Errorf("the plugin %s has no setting %q: `bb plugin show %s` lists them", id, key, id)
}

func (a *answers) configInfo(ctx context.Context, id string, k pluginsdk.ConfigKey) (kernelapi.ConfigInfo, error) {
	c := kernelapi.ConfigInfo{Key: k.Key, Value: json.RawMessage("null"), Source: kernelapi.ConfigUnset, Required: k.Required, Summary: k.Summary}
	value, set, err := a.Config.Get(ctx, id, k.Key)
	switch {
	case err != nil:
		return c, err
	case set:
		c.Value, c.Source = value, kernelapi.ConfigSet
	case k.Default != nil:
		if c.Value, err = json.Marshal(k.Default); err != nil {
			return c, err
		}
		c.Source = kernelapi.ConfigDefault
	}
	return c, nil
}

func (a *answers) getConfig(ctx context.Context, in kernelapi.ConfigKeyInput) (kernelapi.ConfigInfo, error) {
	k, err := a.configKey(in.ID, in.Key)
	if err != nil {
		return kernelapi.ConfigInfo{}, err
	}
	return a.configInfo(ctx, in.ID, k)
}

func (a *answers) setConfig(ctx context.Context, in kernelapi.ConfigSetInput) (kernelapi.ConfigInfo, error) {
	k, err := a.configKey(in.ID, in.Key)
	if err != nil {
		return kernelapi.ConfigInfo{}, err
	}
	if err := a.Config.Set(ctx, in.ID, in.Key, json.RawMessage(in.Value)); err != nil {
		return kernelapi.ConfigInfo{}, err
	}
	return a.configInfo(ctx, in.ID, k)
}

func (a *answers) unsetConfig(ctx context.Context, in kernelapi.ConfigKeyInput) (kernelapi.ConfigInfo, error) {
	k, err := a.configKey(in.ID, in.Key)
	if err != nil {
		return kernelapi.ConfigInfo{}, err
	}
	if err := a.Config.Unset(ctx, in.ID, in.Key); err != nil {
		return kernelapi.ConfigInfo{}, err
	}
	return a.configInfo(ctx, in.ID, k)
}
