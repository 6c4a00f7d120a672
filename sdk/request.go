package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// Bounds of what a server may answer, in bytes.
const (
	// MaxAnswer bounds a result. A kernel takes artifacts of the same size.
	MaxAnswer = 64 << 20
	// MaxFailure bounds a failure: it holds issues and details, no data.
	MaxFailure = 1 << 20
)

// Request is one call as Do and Follow take it: what a program sends that learns methods at run time, as the command
// line does.
type Request struct {
	// Signature says what the method is. Its Input may be nil: a query's input then travels as one JSON parameter.
	Signature kernelcontract.Signature
	// Input is a JSON object; nil is an empty one.
	Input json.RawMessage
	// Since is the cursor to go on after, for streams.
	Since string
	// Render asks for text instead of JSON.
	Render *kernelcontract.Render
	// Raw asks for a bytes result as it is instead of in JSON.
	Raw bool
	// OnOpen, when not nil, is called each time that a stream opens, from the goroutine that ranges over it.
	OnOpen func(Answer)
}

// Answer is what every answer of a kernel says beside its content.
type Answer struct {
	Status     int
	CallID     string // unique, sorts by time; it is in the server's log
	ServerID   string // stable for a data directory
	Generation uint64 // of the catalog, grows across restarts; 0: the server did not say
	MIMEType   string // of the content, with its parameters
}

// Form is how a result came.
type Form string

// The forms of a result.
const (
	JSON  Form = "json"
	Text  Form = "text"
	Bytes Form = "bytes"
)

// Response is a result.
type Response struct {
	Answer
	Form Form
	// Body is the bare result as JSON, the rendered text, or the bytes.
	Body []byte
}

// Do runs a query or a mutation. The error is a *kernelcontract.Error; a response comes with it when the server
// answered, with Body as it came. Under Request.Render a failure's Message is its rendered text.
func (c *Client) Do(ctx context.Context, req Request) (*Response, error) {
	a, err := c.do(ctx, req)
	if a == nil {
		return nil, err
	}
	r := &Response{Answer: a.Answer, Form: a.form, Body: a.body}
	if err != nil || r.Form != JSON {
		return r, err
	}
	var result json.RawMessage
	if err := a.decode(req.Signature.Ref, &result); err != nil {
		return r, err
	}
	if result == nil {
		result = json.RawMessage("null")
	}
	r.Body = result
	return r, nil
}

// Bytes runs a method by name whose result is a file, and takes it as it is rather than in JSON.
func (c *Client) Bytes(ctx context.Context, ref string, in any) (schema.Bytes, error) {
	sig, err := c.signature(ctx, ref)
	if err != nil {
		return schema.Bytes{}, err
	}
	input, err := c.encode(ref, in)
	if err != nil {
		return schema.Bytes{}, err
	}
	r, err := c.Do(ctx, Request{Signature: sig, Input: input, Raw: true})
	if err != nil {
		return schema.Bytes{}, err
	}
	if r.Form == JSON {
		return schema.Bytes{}, kernelcontract.InvalidInput.Errorf("the result of %s is not bytes: use Call", ref)
	}
	return schema.Bytes{MIMEType: r.MIMEType, Data: r.Body}, nil
}

// answer is a unary answer that was read whole.
type answer struct {
	Answer
	form Form
	body []byte
}

// do sends a unary request. The answer is not nil whenever the server gave one.
func (c *Client) do(ctx context.Context, req Request) (*answer, error) {
	if k := req.Signature.Kind; k != kernelcontract.KindQuery && k != kernelcontract.KindMutation {
		return nil, kernelcontract.InvalidInput.Errorf("%s is a %s: only a query or a mutation is called", req.Signature.Ref, k)
	}
	resp, err := c.send(ctx, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := c.readFailure(ctx, req, resp)
		return &answer{Answer: answerOf(resp), body: body}, err
	}
	a := &answer{Answer: answerOf(resp), form: formOf(req, resp)}
	if a.body, err = readBody(resp, MaxAnswer); err != nil {
		return nil, c.broken(ctx, req, true, err)
	}
	if a.form == "" {
		return a, c.foreign(req, resp)
	}
	return a, nil
}

// formOf says what the body of a successful answer is, "" when a kernel answers no such thing.
func formOf(req Request, resp *http.Response) Form {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.Header.Get(header.CallID) == "", err != nil:
		return ""
	case req.Render != nil && media == "text/plain":
		return Text
	case media == "application/json" && resp.Header.Get("Content-Disposition") == "":
		return JSON
	case req.Raw:
		return Bytes
	}
	return ""
}

