package fakemodel

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
)

// An api is one of the APIs: how its requests are read and its answers written.
type api interface {
	// decode reads the body of a request for an answer.
	decode(body []byte) (*conversation, error)
	// events are the events of a streamed answer.
	events(a *answer) iter.Seq[frame]
	// whole is the body of an answer that is not streamed.
	whole(a *answer) any
	// failure is the body of an error.
	failure(f *failure) any
	// models is the body of the list of models.
	models(names []string, created int64) any
	// model is the body for one of them.
	model(name string, created int64) any
}

// A frame is one server-sent event, or a pause that only the client can end.
type frame struct {
	event string // "" for none
	data  any    // a string is sent as it stands
	hang  bool
}

// A failure is an error as a client sees it.
type failure struct {
	status  int
	message string
	code    string // OpenAI
}

func (f *failure) Error() string { return f.message }

func refused(status int, format string, arguments ...any) *failure {
	return &failure{status: status, message: fmt.Sprintf(format, arguments...)}
}

// scripted is the failure that a script asks for.
func scripted(status int) *failure {
	return refused(status, "the script asked for status %d", status)
}

// decodeInto reads a JSON body.
func decodeInto(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return refused(http.StatusBadRequest, "the body is not a JSON object of this API: %v", err)
	}
	return nil
}

// openAI has what the two APIs of OpenAI share.
type openAI struct{}

func (openAI) failure(f *failure) any {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case f.status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case f.status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case f.status >= 500:
		kind = "server_error"
	}
	if f.code != "" {
		code = f.code
	}
	return object{"error": object{"message": f.message, "type": kind, "param": nil, "code": code}}
}

func (o openAI) models(names []string, created int64) any {
	list := []any{}
	for _, name := range names {
		list = append(list, o.model(name, created))
	}
	return object{"object": "list", "data": list}
}

func (openAI) model(name string, created int64) any {
	return object{"id": name, "object": "model", "created": created, "owned_by": "fakemodel"}
}

// offersNone reports whether a tool_choice forbids calls.
func offersNone(choice json.RawMessage) bool {
	if string(choice) == `"none"` {
		return true
	}
	var object struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(choice, &object) == nil && object.Type == "none"
}
