package wire

import (
	"encoding/json"
	"unicode/utf8"
)

// Kind says what a message is.
type Kind int

// The kinds of messages.
const (
	RequestKind      Kind = iota + 1 // has a method and an id: wants an answer
	NotificationKind                 // has a method and no id
	ResponseKind                     // has a result or an error, and an id
)

// Message is a line that was understood. The raw values are parts of the line that was parsed.
type Message struct {
	Kind   Kind
	ID     ID              // of a request or response
	Method string          // of a request or notification, possibly empty
	Params json.RawMessage // of a request or notification, nil when it has none
	Result json.RawMessage // of a response that succeeded
	Error  *Error          // of a response that failed
}

// members are the raw values of an envelope, nil when they are missing.
type members struct {
	version, id, method, params, result, err []byte
}

// Parse tells what a line is. The error is always a *DroppedError. The raw values of the message are parts of line and
// are valid JSON of any type: that params are an object is the business of whoever answers, since a request must be
// answered. An error member that is no JSON-RPC error becomes an Error with CodeInternal, so that who waits for the
// response learns of it.
func Parse(line []byte) (Message, error) {
	if !utf8.Valid(line) {
		return Message{}, drop(line, InvalidUTF8, "it is not UTF-8")
	}
	i := space(line, 0)
	if i == len(line) {
		return Message{}, drop(line, InvalidJSON, "it is empty")
	}
	if line[i] != '{' {
		return Message{}, notObject(line, i)
	}
	var m members
	end, dropped := m.scan(line, i)
	if dropped != nil {
		return Message{}, dropped
	}
	if rest := space(line, end); rest < len(line) {
		if value(line, rest, 1) < 0 {
			return Message{}, drop(line, InvalidJSON, "bytes that are not JSON follow the object")
		}
		return Message{}, drop(line, SecondValue, "a second value follows the object: send one message a line")
	}
	return m.message(line)
}

// notObject says why a line whose first byte, at i, opens no object is dropped.
func notObject(line []byte, i int) *DroppedError {
	end := value(line, i, 1)
	if end < 0 {
		return drop(line, InvalidJSON, "it is not JSON; only messages belong here, logs belong to standard error")
	}
	if rest := space(line, end); rest < len(line) {
		return drop(line, InvalidJSON, "it is not one JSON value")
	}
	if line[i] == '[' {
		return drop(line, Batch, "it is an array; batches are not supported: send one message a line")
	}
	return drop(line, NotAnObject, "it is not an object")
}

// scan reads the envelope that starts at line[i] and returns the index behind it.
func (m *members) scan(line []byte, i int) (int, *DroppedError) {
	invalid := func() (int, *DroppedError) {
		return 0, drop(line, InvalidJSON, "it is not JSON")
	}
	i = space(line, i+1)
	if i < len(line) && line[i] == '}' {
		return i + 1, nil
	}
	repeated := ""
	for {
		start := i
		i = key(line, i)
		if i < 0 {
			return invalid()
		}
		member := m.member(line[start:i])
		end := value(line, i, 2)
		if end < 0 {
			return invalid()
		}
		if member != nil {
			if *member != nil && repeated == "" {
				repeated = string(line[start:i])
			}
			*member = line[i:end:end]
		}
		i = space(line, end)
		if i >= len(line) || line[i] != ',' && line[i] != '}' {
			return invalid()
		}
		if line[i] == '}' {
			if repeated != "" {
				return 0, drop(line, RepeatedMember, "%s stands there twice", repeated)
			}
			return i + 1, nil
		}
		i = space(line, i+1)
	}
}

// member returns where the value behind the name goes, or nil. The name comes with its quotes, and with the colon and
// white space behind it.
func (m *members) member(name []byte) *[]byte {
	name = name[1:]
	for i, c := range name {
		if c == '"' {
			return m.named(name[:i])
		}
		if c == '\\' {
			break
		}
	}
	var s string
	end := text(name, -1)
	if json.Unmarshal(append([]byte{'"'}, name[:end]...), &s) != nil {
		return nil
	}
	return m.named([]byte(s))
}

func (m *members) named(name []byte) *[]byte {
	switch string(name) {
	case "jsonrpc":
		return &m.version
	case "id":
		return &m.id
	case "method":
		return &m.method
	case "params":
		return &m.params
	case "result":
		return &m.result
	case "error":
		return &m.err
	}
	return nil
}

// message decides what the members are together.
func (m *members) message(line []byte) (Message, error) {
	if !m.rightVersion() {
		return Message{}, drop(line, WrongVersion, `"jsonrpc":"2.0" is missing`)
	}
	if m.method != nil {
		return m.call(line)
	}
	if m.result == nil && m.err == nil {
		return Message{}, drop(line, NoKind, "it has no method, no result and no error")
	}
	if m.result != nil && m.err != nil {
		return Message{}, drop(line, TwoKinds, "it has a result and an error")
	}
	if m.id == nil || string(m.id) == "null" {
		return Message{}, drop(line, MissingID, "it is a response without an id")
	}
	if !isID(m.id) {
		return Message{}, drop(line, WrongID, "its id %s is neither a string nor an integer", excerpt(m.id))
	}
	msg := Message{Kind: ResponseKind, ID: ID(m.id), Result: m.result}
	if m.err != nil {
		msg.Error = parseError(m.err)
	}
	return msg, nil
}

func (m *members) rightVersion() bool {
	if string(m.version) == `"`+version+`"` { // in all but the oddest spelling
		return true
	}
	s, ok := unquote(m.version)
	return ok && s == version
}

// call is message for requests and notifications.
func (m *members) call(line []byte) (Message, error) {
	method, ok := unquote(m.method)
	if !ok {
		return Message{}, drop(line, WrongMethod, "its method is not a string")
	}
	named := func(r Reason, format string, args ...any) (Message, error) {
		d := drop(line, r, format, args...)
		d.Method = method
		return Message{}, d
	}
	if m.result != nil || m.err != nil {
		return named(TwoKinds, "it has a method and a result or an error")
	}
	if m.id == nil {
		if m.params != nil && m.params[0] != '{' {
			return named(WrongParams, "the params of a notification are not an object")
		}
		return Message{Kind: NotificationKind, Method: method, Params: m.params}, nil
	}
	if !isID(m.id) {
		return named(WrongID, "its id %s is neither a string nor an integer", excerpt(m.id))
	}
	return Message{Kind: RequestKind, ID: ID(m.id), Method: method, Params: m.params}, nil
}

// unquote decodes a JSON string; false when raw is something else.
func unquote(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	body := raw[1 : len(raw)-1]
	for _, c := range body {
		if c == '\\' {
			var s string
			err := json.Unmarshal(raw, &s)
			return s, err == nil
		}
	}
	return string(body), true
}
