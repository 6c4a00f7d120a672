package fakemodel

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// A Request is one that the server was sent. It must not be changed.
type Request struct {
	// Method is the HTTP method.
	Method string
	// Path is the path with the query, such as "/v1/messages?beta=true".
	Path string
	// Header has the headers, without those that carry keys.
	Header http.Header
	// Body is the body, decompressed; nil when it was not read because the request was refused before.
	Body []byte
	// Text is the last message of the user, "" when there is none.
	Text string
}

// keyHeaders carry credentials.
func keyHeaders() []string {
	return []string{"Authorization", "X-Api-Key", "Api-Key", "Cookie", "Proxy-Authorization"}
}

func (s *Server) record(r *http.Request, body []byte, c *conversation) {
	request := Request{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
	for _, name := range keyHeaders() {
		request.Header.Del(name)
	}
	if c != nil {
		request.Text = c.script
	}
	s.update(func() { s.requests = append(s.requests, request) })
}

// Requests returns the requests so far in the order of their arrival, refused ones included. They are kept as long as
// the server is.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// WaitRequests waits until at least n requests have come and returns them all. It fails when the context ends.
func (s *Server) WaitRequests(ctx context.Context, n int) ([]Request, error) {
	err := s.wait(ctx, func() bool { return len(s.requests) >= n })
	requests := s.Requests()
	if err != nil {
		return requests, fmt.Errorf("fakemodel: %d of %d requests came: %w", len(requests), n, err)
	}
	return requests, nil
}

// WaitHanging waits until exactly n answers hang: their first piece is sent, and their client is still there. It fails
// when the context ends.
func (s *Server) WaitHanging(ctx context.Context, n int) error {
	if err := s.wait(ctx, func() bool { return s.hanging == n }); err != nil {
		return fmt.Errorf("fakemodel: waiting for %d hanging answers: %w", n, err)
	}
	return nil
}

// WaitIdle waits until no request is under way. It fails when the context ends.
func (s *Server) WaitIdle(ctx context.Context) error {
	if err := s.wait(ctx, func() bool { return s.active == 0 }); err != nil {
		return fmt.Errorf("fakemodel: waiting for requests to end: %w", err)
	}
	return nil
}

// update changes the state under the lock and wakes those who wait.
func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) wait(ctx context.Context, condition func() bool) error {
	for {
		s.mu.Lock()
		met, changed := condition(), s.changed
		s.mu.Unlock()
		if met {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
