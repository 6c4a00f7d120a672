package acp

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

// maxImage is the largest image that is read for an agent, in bytes: what the large models take.
const maxImage = 10 << 20

// blocks is an input as the blocks of a prompt. Images travel whole to agents that take them; other agents, and files, get
// a link, which every agent takes.
func (s *Session) blocks(input protocol.Inputs, images bool) ([]schema.Block, error) {
	blocks := []schema.Block{}
	for _, part := range input {
		switch in := part.(type) {
		case *protocol.TextInput:
			blocks = append(blocks, schema.Block{Type: "text", Text: in.Text})
		case *protocol.ImageInput:
			if b, ok := dataImage(in.URL); ok && images {
				blocks = append(blocks, b)
				continue
			}
			if strings.HasPrefix(in.URL, "data:") {
				s.warn(protocol.WarningConfig, "the agent takes no images, so it does not get one")
				continue
			}
			blocks = append(blocks, schema.Block{Type: "resource_link", URI: in.URL, Name: filepath.Base(in.URL)})
		case *protocol.LocalImageInput:
			path := s.path(in.Path)
			if !images {
				blocks = append(blocks, link(path, nil, nil, nil))
				continue
			}
			data, kind, err := readImage(path)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, schema.Block{Type: "image", Data: base64.StdEncoding.EncodeToString(data), MimeType: kind})
		case *protocol.LocalFileInput:
			blocks = append(blocks, link(s.path(in.Path), in.Name, in.MimeType, in.SizeBytes))
		}
	}
	return blocks, nil
}

// link is a link to a file.
func link(path string, name, kind *string, size *int64) schema.Block {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive
	}
	b := schema.Block{Type: "resource_link", URI: (&url.URL{Scheme: "file", Path: slashed}).String(), Name: filepath.Base(path), Size: size}
	if name != nil && *name != "" {
		b.Name = *name
	}
	if kind != nil {
		b.MimeType = *kind
	}
	return b
}

// dataImage reads an image from a data: URL in base64.
func dataImage(u string) (schema.Block, bool) {
	head, data, ok := strings.Cut(strings.TrimPrefix(u, "data:"), ",")
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isBase64 || !strings.HasPrefix(u, "data:image/") {
		return schema.Block{}, false
	}
	return schema.Block{Type: "image", Data: data, MimeType: kind}, true
}

func readImage(path string) ([]byte, string, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, "", fmt.Errorf("the image cannot be read: %w", err)
	}
	if !about.Mode().IsRegular() || about.Size() > maxImage {
		return nil, "", fmt.Errorf("%s is no image of at most %d MiB", path, maxImage>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("the image cannot be read: %w", err)
	}
	kind := mime.TypeByExtension(filepath.Ext(path))
	if !strings.HasPrefix(kind, "image/") {
		kind = http.DetectContentType(data)
	}
	return data, kind, nil
}
