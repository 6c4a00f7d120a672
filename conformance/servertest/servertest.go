// Package servertest checks from outside that a server keeps the HTTP rules of docs/spec/http.md and
// docs/spec/principals.md. It can be pointed at any server, of this project or not, that runs the plugins hello-slot and
// notes-fixture:
//
//	func TestConformance(t *testing.T) { servertest.TestServer(t, "http://127.0.0.1:38886") }
//
// Every check has the name of its rule and talks plain HTTP, over net/http or a socket of its own; it shares no code with
// a server. The checks add notes, attachments and counters under names of their own and remove the tokens they make;
// they can run again and again on one server, and beside other callers.
package servertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options says which server to check, and how.
type Options struct {
	// BaseURL is the server's address, such as http://127.0.0.1:38886, without a path.
	BaseURL string
	// Token is a token of scope all. It is needed, and sent with every request, when BaseURL is not on this machine: the
	// checks of local evidence are skipped then.
	Token string
	// Short leaves out the checks that have to wait for seconds.
	Short bool
}

// Result is the outcome of one check.
type Result struct {
	Check   string // the rule's name, such as http.verb.refused
	Rule    string // the rule in a sentence
	Err     error  // what broke it, nil when it holds or was skipped
	Skipped string // why it could not be checked, "" when it was
}

// checkTimeout bounds one check, beyond what it is known to wait for: it makes a few requests.
const checkTimeout = 10 * time.Second

// TestServer checks the server at baseURL on this machine, with a subtest for each rule.
func TestServer(t *testing.T, baseURL string) {
	t.Helper()
	Test(t, Options{BaseURL: baseURL})
}

// Test checks the server of o, with a subtest for each rule.
func Test(t *testing.T, o Options) {
	t.Helper()
	results, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Run(r.Check, func(t *testing.T) {
			switch {
			case r.Err != nil:
				t.Errorf("%s: %v", r.Rule, r.Err)
			case r.Skipped != "":
				t.Skip(r.Skipped)
			}
		})
	}
}

// Run checks the server of o and returns the results in the order of Rules. The error says that there is nothing to
// check: o names no server, or none that answers and has the plugins.
func Run(ctx context.Context, o Options) ([]Result, error) {
	s, err := newSuite(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all := checks()
	results := make([]Result, len(all))
	var waiting sync.WaitGroup
	for i, c := range all {
		results[i] = Result{Check: c.name, Rule: c.rule}
		switch {
		case c.wait > 0 && o.Short:
			results[i].Skipped = "it takes " + c.wait.String()
		case c.local && !s.local:
			results[i].Skipped = "the server is not on this machine"
		case c.wait > 0: // beside the others, which are done long before
			waiting.Go(func() { s.check(ctx, c, &results[i]) })
		default:
			s.check(ctx, c, &results[i])
		}
	}
	waiting.Wait()
	return results, nil
}

// Rules lists the checks by name, with the rule that each proves.
func Rules() []Result {
	var rules []Result
	for _, c := range checks() {
		rules = append(rules, Result{Check: c.name, Rule: c.rule})
	}
	return rules
}

// check is one rule with what proves it.
type check struct {
	name  string
	rule  string
	run   func(p *probe)
	local bool          // needs a server on this machine
	wait  time.Duration // how long it has to wait
}

// checks lists every check.
func checks() []check {
	var all []check
	for _, chapter := range [][]check{headerChecks, routeChecks, queryChecks, bodyChecks, requestHeaderChecks, orderChecks, errorChecks, contentChecks, streamChecks, principalChecks, originChecks} {
		all = append(all, chapter...)
	}
	return all
}

// suite is one run against one server.
type suite struct {
	base   *url.URL
	token  string
	local  bool
	client *http.Client
	run    string // makes names of this run unique

	mu     sync.Mutex
	tokens []string // names of tokens to revoke
}

// newSuite checks o and that the server has what the checks need.
func newSuite(ctx context.Context, o Options) (*suite, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("servertest: %q is not the address of a server: write http://HOST:PORT", o.BaseURL)
	}
	u.Path = ""
	s := &suite{base: u, token: o.Token, local: isLocal(u.Hostname()), run: strings.ToLower(rand.Text()[:10])}
	if !s.local && o.Token == "" {
		return nil, errors.New("servertest: a server on another machine needs Options.Token")
	}
	if s.local {
		s.token = ""
	}
	t := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}
	s.client = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var r Result
	s.check(ctx, check{run: func(p *probe) {
		for _, path := range []string{greetPath, notesPath + "/list"} {
			if a := p.get(path, "name=bb"); a.status == http.StatusNotFound {
				p.failf("there is no %s: run the plugins hello-slot and notes-fixture", path)
			}
		}
	}}, &r)
	if r.Err != nil {
		s.close()
		return nil, fmt.Errorf("servertest: %s: %w", o.BaseURL, r.Err)
	}
	return s, nil
}

func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// check runs one check.
func (s *suite) check(ctx context.Context, c check, r *Result) {
	ctx, cancel := context.WithTimeout(ctx, c.wait+checkTimeout)
	defer cancel()
	p := &probe{suite: s, ctx: ctx}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case stop:
		default:
			p.problems = append(p.problems, fmt.Errorf("the check panicked: %v", v))
		}
		for _, undo := range p.cleanups {
			undo()
		}
		r.Err, r.Skipped = errors.Join(p.problems...), p.skipped
	}()
	c.run(p)
}

// close revokes what the run made.
func (s *suite) close() {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	for _, name := range s.tokens {
		var r Result
		s.check(ctx, check{run: func(p *probe) { p.post(tokenPath+"/revoke", `{"name":"`+name+`"}`) }}, &r)
	}
	s.client.CloseIdleConnections()
}
