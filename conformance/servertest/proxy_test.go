package servertest_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

// mutant is a reverse proxy that breaks one rule on the way through. Every hook may be nil.
type mutant struct {
	check string // the one that must fail
	// request changes what the server gets.
	request func(r *outgoing)
	// response changes what the client gets.
	response func(r *http.Request, a *incoming)
	// block changes a block of an event stream, with its blank line.
	block func(r *http.Request, block string) string
	// slow says that the check has to wait.
	slow bool
}

// outgoing is a request on its way.
type outgoing struct {
	*http.Request
	Body string
}

// incoming is an answer on its way; it is no stream.
type incoming struct {
	Status int
	Header http.Header
	Body   string
}

// replace changes the body.
func (a *incoming) replace(from, to string) { a.Body = strings.ReplaceAll(a.Body, from, to) }

// become makes it another answer.
func (a *incoming) become(status int, body string) {
	a.Status, a.Body = status, body
	a.Header.Set("Content-Type", "application/json")
}

// maxForwarded bounds a body on its way: the checks send less.
const maxForwarded = 8 << 20

// proxy runs m in front of the server at target until stop.
func proxy(target string, m mutant) (address string, stop func()) {
	upstream := &url.URL{Host: strings.TrimPrefix(target, "http://")}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}
	var own string // the proxy's address
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxForwarded))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		out := &outgoing{Request: r.Clone(r.Context()), Body: string(body)}
		for i, o := range out.Header["Origin"] { // the own origin of the one becomes that of the other
			out.Header["Origin"][i] = strings.Replace(o, ":"+portOf(own), ":"+upstream.Port(), 1)
		}
		path, _, _ := strings.Cut(r.RequestURI, "?")
		out.URL = &url.URL{Scheme: "http", Host: upstream.Host, Opaque: path, RawQuery: r.URL.RawQuery}
		if m.request != nil {
			m.request(out)
		}
		send := out.Request
		send.RequestURI, send.Body, send.ContentLength = "", io.NopCloser(strings.NewReader(out.Body)), int64(len(out.Body))
		if out.Body == "" {
			send.Body = http.NoBody
		}
		if send.Host == "" {
			send.Host = "empty.invalid" // no request goes out without one; it is as foreign
		}
		if send.Header.Get("User-Agent") == "" {
			send.Header.Set("User-Agent", "")
		}
		resp, err := transport.RoundTrip(send)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		if o := resp.Header.Get("Access-Control-Allow-Origin"); o != "" {
			resp.Header.Set("Access-Control-Allow-Origin", strings.Replace(o, ":"+upstream.Port(), ":"+portOf(own), 1))
		}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			m.stream(w, r, resp)
			return
		}
		content, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		in := &incoming{Status: resp.StatusCode, Header: resp.Header, Body: string(content)}
		if m.response != nil {
			m.response(r, in)
		}
		copyHeader(w.Header(), in.Header)
		if r.Method != http.MethodHead {
			w.Header().Del("Content-Length")
		}
		w.WriteHeader(in.Status)
		_, _ = io.WriteString(w, in.Body)
	}))
	own = front.URL
	return front.URL, func() {
		front.CloseClientConnections()
		front.Close()
		transport.CloseIdleConnections()
	}
}

// stream passes an event stream on, block by block.
func (m *mutant) stream(w http.ResponseWriter, r *http.Request, resp *http.Response) {
	if m.response != nil {
		in := &incoming{Status: resp.StatusCode, Header: resp.Header}
		m.response(r, in)
	}
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w).Flush
	_ = flush()
	lines := bufio.NewReader(resp.Body)
	var block bytes.Buffer
	for {
		line, err := lines.ReadString('\n')
		block.WriteString(line)
		if err != nil {
			_, _ = block.WriteTo(w)
			return
		}
		if strings.TrimRight(line, "\r\n") != "" {
			continue
		}
		text := block.String()
		block.Reset()
		if m.block != nil {
			text = m.block(r, text)
		}
		if _, err := io.WriteString(w, text); err != nil || flush() != nil {
			return
		}
	}
}

func copyHeader(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
