package protocol

import "strings"

// itemText reads a delta of kind item.text in the form that agents stream: the fields in the order of the specification,
// no white space, no escapes but in the text. It returns nil, and leaves everything as it is, for any other delta and
// for one that is wrong in any way; the strict decoder takes those. last is the delta before, whose strings are kept
// where they are the same.
func (d *decoder) itemText(last *ItemText) *ItemText {
	at := d.pos
	t, ok := d.streamed(last)
	if !ok {
		d.pos, d.bad = at, ""
		return nil
	}
	last.Scope, last.Key = t.Scope, t.Key
	return t
}

func (d *decoder) streamed(last *ItemText) (*ItemText, bool) {
	if !d.literal(`{"kind":"item.text","scope":"`) {
		return nil, false
	}
	var t ItemText
	switch {
	case d.literal(`turn","turnKey":`):
		key, ok := d.nullable(last.Scope.Turn)
		if !ok {
			return nil, false
		}
		t.Scope.Turn = key
	case d.literal(`thread"`):
		t.Scope.Thread = true
	default:
		return nil, false
	}
	var ok bool
	if !d.literal(`,"key":{"providerItemId":`) {
		return nil, false
	}
	if t.Key.ProviderItemID, ok = d.part(last.Key.ProviderItemID); !ok || !d.literal(`,"channel":`) {
		return nil, false
	}
	if t.Key.Channel, ok = d.part(last.Key.Channel); !ok || !d.literal(`,"parentRef":`) {
		return nil, false
	}
	if t.Key.ParentRef, ok = d.part(last.Key.ParentRef); !ok || t.Key == (ItemKey{}) {
		return nil, false
	}
	switch {
	case d.literal(`},"stream":"text","text":`):
		t.Stream = Text
	case d.literal(`},"stream":"summary","text":`):
		t.Stream = Summary
	default:
		return nil, false
	}
	if d.pos >= len(d.data) || d.data[d.pos] != '"' {
		return nil, false
	}
	text, ok := d.plainText()
	if !ok || len(text) > MaxDeltaText || !d.literal(`}`) {
		return nil, false
	}
	t.Text = string(text)
	return &t, true
}

// literal reads exactly the text l.
func (d *decoder) literal(l string) bool {
	if len(d.data)-d.pos < len(l) || string(d.data[d.pos:d.pos+len(l)]) != l {
		return false
	}
	d.pos += len(l)
	return true
}

// nullable reads null as "", or a string of at least one character and without escapes.
func (d *decoder) nullable(old string) (string, bool) {
	if d.literal("null") {
		return "", true
	}
	if d.pos >= len(d.data) || d.data[d.pos] != '"' {
		return "", false
	}
	raw, escaped, ok := d.text()
	if !ok || escaped || len(raw) == 0 {
		return "", false
	}
	return again(old, raw), true
}

// part reads a part of an item key like nullable.
func (d *decoder) part(old string) (string, bool) {
	s, ok := d.nullable(old)
	return s, ok && !strings.Contains(s, ItemKeySeparator)
}
