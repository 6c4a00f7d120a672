package assembler

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// suppressedType is the RawType of the event that counts what MaxUnhandled kept back.
const suppressedType = "suppressed"

// unhandledDelta keeps a delta that has no place, because of a rule, as a thread's provider.unhandled.
func (a *Assembler) unhandledDelta(d protocol.Delta, rule string) {
	if a.unhandled >= MaxUnhandled { // do not encode what is only counted
		a.suppressed++
		return
	}
	raw, err := json.Marshal(d)
	if err != nil {
		raw = []byte("null")
	}
	if len(raw) > protocol.MaxRaw {
		raw = shortened(raw)
	}
	a.emitUnhandled(nil, &Unhandled{RawType: string(d.Kind()), Raw: raw, Rule: &rule})
}

func (a *Assembler) emitUnhandled(t *turn, p *Unhandled) {
	if a.unhandled >= MaxUnhandled {
		a.suppressed++
		return
	}
	a.unhandled++
	a.emit(t, nil, p)
}

// flushSuppressed says how many unhandled deltas were counted only.
func (a *Assembler) flushSuppressed() {
	if a.suppressed == 0 {
		return
	}
	rule := string(TurnlessUnhandled)
	raw, err := json.Marshal(map[string]int{"count": a.suppressed})
	if err == nil {
		a.emit(nil, nil, &Unhandled{RawType: suppressedType, Raw: raw, Rule: &rule})
	}
	a.suppressed = 0
}

// shortened keeps the beginning of a delta that is too large to keep.
func shortened(raw []byte) []byte {
	const head = protocol.MaxRaw / 4 // JSON quoting may make it larger
	cut := head
	for cut > 0 && !utf8.RuneStart(raw[cut]) {
		cut--
	}
	short, err := json.Marshal(struct {
		Bytes int    `json:"bytes"`
		Head  string `json:"head"`
	}{len(raw), strings.ToValidUTF8(string(raw[:cut]), "\uFFFD")})
	if err != nil {
		return []byte("null")
	}
	return short
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return string(sum[:])
}
