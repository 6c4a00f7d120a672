package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// maxDepth bounds how deep a value is laid out; what is below prints as JSON. Deeper indentation helps nobody.
const maxDepth = 8

// value is a JSON value with the order of its members.
type value struct {
	raw     json.RawMessage
	kind    valueKind
	scalar  string // of scalars: decoded and stripped
	members []member
	items   []value
}

type valueKind uint8

const (
	null valueKind = iota
	str
	number
	boolean
	object
	array
	deep // below maxDepth: raw only
)

type member struct {
	key string
	value
}

// parse reads one JSON value.
func parse(raw json.RawMessage) (value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	p := parser{d: d, text: raw}
	v, err := p.value(0)
	if err != nil {
		return value{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return value{}, errors.New("there are bytes after the value")
	}
	return v, nil
}

type parser struct {
	d    *json.Decoder
	text []byte
}

func (p *parser) value(depth int) (value, error) {
	if depth > maxDepth {
		v := value{kind: deep}
		return v, p.d.Decode(&v.raw)
	}
	t, err := p.d.Token()
	if err != nil {
		return value{}, err
	}
	end := p.d.InputOffset()
	switch t := t.(type) {
	case string:
		return value{kind: str, scalar: Strip(t)}, nil
	case json.Number:
		return value{kind: number, scalar: t.String()}, nil
	case bool:
		return value{kind: boolean, scalar: strconv.FormatBool(t)}, nil
	case json.Delim:
		v := value{kind: object}
		if t == '[' {
			v.kind = array
		}
		for p.d.More() {
			if err := p.child(&v, depth); err != nil {
				return value{}, err
			}
		}
		if _, err := p.d.Token(); err != nil {
			return value{}, err
		}
		v.raw = p.text[end-1 : p.d.InputOffset()]
		return v, nil
	}
	return value{kind: null}, nil
}

func (p *parser) child(v *value, depth int) error {
	var m member
	if v.kind == object {
		t, err := p.d.Token()
		if err != nil {
			return err
		}
		m.key, _ = t.(string)
	}
	var err error
	if m.value, err = p.value(depth + 1); err != nil {
		return err
	}
	if v.kind == object {
		v.members = append(v.members, m)
	} else {
		v.items = append(v.items, m.value)
	}
	return nil
}

func (v *value) isScalar() bool { return v.kind <= boolean }

// isList reports whether v is an array of scalars.
func (v *value) isList() bool {
	return v.kind == array && !slices.ContainsFunc(v.items, func(i value) bool { return !i.isScalar() })
}

// isTable reports whether v is an array of objects, and has one.
func (v *value) isTable() bool {
	return v.kind == array && len(v.items) > 0 && !slices.ContainsFunc(v.items, func(i value) bool { return i.kind != object })
}

func (v *value) member(key string) *value {
	for i := range v.members {
		if v.members[i].key == key {
			return &v.members[i].value
		}
	}
	return nil
}

// compact is v as JSON in one line.
func (v *value) compact() string {
	var b bytes.Buffer
	if json.Compact(&b, v.raw) != nil {
		return ""
	}
	return Strip(b.String())
}

// bytesOf describes a bytes result, ok is false for every other value.
func bytesOf(v *value) (description string, ok bool) {
	if v.kind != object || len(v.members) != 3 {
		return "", false
	}
	kind, mime, data := v.member("kind"), v.member("mimeType"), v.member("base64")
	if kind == nil || kind.scalar != "bytes" || mime == nil || mime.kind != str || data == nil || data.kind != str {
		return "", false
	}
	return Size(mime.scalar, base64Len(data.scalar)), true
}

func base64Len(s string) int {
	n := len(s) / 4 * 3
	for i := len(s); i > 0 && s[i-1] == '='; i-- {
		n--
	}
	return max(n, 0)
}

// Size names a file by its type and its length in bytes: "image/png, 1.2 kB".
func Size(mimeType string, n int) string {
	if n == 1 {
		return mimeType + ", 1 byte"
	}
	if n < 1000 {
		return mimeType + ", " + strconv.Itoa(n) + " bytes"
	}
	f := float64(n)
	for _, unit := range []string{"kB", "MB"} {
		if f /= 1000; f < 999.95 {
			return mimeType + ", " + strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		}
	}
	return mimeType + ", " + strconv.FormatFloat(f/1000, 'f', 1, 64) + " GB"
}

// ordered returns the members of v, those that the schema knows first and in its order.
func ordered(v *value, s *schema.Schema) []member {
	if s == nil || len(s.Properties) == 0 {
		return v.members
	}
	place := func(key string) int {
		for i := range s.Properties {
			if s.Properties[i].Name == key {
				return i
			}
		}
		return len(s.Properties)
	}
	members := slices.Clone(v.members)
	slices.SortStableFunc(members, func(a, b member) int { return place(a.key) - place(b.key) })
	return members
}
