// Package manifest holds the contract manifest: everything that is public of a running server's catalog as one JSON
// document. It is what `bb`, untyped calls and tests learn a server from. The rules are stated in docs/spec/docs.md.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Format is the number of the document's form. A reader refuses every other.
const Format = 1

// Manifest describes the catalog of a server at a generation.
type Manifest struct {
	Format     int       `json:"format"`
	ServerID   string    `json:"serverId"`
	Generation uint64    `json:"generation"`
	Plugins    []Plugin  `json:"plugins"` // in composition order, disabled ones too
	Problems   []Problem `json:"problems"`
}

// Plugin is a plugin of the composition. One that is not ready offers no services.
type Plugin struct {
	ID       string    `json:"id"`
	Version  string    `json:"version"`
	Summary  string    `json:"summary"`
	State    State     `json:"state"`
	Services []Service `json:"services"`
	// Providers are the declarations of the providers of agents that the plugin brings, as docs/spec/bridges-protocol.md has
	// them; InteractionKinds the kinds of questions that they ask beside those of the protocol.
	Providers        []json.RawMessage `json:"providers,omitempty"`
	InteractionKinds []string          `json:"interactionKinds,omitempty"`
}

// State says what becomes of a plugin.
type State string

// The states of a plugin.
const (
	Ready    State = "ready"
	Disabled State = "disabled"
	Removed  State = "removed"
	Failed   State = "failed" // it could not be loaded; Problems says why
)

// Enum lists the states, for the schema.
func (State) Enum() []any { return []any{Ready, Disabled, Removed, Failed} }

// Service is a service with its methods that appear on some surface.
type Service struct {
	ID      string           `json:"id"` // plugin/service
	Summary string           `json:"summary"`
	Group   []string         `json:"group"` // empty: the top level
	Aliases [][]string       `json:"aliases"`
	Methods []docs.MethodDoc `json:"methods"`
}

// Problem is something that degrades a plugin.
type Problem struct {
	PluginID string `json:"pluginId"`
	Message  string `json:"message"`
}

// FormatError says that a manifest has another form than this program reads.
type FormatError struct{ Format int }

// Error names both forms and what to do.
func (e *FormatError) Error() string {
	return fmt.Sprintf("the server's manifest has format %d, this program reads format %d: use versions of both that fit together", e.Format, Format)
}

// Encode writes a manifest; equal manifests give equal bytes.
func Encode(m *Manifest) ([]byte, error) { return schema.Marshal(*m) }

// Decode reads a manifest strictly: an unknown member and bytes after the document are errors. A foreign format is a
// *FormatError.
func Decode(raw []byte) (*Manifest, error) {
	var head struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if head.Format == nil {
		return nil, errors.New("manifest: it has no format")
	}
	if *head.Format != Format {
		return nil, &FormatError{Format: *head.Format}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var m Manifest
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("manifest: there are bytes after the document")
	}
	return &m, nil
}

// Method returns the record of plugin/service.method, nil when there is none.
func (m *Manifest) Method(ref string) *docs.MethodDoc {
	for i := range m.Plugins {
		for j := range m.Plugins[i].Services {
			methods := m.Plugins[i].Services[j].Methods
			for k := range methods {
				if methods[k].Ref() == ref {
					return &methods[k]
				}
			}
		}
	}
	return nil
}

// Methods returns every record in composition order.
func (m *Manifest) Methods() []docs.MethodDoc {
	var out []docs.MethodDoc
	for i := range m.Plugins {
		for j := range m.Plugins[i].Services {
			out = append(out, m.Plugins[i].Services[j].Methods...)
		}
	}
	return out
}
