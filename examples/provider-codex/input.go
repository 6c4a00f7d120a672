package codex

import (
	"path/filepath"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

// input is a prompt in Codex's form. Files are mentioned: Codex reads them itself.
func (s *Session) input(input protocol.Inputs) ([]schema.Input, error) {
	parts := []schema.Input{}
	for _, in := range input {
		switch in := in.(type) {
		case *protocol.TextInput:
			parts = append(parts, schema.Input{Type: "text", Text: &in.Text})
		case *protocol.ImageInput:
			parts = append(parts, schema.Input{Type: "image", URL: in.URL})
		case *protocol.LocalImageInput:
			parts = append(parts, schema.Input{Type: "localImage", Path: s.path(in.Path)})
		case *protocol.LocalFileInput:
			path := s.path(in.Path)
			name := filepath.Base(path)
			if in.Name != nil && *in.Name != "" {
				name = *in.Name
			}
			text := "The file " + name + ": " + path
			parts = append(parts, schema.Input{Type: "text", Text: &text})
		default:
			return nil, protocol.BridgeError.Errorf("Codex takes no input of the type %s", in.Type())
		}
	}
	return parts, nil
}

// path is a path from the root of the file system.
func (s *Session) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.params.Cwd, path)
}
