package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error codes that this package itself answers with or reports.
const (
	CodeNoMethod = -32601 // nobody here takes requests
	CodeInternal = -32603 // the other side failed a request with something that is no JSON-RPC error
	CodeFailed   = -32000 // a request failed with an error that has no code, or its handler panicked
)

var (
	// ErrClosed says that the connection has ended: no answer will come, or nothing can be sent.
	ErrClosed = errors.New("wire: the connection is closed")
	// ErrAnswered says that a request already has its answer.
	ErrAnswered = errors.New("wire: the request is already answered")
	// ErrStalled says that the other side took nothing for Options.WriteTimeout. It ends the connection.
	ErrStalled = errors.New("wire: the other side does not read")
)

// Error is the error of a response.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil for none
}

// Error says message and code.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// parseError reads the error member of a response.
func parseError(raw []byte) *Error {
	var e struct {
		Code    *int            `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil || e.Code == nil {
		return &Error{Code: CodeInternal, Message: "the error of the response is no JSON-RPC error", Data: raw}
	}
	return &Error{Code: *e.Code, Message: e.Message, Data: e.Data}
}

// errorOf is what a request that failed with err is answered with.
func errorOf(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e != nil {
		if e.Code != 0 { // 0 is no error code: some libraries send it for errors they know nothing of
			return e
		}
		return &Error{Code: CodeFailed, Message: e.Message, Data: e.Data}
	}
	if err == nil {
		return &Error{Code: CodeFailed, Message: "failed without an error"}
	}
	return &Error{Code: CodeFailed, Message: err.Error()}
}
