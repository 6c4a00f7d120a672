package bundle

import (
	"encoding/json"
	"net/url"
)

// Request is an HTTP request.
type Request struct {
	Method string
	Path   string // below the agent, escaped
	Body   []byte // at most 256 KiB unless the operator allows more
}

// JSON decodes the body into v, a pointer. The error is InvalidInput.
func (r *Request) JSON(v any) error {
	if err := json.Unmarshal(r.Body, v); err != nil {
		return Errorf(InvalidInput, "the body is not the JSON that is expected: %s", err)
	}
	return nil
}

// Response is an HTTP response. The host sets the length and the headers that protect browsers.
type Response struct {
	Status  int               // 200 to 599; 0: 200, or 204 without a body
	Headers map[string]string // content-type, cache-control, location and such
	Body    []byte            // at most 4 MiB
}

// JSON returns a response with v as JSON; it fits a handler's return. The error says that v does not encode.
func JSON(status int, v any) (*Response, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &Response{Status: status, Headers: map[string]string{"content-type": "application/json"}, Body: raw}, nil
}

// Text returns a response with a plain text.
func Text(status int, text string) (*Response, error) {
	return &Response{Status: status, Headers: map[string]string{"content-type": "text/plain; charset=utf-8"}, Body: []byte(text)}, nil
}

// Values are the values of a query string.
type Values = url.Values
