package stdio

import (
	"encoding/json"
	"errors"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/kernelcontract"
)

// Error is a failure as it crosses: in the data of a JSON-RPC error, and at the end of a stream.
type Error struct {
	Code      kernelcontract.Code    `json:"code"`
	Message   string                 `json:"message,omitempty"`
	Issues    []kernelcontract.Issue `json:"issues,omitempty"`
	Details   map[string]any         `json:"details,omitempty"`
	Retryable bool                   `json:"retryable,omitempty"`
}

// ErrorOf returns err as it crosses; nil for nil. An error without a code is internal, with its own text: the kernel logs
// it and tells nobody.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	e := kernelcontract.AsError(err)
	out := &Error{Code: e.Code, Message: e.Message, Issues: e.Issues, Details: e.Details, Retryable: e.Retryable}
	if e.Code == kernelcontract.Internal {
		out.Message = err.Error()
		if cause := errors.Unwrap(e); cause != nil && cause != err {
			out.Message = e.Message + ": " + cause.Error()
		}
	}
	return out
}

// Err returns the failure that crossed, nil for nil.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	if e.Code == kernelcontract.Internal || e.Code == "" {
		return errors.New(e.Message)
	}
	return &kernelcontract.Error{Code: e.Code, Message: e.Message, Issues: e.Issues, Details: e.Details, Retryable: e.Retryable}
}

// Fail returns err as the error of a response: the code of the error table, and the rest as data.
func Fail(err error) *wire.Error {
	e := ErrorOf(err)
	row, ok := e.Code.Row()
	if !ok {
		row, _ = kernelcontract.Internal.Row()
	}
	raw, merr := json.Marshal(e)
	if merr != nil { // only details can fail to encode
		e.Details = nil
		raw, _ = json.Marshal(e)
	}
	return &wire.Error{Code: row.JSONRPC, Message: e.Message, Data: raw}
}

// Failed returns what a call of the other side failed with: its own error, or err as it is when the connection failed.
func Failed(err error) error {
	var w *wire.Error
	if !errors.As(err, &w) {
		return err
	}
	var e Error
	if w.Data == nil || json.Unmarshal(w.Data, &e) != nil || e.Code == "" {
		return errors.New(w.Message)
	}
	if e.Message == "" {
		e.Message = w.Message
	}
	return e.Err()
}
