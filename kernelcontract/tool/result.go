package tool

import (
	"encoding/json"
	"fmt"
)

// Result is what a model gets back. It has at least one content.
type Result struct {
	Success bool      `json:"success"`
	Content []Content `json:"content"`
}

// Content is a text, or an image when MIMEType is set.
type Content struct {
	Text     string // of a text
	MIMEType string // of an image
	Base64   string // of an image, padded
}

// TextContent returns a text.
func TextContent(s string) Content { return Content{Text: s} }

// The types of content on the wire.
const (
	typeText  = "text"
	typeImage = "image"
)

type textWire struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type imageWire struct {
	Type     string `json:"type"`
	MIMEType string `json:"mimeType"`
	Base64   string `json:"base64"`
}

// MarshalJSON writes {"type": "text", "text"} or {"type": "image", "mimeType", "base64"}.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.MIMEType != "" {
		return json.Marshal(imageWire{typeImage, c.MIMEType, c.Base64})
	}
	return json.Marshal(textWire{typeText, c.Text})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Content) UnmarshalJSON(raw []byte) error {
	var w struct {
		textWire
		MIMEType string `json:"mimeType"`
		Base64   string `json:"base64"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	switch {
	case w.Type == typeText:
		*c = Content{Text: w.Text}
	case w.Type == typeImage && w.MIMEType != "":
		*c = Content{MIMEType: w.MIMEType, Base64: w.Base64}
	default:
		return fmt.Errorf("tool: content of type %q is neither a text nor an image with its type", w.Type)
	}
	return nil
}
