package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// member is one member of a JSON object, in the order of the text.
type member struct {
	name string
	raw  json.RawMessage
}

// readMembers splits a JSON object into its members. A repeated name and bytes after the object are errors.
func readMembers(raw []byte) ([]member, error) {
	members, err := splitMembers(raw)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the JSON text ends early")
	}
	return members, err
}

func splitMembers(raw []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, errors.New("must be an object")
	}
	var members []member
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: t.(string)}
		if seen[m.name] {
			return nil, fmt.Errorf("%s is given twice", quoteShort(m.name))
		}
		seen[m.name] = true
		if err := d.Decode(&m.raw); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if rest := bytes.TrimSpace(raw[d.InputOffset():]); len(rest) > 0 {
		return nil, errors.New("there are bytes after the object")
	}
	return members, nil
}

// maxQuoted is the number of bytes of a foreign value that a message shows: enough to recognise it.
const maxQuoted = 64

// quoteShort quotes s for a message, cut to maxQuoted bytes.
func quoteShort(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	n := maxQuoted
	for n > maxQuoted-4 && s[n]&0xC0 == 0x80 { // do not cut a code point
		n--
	}
	return strconv.Quote(s[:n]) + "…"
}
