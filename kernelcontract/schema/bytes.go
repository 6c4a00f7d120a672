package schema

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// Bytes is a result that is a file rather than data. On the wire it is
// {"kind": "bytes", "mimeType": …, "base64": …}; HTTP can answer it raw, the CLI writes it to a file.
type Bytes struct {
	// MIMEType says what Data is, such as "image/png".
	MIMEType string
	// Data is the content.
	Data []byte
}

// bytesKind is the value of the kind member that marks Bytes.
const bytesKind = "bytes"

// bytesWire is Bytes as JSON.
type bytesWire struct {
	Kind     string  `json:"kind"`
	MIMEType *string `json:"mimeType"`
	Base64   *string `json:"base64"`
}

// MarshalJSON writes the three members, base64 padded.
func (b Bytes) MarshalJSON() ([]byte, error) {
	text := base64.StdEncoding.EncodeToString(b.Data)
	return jsontext.Marshal(bytesWire{Kind: bytesKind, MIMEType: &b.MIMEType, Base64: &text})
}

// UnmarshalJSON reads what MarshalJSON writes, strictly: every member is required and no other is allowed.
func (b *Bytes) UnmarshalJSON(raw []byte) error {
	var w bytesWire
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return err
	}
	if w.Kind != bytesKind || w.MIMEType == nil || w.Base64 == nil {
		return errors.New(`bytes: kind must be "bytes", and mimeType and base64 must be given`)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(*w.Base64)
	if err != nil {
		return fmt.Errorf("bytes: base64: %w", err)
	}
	*b = Bytes{MIMEType: *w.MIMEType, Data: data}
	return nil
}

// bytesSchema is the schema of Bytes.
func bytesSchema() *Schema {
	return &Schema{Type: Object, Strict: true, Properties: []Property{
		{Name: "kind", Required: true, Schema: &Schema{Type: String, Const: json.RawMessage(`"` + bytesKind + `"`)}},
		{Name: "mimeType", Required: true, Schema: &Schema{Type: String}},
		{Name: "base64", Required: true, Schema: &Schema{Type: String, ContentEncoding: "base64"}},
	}}
}

// IsBytes reports whether s is the schema of Bytes, nullable or not: a result that surfaces can hand out as a file.
func (s *Schema) IsBytes() bool {
	if s == nil || s.Type != Object || len(s.Properties) != 3 {
		return false
	}
	kind, mime, data := s.Property("kind"), s.Property("mimeType"), s.Property("base64")
	return kind != nil && string(kind.Schema.Const) == `"`+bytesKind+`"` &&
		mime != nil && mime.Schema.Type == String &&
		data != nil && data.Schema.ContentEncoding == "base64"
}
