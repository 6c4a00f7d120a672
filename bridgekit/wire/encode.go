package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// This file writes messages. A message is one line whatever its values hold: raw JSON of a caller is checked and, where
// it has line ends, compacted. HTML is not escaped.

const (
	envelope   = `{"jsonrpc":"2.0"`
	bufferSize = 512 // a new line's first buffer: most messages need no second
)

// callLine is the line of a request, or of a notification when id is empty.
func callLine(id, method string, params any, max int) ([]byte, error) {
	b := append(make([]byte, 0, bufferSize), envelope...)
	if id != "" {
		b = append(append(append(b, `,"id":"`...), id...), '"')
	}
	b, err := appendJSON(append(b, `,"method":`...), method)
	if err != nil {
		return nil, err
	}
	b = append(b, `,"params":`...)
	start := len(b)
	if params == nil {
		b = append(b, "{}"...)
	} else if b, err = appendJSON(b, params); err != nil {
		return nil, fmt.Errorf("wire: params of %s: %w", method, err)
	}
	if b[start] != '{' {
		return nil, fmt.Errorf("wire: params of %s are not an object", method)
	}
	return finish(b, max)
}

// resultLine is the line of a response that succeeded.
func resultLine(id ID, result any, max int) ([]byte, error) {
	b := append(make([]byte, 0, bufferSize), envelope...)
	b = append(append(b, `,"id":`...), id...)
	b, err := appendJSON(append(b, `,"result":`...), result)
	if err != nil {
		return nil, fmt.Errorf("wire: result: %w", err)
	}
	return finish(b, max)
}

// errorLine is the line of a response that failed.
func errorLine(id ID, e *Error, max int) ([]byte, error) {
	b := append(make([]byte, 0, bufferSize), envelope...)
	b = append(append(b, `,"id":`...), id...)
	b = strconv.AppendInt(append(b, `,"error":{"code":`...), int64(e.Code), 10)
	b, err := appendJSON(append(b, `,"message":`...), e.Message)
	if err != nil {
		return nil, err
	}
	if len(e.Data) > 0 {
		if b, err = appendJSON(append(b, `,"data":`...), e.Data); err != nil {
			return nil, fmt.Errorf("wire: data of error %d: %w", e.Code, err)
		}
	}
	return finish(append(b, '}'), max)
}

func finish(b []byte, max int) ([]byte, error) {
	b = append(b, '}')
	if len(b) > max {
		return nil, &LongLineError{Length: int64(len(b)), Limit: max, Start: excerpt(b)}
	}
	return append(b, '\n'), nil
}

// appendJSON appends v as JSON on one line.
func appendJSON(b []byte, v any) ([]byte, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return appendRaw(b, raw)
	}
	buf := bytes.NewBuffer(b)
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes()[:buf.Len()-1], nil // without the encoder's line end
}

func appendRaw(b []byte, raw json.RawMessage) ([]byte, error) {
	start := space(raw, 0)
	end := value(raw, start, 2)
	switch {
	case len(raw) == 0:
		return append(b, "null"...), nil // as encoding/json has it
	case !utf8.Valid(raw):
		return nil, errors.New("the raw JSON is not UTF-8")
	case end < 0 || space(raw, end) != len(raw):
		return nil, errors.New("the raw message is not JSON")
	case bytes.ContainsAny(raw[start:end], "\r\n"):
		buf := bytes.NewBuffer(b)
		err := json.Compact(buf, raw)
		return buf.Bytes(), err
	}
	return append(b, raw[start:end]...), nil
}
