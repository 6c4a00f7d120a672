package threadapi

import (
	"encoding/json"
	"errors"
)

// Part is a part of an input: a plain text, or an object whose type is text, image, localImage or localFile. On the
// command line each word is a part; neighbouring plain texts become one text, joined by single spaces.
type Part json.RawMessage

// Text returns the part that is a plain text.
func Text(text string) Part {
	raw, _ := json.Marshal(text) // strings encode
	return raw
}

// MarshalJSON returns the part.
func (p Part) MarshalJSON() ([]byte, error) {
	if len(p) == 0 {
		return nil, errors.New("threadapi: an empty Part")
	}
	return p, nil
}

// UnmarshalJSON keeps a copy of the part.
func (p *Part) UnmarshalJSON(raw []byte) error {
	*p = append(Part{}, raw...)
	return nil
}

// JSONSchemaOneOf lists what a part can be.
func (Part) JSONSchemaOneOf() []any {
	return []any{"", TextPart{}, ImagePart{}, LocalImagePart{}, LocalFilePart{}}
}

// Visibility says for whom a part is.
type Visibility string

// The values of Visibility.
const (
	ForUser      Visibility = "user"       // shown in the timeline
	ForAgentOnly Visibility = "agent-only" // reaches the agent and is not shown
)

// Enum lists the values.
func (Visibility) Enum() []any { return []any{ForUser, ForAgentOnly} }

// TextPart is a text.
type TextPart struct {
	Type       string     `json:"type" const:"text"`
	Text       string     `json:"text" minLength:"1"`
	Visibility Visibility `json:"visibility,omitempty" default:"user"`
}

// ImagePart is an image by URL, often a data URL.
type ImagePart struct {
	Type       string     `json:"type" const:"image"`
	URL        string     `json:"url" minLength:"1"`
	Visibility Visibility `json:"visibility,omitempty" default:"user"`
}

// LocalImagePart is an image file of the agent's machine.
type LocalImagePart struct {
	Type       string     `json:"type" const:"localImage"`
	Path       string     `json:"path" minLength:"1"`
	Visibility Visibility `json:"visibility,omitempty" default:"user"`
}

// LocalFilePart is a file of the agent's machine.
type LocalFilePart struct {
	Type       string     `json:"type" const:"localFile"`
	Path       string     `json:"path" minLength:"1"`
	Name       string     `json:"name,omitempty"`
	MIMEType   string     `json:"mimeType,omitempty"`
	Visibility Visibility `json:"visibility,omitempty" default:"user"`
}
