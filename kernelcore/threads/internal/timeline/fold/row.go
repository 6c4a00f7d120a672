package fold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// Row is a row with what is needed to go on with it.
type Row struct {
	threadapi.Row
	key                   string
	base                  json.RawMessage // the last payload of an item in full; nil for other rows
	presentation          json.RawMessage // the last one
	text, summary, output folded
}

// folded is the text of a field.
type folded struct {
	text    []byte
	changed bool // not as in the payload
	full    bool // more came than is kept
}

func (t *folded) add(s string) {
	t.changed = true
	if t.full {
		return
	}
	if room := MaxText - len(t.text); len(s) > room {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s, t.full = s[:room], true
	}
	t.text = append(t.text, s...)
}

// IsOpen reports whether the row can still change.
func (r *Row) IsOpen() bool { return r.Status == open }

// ItemID returns the id of the item that the row shows, "" when it shows none.
func (r *Row) ItemID() string {
	if r.key == itemKey(r.ID) {
		return r.ID
	}
	return ""
}

// Base returns the last payload of an item that came in full, and its last presentation.
func (r *Row) Base() (item, presentation json.RawMessage) {
	item, presentation = r.base, r.presentation
	if item == nil {
		item = json.RawMessage("{}")
	}
	if presentation == nil {
		presentation = json.RawMessage("{}")
	}
	return item, presentation
}

func (r *Row) size() int {
	return 512 + len(r.base) + len(r.Data) + len(r.text.text) + len(r.summary.text) + len(r.output.text)
}

// fieldsOf returns the names of the fields that text, summary and output are folded into, "" for none.
func fieldsOf(kind string) (text, summary, output string) {
	switch kind {
	case threadapi.RowMessage, threadapi.RowPlan:
		return "text", "", ""
	case threadapi.RowReasoning:
		return "text", "summary", ""
	case threadapi.RowCommand:
		return "", "", "output"
	case threadapi.RowTool:
		return "", "", "result"
	case threadapi.RowTask:
		return "", "", "summary"
	}
	return "", "", ""
}

// replace puts a payload in the place of what was folded.
func (r *Row) replace(item json.RawMessage) {
	r.keep(item)
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(item, &fields) // an object
	text, summary, output := fieldsOf(r.Kind)
	for field, t := range map[string]*folded{text: &r.text, summary: &r.summary, output: &r.output} {
		*t = folded{}
		var s string
		if field != "" && json.Unmarshal(fields[field], &s) == nil && s != "" {
			t.add(s)
			t.changed = false
		}
	}
	if text == "" {
		r.text = folded{}
	}
	if summary == "" {
		r.summary = folded{}
	}
	if output == "" {
		r.output = folded{}
	}
}

// keep takes a payload and leaves text and output as they were folded.
func (r *Row) keep(item json.RawMessage) {
	var p struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(item, &p) // "" shows as such
	r.base, r.Kind = item, p.Kind
}

func (r *Row) present(raw json.RawMessage) {
	var p struct {
		Label    string `json:"label"`
		Icon     string `json:"icon"`
		Title    string `json:"title"`
		Detail   string `json:"detail"`
		Suppress bool   `json:"suppress"`
		Tint     string `json:"tint"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return
	}
	r.presentation = raw
	r.Label, r.Icon, r.Title, r.Detail, r.Suppress, r.Tint = p.Label, p.Icon, p.Title, p.Detail, p.Suppress, p.Tint
}

// Public returns the row as it is shown.
func (r *Row) Public() threadapi.Row {
	out := r.Row
	if r.base != nil {
		text, summary, output := fieldsOf(r.Kind)
		out.Data = r.base
		for _, f := range []struct {
			name string
			*folded
		}{{text, &r.text}, {summary, &r.summary}, {output, &r.output}} {
			if f.name != "" && f.changed {
				out.Data = with(out.Data, f.name, string(f.text))
				out.Truncated = out.Truncated || f.full
			}
		}
	}
	if len(out.Data) == 0 {
		out.Data = json.RawMessage("{}")
	}
	return out
}

// with returns an object with one field set; the others stay as they are, in their order.
func with(object json.RawMessage, name, value string) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(object))
	out := append(make([]byte, 0, len(object)+len(value)+16), '{')
	put := func(key string, raw []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, encode(key)...), ':'), raw...)
	}
	_, _ = dec.Token() // {
	found := false
	for dec.More() {
		key, _ := dec.Token()
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			break
		}
		switch k, _ := key.(string); {
		case k != name:
			put(k, raw)
		case !found:
			found = true
			put(k, encode(value))
		}
	}
	if !found {
		put(name, encode(value))
	}
	return append(out, '}')
}

// kept is the form of a row in the store: of a settled one what is shown, of an open one what is needed to go on.
type kept struct {
	threadapi.Row
	Open *keptOpen `json:"open,omitempty"`
}

type keptOpen struct {
	Key          string          `json:"key"`
	Base         json.RawMessage `json:"base,omitempty"`
	Presentation json.RawMessage `json:"presentation,omitempty"`
	Text         *keptText       `json:"text,omitempty"`
	Summary      *keptText       `json:"summary,omitempty"`
	Output       *keptText       `json:"output,omitempty"`
}

type keptText struct {
	Text    string `json:"text"`
	Changed bool   `json:"changed,omitempty"`
	Full    bool   `json:"full,omitempty"`
}

func (t *folded) kept() *keptText {
	if len(t.text) == 0 && !t.changed {
		return nil
	}
	return &keptText{string(t.text), t.changed, t.full}
}

func (t *keptText) folded() folded {
	if t == nil {
		return folded{}
	}
	return folded{[]byte(t.Text), t.Changed, t.Full}
}

// Encode returns the row in the form in which it is stored.
func (r *Row) Encode() []byte {
	if !r.IsOpen() {
		return encode(kept{Row: r.Public()})
	}
	k := kept{Row: r.Row, Open: &keptOpen{Key: r.key, Base: r.base, Presentation: r.presentation, Text: r.text.kept(), Summary: r.summary.kept(), Output: r.output.kept()}}
	if r.base != nil {
		k.Data = nil
	}
	return encode(k)
}

// Decode returns a row that was stored.
func Decode(raw []byte) (*Row, error) {
	var k kept
	if err := json.Unmarshal(raw, &k); err != nil {
		return nil, fmt.Errorf("fold: a stored row is damaged: %w", err)
	}
	r := &Row{Row: k.Row}
	if o := k.Open; o != nil {
		r.key, r.base, r.presentation = o.Key, o.Base, o.Presentation
		r.text, r.summary, r.output = o.Text.folded(), o.Summary.folded(), o.Output.folded()
		if r.base != nil {
			r.Data = nil
		}
	}
	if !r.IsOpen() != (k.Open == nil) {
		return nil, fmt.Errorf("fold: a stored row is damaged: its status is %q", r.Status)
	}
	return r, nil
}

// encode is json.Marshal without the escapes that HTML needs, which make code six times as long.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte("{}") // rows are made of strings, numbers and JSON that was decoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}
