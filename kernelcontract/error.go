package kernelcontract

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Issue is one problem of an input: where it is, what kind, and how to mend it.
type Issue = schema.Issue

// Refusal narrows InvalidInput to the HTTP statuses that say more than 400.
type Refusal uint8

// The narrower refusals of InvalidInput.
const (
	WrongVerb Refusal = iota + 1 // 405
	TooLarge                     // 413
	NotJSON                      // 415
)

// refusalStatus is the part of the error table that narrows InvalidInput.
var refusalStatus = map[Refusal]int{WrongVerb: 405, TooLarge: 413, NotJSON: 415}

// Error is what every surface answers and every caller gets. errors.Is matches it with a Code.
type Error struct {
	Code      Code           `json:"code"`
	Message   string         `json:"message"`
	Issues    []Issue        `json:"issues,omitempty"`
	Details   map[string]any `json:"details,omitempty"`
	Retryable bool           `json:"retryable"`
	// CallID is the id of the failed call, "" when it had none. It travels in a header.
	CallID string `json:"-"`
	// Refusal narrows InvalidInput; zero otherwise.
	Refusal Refusal `json:"-"`
	// Like is the kernel code whose table row a plugin's code takes; "" for a kernel code.
	Like Code `json:"-"`

	cause error
}

// maxErrorIssues bounds the issues in the text of an Error: a log line stays readable.
const maxErrorIssues = 3

// Error returns "code: message", with the first issues in parentheses.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for i, issue := range e.Issues {
		switch {
		case i == 0:
			b.WriteString(" (")
		case i == maxErrorIssues:
			b.WriteString("; …)")
			return b.String()
		default:
			b.WriteString("; ")
		}
		b.WriteString(issue.String())
	}
	if len(e.Issues) > 0 {
		b.WriteByte(')')
	}
	return b.String()
}

// Is reports whether target is e's Code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap returns the cause, which stays in the process that made it.
func (e *Error) Unwrap() error { return e.cause }

// WithCause returns a copy of e that keeps cause for the log.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Row returns the line of the error table that holds for e: its own, else that of Like, else that of Internal, with the
// HTTP status narrowed by Refusal.
func (e *Error) Row() Row {
	row, ok := e.Code.Row()
	if !ok {
		if row, ok = e.Like.Row(); !ok {
			row, _ = Internal.Row()
		}
	}
	row.Code = e.Code
	if status := refusalStatus[e.Refusal]; status != 0 {
		row.HTTPStatus = status
	}
	return row
}

// LikeOf returns the kernel code that an HTTP status stands for: how a client that does not know a plugin's code finds
// its row. Unknown statuses are Internal.
func LikeOf(status int) Code {
	for i := range table {
		if table[i].HTTPStatus == status {
			return table[i].Code
		}
	}
	for _, s := range refusalStatus {
		if s == status {
			return InvalidInput
		}
	}
	return Internal
}

// UnmarshalJSON reads what surfaces answer. Numbers in Details are json.Number, so that integers stay exact.
func (e *Error) UnmarshalJSON(raw []byte) error {
	type plain Error // without this method
	var p plain
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		return err
	}
	*e = Error(p)
	return nil
}

// AsError returns err as an *Error, nil for nil: an *Error anywhere in its chain, a bare Code with the table's
// description as message, and Internal with err as cause for everything else.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if e == nil { // a nil *Error that was returned as an error
			return &Error{Code: Internal, Message: "the handler failed with a nil error"}
		}
		return e
	}
	var c Code
	if errors.As(err, &c) {
		row, _ := c.Row()
		return &Error{Code: c, Message: strings.TrimSuffix(row.Description, "."), Retryable: c.retryable(), cause: err}
	}
	return &Error{Code: Internal, Message: "the handler failed; the log has the cause under the call id", cause: err}
}

// InvalidIssues returns an InvalidInput error for issues, nil for none. The message leaves the detail to them.
func InvalidIssues(issues []Issue) *Error {
	switch len(issues) {
	case 0:
		return nil
	case 1:
		return &Error{Code: InvalidInput, Message: "the input has an issue", Issues: issues}
	}
	return &Error{Code: InvalidInput, Message: "the input has " + strconv.Itoa(len(issues)) + " issues", Issues: issues}
}

// Failure is the failure object: what HTTP answers, what `--json` prints, what an error frame carries.
type Failure struct {
	OK    bool   `json:"ok"`
	Error *Error `json:"error"`
}

// MarshalFailure returns the failure object of e as JSON.
func MarshalFailure(e *Error) []byte {
	b, err := json.Marshal(Failure{Error: e})
	if err != nil { // only Details can fail to encode
		c := *e
		c.Details = nil
		b, _ = json.Marshal(Failure{Error: &c})
	}
	return b
}

// cutCauses takes the operand of each %w out of format and args, together with a separator before it. Several causes
// are joined.
func cutCauses(format string, args []any) (string, []any, error) {
	if !strings.Contains(format, "%") {
		return format, args, nil
	}
	var out strings.Builder
	var rest []any
	var causes []error
	next := 0
	take := func() {
		if next < len(args) {
			rest = append(rest, args[next])
			next++
		}
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		j := i + 1
		for j < len(format) && strings.IndexByte("+-# 0123456789.*", format[j]) >= 0 {
			if format[j] == '*' {
				take()
			}
			j++
		}
		verb := format[i:min(j+1, len(format))]
		switch {
		case strings.HasSuffix(verb, "w"):
			head := strings.TrimSuffix(strings.TrimRight(out.String(), " "), ":")
			out.Reset()
			out.WriteString(head)
			if next < len(args) {
				if err, ok := args[next].(error); ok {
					causes = append(causes, err)
				}
				next++
			}
		case verb == "%%":
			out.WriteString(verb)
		default:
			out.WriteString(verb)
			take()
		}
		i = j
	}
	rest = append(rest, args[next:]...)
	switch len(causes) {
	case 0:
		return out.String(), rest, nil
	case 1:
		return out.String(), rest, causes[0]
	}
	return out.String(), rest, errors.Join(causes...)
}