// send sends a request and returns the answer's head.
func (c *Client) send(ctx context.Context, req Request) (*http.Response, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	r, err := c.request(httptrace.WithClientTrace(ctx, trace), req)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.broken(ctx, req, sent.Load(), err)
	}
	c.table.saw(answerOf(resp))
	return resp, nil
}

// request builds the HTTP request of a call.
func (c *Client) request(ctx context.Context, req Request) (*http.Request, error) {
	service, method, _ := strings.Cut(req.Signature.Ref, ".")
	path := route.Prefix + service + "/" + method
	if _, _, _, ok := route.Match(path); !ok {
		return nil, kernelcontract.InvalidInput.Errorf("%q is not a method: write plugin/service.method", req.Signature.Ref)
	}
	target := c.url + path
	var query string
	var body io.Reader
	if req.Signature.Kind == kernelcontract.KindMutation {
		input := req.Input
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		body = bytes.NewReader(input)
	} else {
		in := &schema.Schema{}
		if req.Signature.Input != nil {
			var err error
			if in, err = req.Signature.Input(); err != nil {
				return nil, kernelcontract.InvalidInput.Errorf("the input type of %s has no schema: %s", req.Signature.Ref, err.Error())
			}
		}
		var err error
		if query, err = route.Encode(in, req.Input); err != nil {
			return nil, kernelcontract.InvalidInput.Errorf("%s: %s", req.Signature.Ref, err.Error())
		}
	}
	if req.Raw {
		if query != "" {
			query += "&"
		}
		query += route.RawParam + "=1"
	}
	if query != "" {
		target += "?" + query
	}
	r, err := http.NewRequestWithContext(ctx, route.Verb(req.Signature.Kind), target, body)
	if err != nil {
		return nil, kernelcontract.InvalidInput.Errorf("%s: %s", req.Signature.Ref, err.Error())
	}
	r.Header = c.header.Clone()
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if req.Render != nil {
		r.Header.Set(header.Render, header.FormatRender(*req.Render))
	}
	if req.Since != "" {
		if !header.ValidCursor(req.Since) {
			return nil, kernelcontract.InvalidInput.Errorf("the cursor %q is not one: it is printable ASCII of at most %d bytes", req.Since, kernelcontract.MaxCursor)
		}
		r.Header.Set(header.LastEventID, req.Since)
	}
	return r, nil
}

func answerOf(resp *http.Response) Answer {
	generation, _ := strconv.ParseUint(resp.Header.Get(header.Generation), 10, 64)
	return Answer{
		Status: resp.StatusCode, CallID: resp.Header.Get(header.CallID), ServerID: resp.Header.Get(header.ServerID),
		Generation: generation, MIMEType: resp.Header.Get("Content-Type"),
	}
}

// decode reads the result of a JSON answer into out; nil drops it.
func (a *answer) decode(ref string, out any) error {
	if a.form != JSON {
		return kernelcontract.Internal.Errorf("the answer of %s is not JSON", ref)
	}
	success := struct {
		OK     bool `json:"ok"`
		Result any  `json:"result"`
	}{Result: out}
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	err := d.Decode(&success)
	if err == nil && !success.OK {
		err = errors.New("it is not a success")
	}
	if err == nil && d.More() {
		err = errors.New("something follows the JSON")
	}
	if err == nil && success.Result == nil && out != nil {
		err = json.Unmarshal([]byte("null"), out)
	}
	if err != nil {
		e := kernelcontract.Internal.Errorf("the answer of %s does not fit: %s", ref, err.Error()).WithCause(err)
		e.CallID = a.CallID
		return e
	}
	return nil
}

// errTooLarge says that an answer is larger than the client takes.
var errTooLarge = errors.New("the answer is larger than the client takes")

// readBody reads a body of at most limit bytes.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, errTooLarge
	}
	var b bytes.Buffer
	if resp.ContentLength > 0 {
		b.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1))
	if err == nil && n > limit {
		err = errTooLarge
	}
	return b.Bytes(), err
}

