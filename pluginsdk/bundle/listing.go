package bundle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bb-kernel/bb/pluginsdk/bundle/metadata"
)

// listing is an agent as one environment shows it: its capabilities, and where each function is.
type listing struct {
	capabilities map[string]Capability
	routes       map[string]Route // by capability, method and path
	tools        map[string]Tool
	metadata     metadata.Metadata
	problems     []error
}

// list lists the capabilities of a in env. Problems of the definitions are collected; those that metadata shows as well are
// left to its check.
func list(a *Agent, env Env) *listing {
	l := &listing{capabilities: map[string]Capability{}, routes: map[string]Route{}, tools: map[string]Tool{}}
	m := &l.metadata
	m.Name, m.Description, m.Version = a.Name, a.Description, a.Version
	m.DeclaredModel = metadata.Model(a.Model)
	m.RequiredCapabilities = slices.Clone(a.Requires)
	m.LifecycleHooks = map[metadata.Hook][]string{}
	if a.OnTurnEnd != nil {
		m.LifecycleHooks[metadata.TurnEnd] = []string{metadata.AgentItself}
	}
	if a.OnSessionCreated != nil {
		m.LifecycleHooks[metadata.SessionCreated] = []string{metadata.AgentItself}
	}
	var capabilities []Capability
	l.contain("", func() {
		if a.Capabilities != nil {
			capabilities = a.Capabilities(env)
		}
	})
	for _, c := range capabilities {
		l.add(c)
	}
	return l
}

// add lists one capability.
func (l *listing) add(c Capability) {
	m := &l.metadata
	m.CapabilityIDs = append(m.CapabilityIDs, c.ID)
	l.capabilities[c.ID] = c
	hook := func(h metadata.Hook, there bool) {
		if there {
			m.LifecycleHooks[h] = append(m.LifecycleHooks[h], c.ID)
		}
	}
	hook(metadata.Prompt, c.Prompt != nil)
	hook(metadata.AfterTurn, c.AfterTurn != nil)
	hook(metadata.OnConnect, c.OnConnect != nil)
	hook(metadata.Dispose, c.Dispose != nil)
	if c.OnAction != nil {
		m.Surfaces.ActionCapabilityIDs = append(m.Surfaces.ActionCapabilityIDs, c.ID)
	}
	var routes []Route
	l.contain(c.ID, func() {
		if c.HTTP != nil {
			routes = c.HTTP()
		}
	})
	for _, r := range routes {
		if r.Handle == nil {
			l.problems = append(l.problems, fmt.Errorf("capability %q: route %s %s has no Handle", c.ID, r.Method, r.Path))
		}
		m.Surfaces.HTTPRoutes = append(m.Surfaces.HTTPRoutes, metadata.Route{Method: r.Method, Path: r.Path, CapabilityID: c.ID})
		l.routes[routeKey(c.ID, r.Method, r.Path)] = r
	}
	for _, t := range c.Tools {
		if t.Run == nil {
			l.problems = append(l.problems, fmt.Errorf("capability %q: tool %q has no Run", c.ID, t.Name))
		}
		if t.Input == nil {
			t.Input = []byte(noInput)
		}
		m.Surfaces.Tools = append(m.Surfaces.Tools, metadata.Tool{Name: t.Name, Description: t.Description, Input: t.Input, CapabilityID: c.ID})
		l.tools[t.Name] = t
	}
}

func routeKey(capability, method, path string) string { return capability + " " + method + " " + path }

// contain runs a function of the author's; its panic is a problem of the capability.
func (l *listing) contain(capability string, fn func()) {
	defer func() {
		if p := recover(); p != nil {
			l.problems = append(l.problems, &MetadataExtractionError{CapabilityID: capability, Reason: fmt.Sprint(p)})
		}
	}()
	fn()
}

// flatten returns the errors that err joins.
func flatten(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	return joined.Unwrap()
}
