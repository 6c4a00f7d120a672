// Package metadata is what is known of a bundle without running it: its name, its model, and the surface that it adds to
// an agent. A bundle ships its metadata beside its code; the host compares it with what the code says of itself and then
// routes by it. Authors do not use this package: package bundle makes the metadata. It imports nothing that a sandboxed
// program could not. The rules are docs/spec/bundles.md.
package metadata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Limits of a bundle's metadata.
const (
	MaxDocument     = 4 << 20  // bytes of the document: 64 tools with the largest schemas, and as much again
	MaxCapabilities = 64       // each has hooks that run after a turn
	MaxRequires     = 64       // plugins that a bundle may ask for
	MaxRoutes       = 256      // routes of all capabilities
	MaxTools        = 64       // a model chooses badly among more
	MaxName         = 64       // bytes of a name or a version: they are columns of tables
	MaxText         = 1024     // bytes of a description
	MaxToolInput    = 16 << 10 // bytes of a tool's schema: it travels with every question to the model
	MaxPath         = 256      // bytes of a route's path
	minCapabilityID = 2        // as every other id that people type
	maxCapabilityID = 64       // the same
	maxPluginID     = 256      // no catalog has longer ones
	maxModelPart    = 256      // a provider's or a model's name
)

// Metadata is the metadata of a bundle. Lists are sorted, so that equal bundles have equal documents.
type Metadata struct {
	Name          string `json:"name"`
	Description   string `json:"description,omitempty"`
	Version       string `json:"version,omitempty"`
	DeclaredModel Model  `json:"declaredModel,omitzero"`
	// CapabilityIDs are the ids of all capabilities.
	CapabilityIDs []string `json:"capabilityIds,omitempty"`
	// RequiredCapabilities are ids of plugins that the host must have.
	RequiredCapabilities []string `json:"requiredCapabilities,omitempty"`
	// LifecycleHooks names for each hook the capabilities that have it; [AgentItself] stands for the agent's own.
	LifecycleHooks map[Hook][]string `json:"lifecycleHooks,omitempty"`
	Surfaces       Surfaces          `json:"surfaces,omitzero"`
	// BuildTimestamp says when the bundle was built (RFC 3339). It takes part in no comparison.
	BuildTimestamp string `json:"buildTimestamp,omitempty"`
}

// Model is the model that a bundle wants; the zero value is none.
type Model struct {
	Provider string `json:"provider,omitempty"`
	ModelID  string `json:"modelId,omitempty"`
}

// Surfaces is what a bundle adds to its agent.
type Surfaces struct {
	HTTPRoutes          []Route  `json:"httpRoutes,omitempty"`
	ActionCapabilityIDs []string `json:"actionCapabilityIds,omitempty"`
	Tools               []Tool   `json:"tools,omitempty"`
}

// Route is an HTTP route of a capability. A path is a pattern: see [ParsePattern].
type Route struct {
	Method       string `json:"method"`
	Path         string `json:"path"`
	CapabilityID string `json:"capabilityId"`
}

// Tool is a tool for the agent's model.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Input        json.RawMessage `json:"input"` // JSON Schema of an object
	CapabilityID string          `json:"capabilityId"`
}

// Hook names a function that runs when something happens to an agent.
type Hook string

// The hooks.
const (
	Prompt         Hook = "prompt"         // text for the model at the start of a turn
	AfterTurn      Hook = "afterTurn"      // a turn has ended, for each capability
	OnConnect      Hook = "onConnect"      // a client has connected
	Dispose        Hook = "dispose"        // the bundle is disabled or replaced
	TurnEnd        Hook = "turnEnd"        // a turn has ended, for the agent
	SessionCreated Hook = "sessionCreated" // a session has begun
)

// AgentItself stands in LifecycleHooks for a hook that no capability but the agent has.
const AgentItself = "*"

// Decode reads a metadata document strictly: unknown and repeated members, bytes after it and more than MaxDocument bytes
// are errors. It does not check what the document says: see [Metadata.Check].
func Decode(raw []byte) (Metadata, error) {
	if len(raw) > MaxDocument {
		return Metadata{}, fmt.Errorf("the bundle's metadata has %d bytes, over %d", len(raw), MaxDocument)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var m Metadata
	if err := d.Decode(&m); err != nil {
		return Metadata{}, fmt.Errorf("the bundle's metadata cannot be read: %w", err)
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return Metadata{}, fmt.Errorf("the bundle's metadata has bytes after its end")
	}
	return m, nil
}

// Encode writes m with its lists sorted; equal metadata gives equal bytes. The error is that of a tool's input that is not
// JSON.
func (m Metadata) Encode() ([]byte, error) {
	raw, err := json.Marshal(m.sorted())
	if err != nil {
		return nil, fmt.Errorf("the bundle's metadata cannot be written: %w", err)
	}
	return raw, nil
}

// Same reports whether m and other say the same, whenever they were built.
func (m Metadata) Same(other Metadata) bool {
	m.BuildTimestamp, other.BuildTimestamp = "", ""
	a, errA := m.Encode()
	b, errB := other.Encode()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// sorted returns a copy with sorted lists.
func (m Metadata) sorted() Metadata {
	m.CapabilityIDs = slices.Sorted(slices.Values(m.CapabilityIDs))
	m.RequiredCapabilities = slices.Sorted(slices.Values(m.RequiredCapabilities))
	hooks := make(map[Hook][]string, len(m.LifecycleHooks))
	for hook, ids := range m.LifecycleHooks {
		if len(ids) > 0 {
			hooks[hook] = slices.Sorted(slices.Values(ids))
		}
	}
	m.LifecycleHooks = hooks
	m.Surfaces.HTTPRoutes = slices.SortedFunc(slices.Values(m.Surfaces.HTTPRoutes), func(a, b Route) int {
		return strings.Compare(a.Path+"\x00"+a.Method, b.Path+"\x00"+b.Method)
	})
	m.Surfaces.ActionCapabilityIDs = slices.Sorted(slices.Values(m.Surfaces.ActionCapabilityIDs))
	m.Surfaces.Tools = slices.SortedFunc(slices.Values(m.Surfaces.Tools), func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return m
}
