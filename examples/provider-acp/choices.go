package acp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

// askMode is the name under which agents have the mode that asks for permission, by custom of the protocol. Agents that
// start in another one are put into it, since core decides about permissions.
const askMode = "default"

// ownModel is the model of an agent that tells nothing about its models: whichever it uses.
const ownModel = "default"

// choice is something that a session has several of.
type choice struct {
	option  string // the option that sets it; "" is a method of its own
	current string
	values  []schema.ConfigValue
}

// choices are the modes and models of a session.
type choices struct{ mode, model choice }

func choicesOf(r schema.SessionResult) choices {
	var c choices
	if r.Modes != nil {
		c.mode.current = r.Modes.CurrentModeID
		for _, m := range r.Modes.AvailableModes {
			c.mode.values = append(c.mode.values, schema.ConfigValue{Value: m.ID, Name: m.Name, Description: m.Description})
		}
	}
	if r.Models != nil {
		c.model.current = r.Models.CurrentModelID
		for _, m := range r.Models.AvailableModels {
			c.model.values = append(c.model.values, schema.ConfigValue{Value: m.ModelID, Name: m.Name, Description: m.Description})
		}
	}
	c.take(r.ConfigOptions)
	return c
}

// take reads modes and models from the options of a session, unless the agent has methods for them.
func (c *choices) take(options []schema.ConfigOption) {
	for _, o := range options {
		for category, into := range map[string]*choice{"mode": &c.mode, "model": &c.model} {
			if o.Category != category || len(into.values) > 0 && into.option != o.ID {
				continue
			}
			*into = choice{option: o.ID}
			json.Unmarshal(o.CurrentValue, &into.current) // a boolean is no mode and no model
			for _, v := range o.Options {
				if len(v.Options) > 0 {
					into.values = append(into.values, v.Options...)
				} else {
					into.values = append(into.values, v)
				}
			}
		}
	}
}

func (c *choice) offers(value string) bool {
	for _, v := range c.values {
		if v.Value == value {
			return true
		}
	}
	return false
}

// choose sets the mode and the model that the options of a turn ask for, where they differ from the agent's.
func (s *Session) choose(ctx context.Context, o protocol.ExecutionOptions) error {
	s.mu.Lock()
	mode, model, permission := s.choices.mode, s.choices.model, s.permission
	s.mu.Unlock()
	if want := s.modeFor(o.Permission.Mode, mode); permission != o.Permission.Mode && want != "" {
		switch {
		case !mode.offers(want):
			s.warn(protocol.WarningConfig, fmt.Sprintf("the agent has no mode %q, which bridgeOptions.modes names for %s", want, o.Permission.Mode))
		case want != mode.current:
			if err := s.set(ctx, schema.SessionSetMode, "modeId", mode.option, want); err != nil {
				return fmt.Errorf("the agent does not go into mode %q: %w", want, err)
			}
			s.mu.Lock()
			s.choices.mode.current = want
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	s.permission = o.Permission.Mode
	s.mu.Unlock()
	if want := o.Model; want != "" && want != model.current && len(model.values) > 0 {
		if !model.offers(want) {
			if want != ownModel {
				s.warn(protocol.WarningConfig, fmt.Sprintf("the agent has no model %q and goes on with %q", want, model.current))
			}
			return nil
		}
		if err := s.set(ctx, schema.SessionSetModel, "modelId", model.option, want); err != nil {
			return fmt.Errorf("the agent does not take model %q: %w", want, err)
		}
		s.mu.Lock()
		s.choices.model.current = want
		s.mu.Unlock()
	}
	return nil
}

// modeFor returns the agent's mode for a permission mode, "" for whichever it is in.
func (s *Session) modeFor(m protocol.PermissionMode, mode choice) string {
	if want, ok := s.config.modes[m]; ok {
		return want
	}
	if mode.offers(askMode) {
		return askMode
	}
	return ""
}

// set sets a choice with its method, or as an option.
func (s *Session) set(ctx context.Context, method, field, option, value string) error {
	if option == "" {
		return s.agent.call(ctx, method, map[string]string{"sessionId": s.id, field: value}, nil)
	}
	var result struct {
		ConfigOptions []schema.ConfigOption `json:"configOptions"`
	}
	if err := s.agent.call(ctx, schema.SessionSetOption, map[string]string{"sessionId": s.id, "configId": option, "value": value}, &result); err != nil {
		return err
	}
	s.mu.Lock()
	s.choices.take(result.ConfigOptions)
	s.mu.Unlock()
	return nil
}

// decls are the models as core lists them.
func (c choice) decls() []protocol.ModelDecl {
	var ds []protocol.ModelDecl
	seen := map[string]bool{}
	for _, v := range c.values {
		if v.Value == "" || seen[v.Value] {
			continue
		}
		seen[v.Value] = true
		d := protocol.ModelDecl{ID: v.Value, Label: v.Name, Description: v.Description, IsDefault: v.Value == c.current}
		if d.Label == "" {
			d.Label = d.ID
		}
		ds = append(ds, d)
	}
	if len(ds) == 0 {
		ds = append(ds, protocol.ModelDecl{ID: ownModel, Label: "The agent's own", Description: "The agent does not say which models it has.", IsDefault: true})
	}
	return ds
}