// readFailure reads an answer that is not a success; the error is never nil.
func (c *Client) readFailure(ctx context.Context, req Request, resp *http.Response) ([]byte, error) {
	body, err := readBody(resp, MaxFailure)
	if err != nil {
		return body, c.broken(ctx, req, true, err)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	like := kernelcontract.LikeOf(resp.StatusCode)
	var e *kernelcontract.Error
	switch {
	case media == "application/json":
		e = parseFailure(body)
	case media == "text/plain" && req.Render != nil && resp.Header.Get(header.CallID) != "":
		e = parseTextFailure(string(body), like, req.Signature.Kind)
	}
	if e == nil {
		return body, c.foreign(req, resp)
	}
	e.CallID = resp.Header.Get(header.CallID)
	if _, known := e.Code.Row(); !known {
		e.Like = like
	}
	e.Refusal = refusalOf(e.Code, resp.StatusCode)
	return body, e
}

// parseFailure reads a failure object, nil when it is none.
func parseFailure(body []byte) *kernelcontract.Error {
	var f kernelcontract.Failure
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // numbers in the details stay exact
	if d.Decode(&f) != nil || f.OK || f.Error == nil || f.Error.Code == "" {
		return nil
	}
	return f.Error
}

// parseTextFailure reads a failure that was rendered: "code: message" and a line for each issue.
func parseTextFailure(text string, like kernelcontract.Code, kind kernelcontract.Kind) *kernelcontract.Error {
	text = strings.TrimSuffix(text, "\n")
	code, message, ok := strings.Cut(text, ":")
	if !ok || !isCode(code) {
		return &kernelcontract.Error{Code: like, Message: text}
	}
	e := &kernelcontract.Error{Code: kernelcontract.Code(code), Message: strings.TrimPrefix(message, " ")}
	if row, known := e.Code.Row(); known {
		e.Retryable = row.Retry == kernelcontract.RetryAlways || row.Retry == kernelcontract.RetryQueries && kind != kernelcontract.KindMutation
	}
	return e
}

// isCode reports whether s is spelled like an error code.
func isCode(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || i > 0 && (c == '_' || c >= '0' && c <= '9')) {
			return false
		}
	}
	return s != ""
}

func refusalOf(code kernelcontract.Code, status int) kernelcontract.Refusal {
	if code != kernelcontract.InvalidInput {
		return 0
	}
	switch status {
	case http.StatusMethodNotAllowed:
		return kernelcontract.WrongVerb
	case http.StatusRequestEntityTooLarge:
		return kernelcontract.TooLarge
	case http.StatusUnsupportedMediaType:
		return kernelcontract.NotJSON
	}
	return 0
}

// foreign is the error for an answer that no kernel gives: that of a proxy in front of one, or of something else that
// listens there.
func (c *Client) foreign(req Request, resp *http.Response) *kernelcontract.Error {
	status := strconv.Itoa(resp.StatusCode)
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		return kernelcontract.ServiceUnavailable.Errorf("%s redirects to %q, which is not followed; make that the server URL if it is right",
			c.url, resp.Header.Get("Location"))
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusRequestEntityTooLarge:
		e := kernelcontract.LikeOf(code).Errorf("what answers at %s in front of the server refuses the call with status %s", c.url, status)
		e.Refusal = refusalOf(e.Code, code)
		return e
	case code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout, code == http.StatusTooManyRequests:
		e := kernelcontract.ServiceUnavailable.Errorf("what answers at %s in front of the server has status %s", c.url, status)
		e.Retryable = req.Signature.Kind != kernelcontract.KindMutation
		return e
	}
	return kernelcontract.ServiceUnavailable.Errorf("what answers at %s is not a kernel: status %s, content type %q; check the server URL", c.url, status, resp.Header.Get("Content-Type"))
}

// broken is the error of a request that got no whole answer. sent says that some of it may have reached the server.
func (c *Client) broken(ctx context.Context, req Request, sent bool, err error) *kernelcontract.Error {
	reads := req.Signature.Kind != kernelcontract.KindMutation
	e := &kernelcontract.Error{Retryable: reads}
	var timeout net.Error
	switch ctxErr := ctx.Err(); {
	case errors.Is(context.Cause(ctx), errStalled):
		e.Code, e.Message, err = kernelcontract.ServiceUnavailable, "the connection to "+c.url+" stalled", errStalled
	case errors.Is(ctxErr, context.DeadlineExceeded):
		e.Code, e.Message, err = kernelcontract.Timeout, "the deadline passed before "+req.Signature.Ref+" answered", ctxErr
	case ctxErr != nil:
		e.Code, e.Message, err = kernelcontract.Cancelled, req.Signature.Ref+" was cancelled", ctxErr
	case errors.Is(err, errTooLarge):
		e.Code, e.Message, e.Retryable = kernelcontract.Internal, "the answer of "+req.Signature.Ref+" is larger than a client takes", false
	case !sent:
		err = &UnreachableError{URL: c.url, Err: reason(err)}
		e.Code, e.Message, e.Retryable = kernelcontract.ServiceUnavailable, err.Error(), true
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Code, e.Message = kernelcontract.Timeout, "the HTTP client's timeout passed before "+req.Signature.Ref+" answered"
	default:
		e.Code, e.Message = kernelcontract.ServiceUnavailable, "the connection to "+c.url+" broke: "+reason(err).Error()
		if !reads {
			e.Message += "; whether " + req.Signature.Ref + " took place is not known"
		}
	}
	return e.WithCause(err)
}

// reason drops what net/http puts around an error: the method and the URL, whose query holds the input.
func reason(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
