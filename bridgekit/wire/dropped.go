package wire

import "fmt"

// Reason says why a line was dropped. Dropped lines are never answered, with one exception: the request of
// HandlerPanicked.
type Reason string

// The reasons.
const (
	OverLong        Reason = "over-long"        // the line is over the limit; nobody knows what was in it
	InvalidUTF8     Reason = "invalid-utf8"     // the line is not UTF-8
	InvalidJSON     Reason = "invalid-json"     // the line is not JSON, is empty, or nests too deep
	SecondValue     Reason = "second-value"     // something follows the object on its line
	NotAnObject     Reason = "not-an-object"    // null, a string, a number or a bool
	Batch           Reason = "batch"            // an array: batches are not part of this wire
	RepeatedMember  Reason = "repeated-member"  // jsonrpc, id, method, params, result or error stands there twice
	WrongVersion    Reason = "wrong-version"    // jsonrpc is missing or not "2.0"
	WrongID         Reason = "wrong-id"         // an id that is neither a string nor an integer, null included
	WrongMethod     Reason = "wrong-method"     // method is not a string
	NoKind          Reason = "no-kind"          // neither a method nor a result nor an error
	TwoKinds        Reason = "two-kinds"        // a method with a result or an error, or a result with an error
	WrongParams     Reason = "wrong-params"     // the params of a notification are not an object
	RepeatedID      Reason = "repeated-id"      // a request under the id of one that is not answered yet
	UnknownID       Reason = "unknown-id"       // a response to no request, or the second response to one
	MissingID       Reason = "missing-id"       // a response whose id is null or missing
	LateResponse    Reason = "late-response"    // the answer to a call that was given up: expected, rarely worth a warning
	HandlerPanicked Reason = "handler-panicked" // Request or Notify panicked; a request without an answer got CodeFailed
)

// DroppedError says what was dropped and why.
type DroppedError struct {
	Reason Reason
	Detail string // what exactly, for a person
	Start  string // the first bytes of the line, at most 128, made valid UTF-8
	Length int64  // bytes of the line
	Method string // of a request or notification whose method could be read
	ID     ID     // of a request or response whose id could be read
}

// Error says reason, detail and the start of the line.
func (e *DroppedError) Error() string {
	return fmt.Sprintf("wire: dropped a line (%s): %s; it starts with %q", e.Reason, e.Detail, e.Start)
}

func drop(line []byte, r Reason, format string, args ...any) *DroppedError {
	return &DroppedError{Reason: r, Detail: fmt.Sprintf(format, args...), Start: excerpt(line), Length: int64(len(line))}
}
