// Curl stands in for curl where there is none, so that the commands of the documentation run with nothing installed
// but Go. It knows the flags that the documentation uses and refuses all others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"time"
)

// failed is the exit status of curl -f for an HTTP status of 400 or more.
const failed = 22

// list is a flag that may be given several times.
type list []string

// String is the list as one line.
func (l *list) String() string { return strings.Join(*l, " ") }

// Set adds a value.
func (l *list) Set(v string) error {
	*l = append(*l, v)
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	status, err := fetch(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		status = max(status, 1)
	}
	stop()
	os.Exit(status)
}

// fetch does what the arguments ask and returns the exit status.
func fetch(ctx context.Context, args []string, stdout io.Writer) (int, error) {
	var headers, data, encoded list
	flags := flag.NewFlagSet("curl", flag.ContinueOnError)
	flags.Bool("s", false, "no progress (there is none)")
	flags.Bool("S", false, "errors although silent (they are always shown)")
	flags.Bool("N", false, "no buffering (there is none)")
	include := flags.Bool("i", false, "print the status and the headers")
	fail := flags.Bool("f", false, "fail on a status of 400 or more")
	query := flags.Bool("G", false, "send the data in the query")
	method := flags.String("X", "", "method")
	seconds := flags.Float64("m", 0, "most seconds to take")
	jsonBody := flags.String("json", "", "JSON to send")
	flags.Var(&headers, "H", "header")
	flags.Var(&data, "d", "data to send")
	flags.Var(&encoded, "data-urlencode", "name=text to encode and send")
	var urls []string
	for rest := split(args); len(rest) > 0; {
		if err := flags.Parse(rest); err != nil {
			return 2, err
		}
		if rest = flags.Args(); len(rest) > 0 {
			urls, rest = append(urls, rest[0]), rest[1:]
		}
	}
	if len(urls) != 1 {
		return 2, fmt.Errorf("want one URL, got %q", urls)
	}
	for _, pair := range encoded {
		name, text, _ := strings.Cut(pair, "=")
		data = append(data, name+"="+url.QueryEscape(text))
	}
	target, body, verb := urls[0], strings.Join(data, "&"), http.MethodGet
	contentType := "application/x-www-form-urlencoded"
	switch {
	case *jsonBody != "":
		body, verb, contentType = *jsonBody, http.MethodPost, "application/json"
	case *query && body != "":
		separator := "?"
		if strings.Contains(target, "?") {
			separator = "&"
		}
		target, body = target+separator+body, ""
	case len(data) > 0:
		verb = http.MethodPost
	}
	if *method != "" {
		verb = *method
	}
	if *seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*seconds*float64(time.Second)))
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, verb, target, strings.NewReader(body))
	if err != nil {
		return 3, err
	}
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return 2, fmt.Errorf("header %q has no colon", h)
		}
		if value = strings.TrimSpace(value); strings.EqualFold(name, "Host") {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return 7, err
	}
	defer res.Body.Close()
	if *fail && res.StatusCode >= 400 {
		return failed, fmt.Errorf("the requested URL returned error: %d", res.StatusCode)
	}
	if *include {
		fmt.Fprintf(stdout, "%s %s\r\n", res.Proto, res.Status)
		if err := res.Header.Write(stdout); err != nil {
			return 23, err
		}
		fmt.Fprint(stdout, "\r\n")
	}
	if _, err := io.Copy(stdout, res.Body); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return 28, err
		}
		return 18, err
	}
	return 0, nil
}

// split takes grouped short flags apart: -sS becomes -s -S.
func split(args []string) []string {
	var out []string
	for _, a := range args {
		letters, short := strings.CutPrefix(a, "-")
		if short && len(letters) > 1 && strings.Trim(letters, "sSNifG") == "" {
			for _, l := range letters {
				out = append(out, "-"+string(l))
			}
			continue
		}
		out = append(out, a)
	}
	return out
}
