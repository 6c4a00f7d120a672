package abi

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Check says what is wrong with a call and its body, nil for nothing: what every host refuses, whatever it keeps.
func (c *Call) Check(body []byte) *Error {
	invalid := func(format string, args ...any) *Error {
		return &Error{Code: InvalidArgument, Message: string(c.Op) + ": " + fmt.Sprintf(format, args...)}
	}
	switch c.Op {
	case KVGet, KVPut, KVDelete:
		if c.Key == "" || len(c.Key) > MaxKey || !utf8.ValidString(c.Key) || strings.IndexByte(c.Key, 0) >= 0 {
			return invalid("a key has 1 to %d bytes of UTF-8 without a zero byte", MaxKey)
		}
		if c.Op == KVPut && len(body) > MaxValue {
			return invalid("the value of %q has %d bytes, over %d", c.Key, len(body), MaxValue)
		}
		if c.Op == KVPut && !json.Valid(body) {
			return invalid("the value of %q is not JSON", c.Key)
		}
	case KVList:
		if len(c.Prefix) > MaxKey || len(c.After) > MaxKey {
			return invalid("a prefix has up to %d bytes", MaxKey)
		}
	case ChannelBroadcast, ChannelGlobal, SpineBroadcast:
		var e Event
		if len(body) > MaxEvent {
			return invalid("an event has %d bytes, over %d", len(body), MaxEvent)
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return invalid("the event cannot be read: %s", err)
		}
		if e.Type != "state_event" && (!strings.HasPrefix(e.Type, "x-") || len(e.Type) > 64) {
			return invalid("the type %.64q is not allowed: it is state_event, or x- and a name", e.Type)
		}
	case SpineAppend:
		if len(body) > MaxEntry || !json.Valid(body) {
			return invalid("an entry is JSON of up to %d bytes", MaxEntry)
		}
	case CostEmit:
		var cost Cost
		if err := json.Unmarshal(body, &cost); err != nil {
			return invalid("the cost cannot be read: %s", err)
		}
		if math.IsNaN(cost.Amount) || math.IsInf(cost.Amount, 0) || cost.Amount < 0 {
			return invalid("the amount %v is not a number from 0 up", cost.Amount)
		}
		if len(cost.Currency) != 3 || strings.Trim(cost.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return invalid("the currency %.16q has not three capital letters", cost.Currency)
		}
	case SpineEntries, SpineContext:
	default:
		return &Error{Code: InvalidArgument, Message: fmt.Sprintf("there is no operation %.64q", c.Op)}
	}
	return nil
}

// NeedsSession reports whether an operation is one on the session.
func (o Op) NeedsSession() bool { return strings.HasPrefix(string(o), "spine.") }
