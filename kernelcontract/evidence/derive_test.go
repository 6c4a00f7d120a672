package evidence_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/evidence"
)

var (
	here  = netip.MustParseAddr("127.0.0.1")
	there = netip.MustParseAddr("192.0.2.7")
)

func policy(t testing.TB, c evidence.Config) *evidence.Policy {
	t.Helper()
	p, err := evidence.NewPolicy(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func configured(t testing.TB) *evidence.Policy {
	return policy(t, evidence.Config{Hosts: []string{"bb.example.com"}, Origins: []string{"https://app.example.com"}})
}

// local is a caller on this machine that shows nothing; change returns it with something more.
func local(change func(e *evidence.Evidence)) evidence.Evidence {
	e := evidence.Evidence{Peer: here, Port: 38886, Host: "127.0.0.1:38886"}
	if change != nil {
		change(&e)
	}
	return e
}

func remote(change func(e *evidence.Evidence)) evidence.Evidence {
	return local(func(e *evidence.Evidence) {
		e.Peer, e.Host = there, "bb.example.com"
		if change != nil {
			change(e)
		}
	})
}

func session(e *evidence.Evidence) {
	e.GatePresent = true
	e.Gate = &evidence.Claims{Kind: evidence.GateSession, Account: "ann", Host: "bb.example.com", Proto: "https"}
	e.Host = "bb.example.com"
}

func machine(e *evidence.Evidence) {
	session(e)
	e.Gate.Kind = evidence.GateMachine
}

func token(e *evidence.Evidence) {
	e.Credential = evidence.Credential{Kind: evidence.TokenCredential, Name: "ci"}
}

func hostKey(e *evidence.Evidence) {
	e.Credential = evidence.Credential{Kind: evidence.HostCredential, HostID: "h1"}
}

func proxy(e *evidence.Evidence) {
	hostKey(e)
	e.Credential.Proxy, e.HostProxy, e.Context.HostID = true, true, "h1"
}

func with(changes ...func(e *evidence.Evidence)) func(e *evidence.Evidence) {
	return func(e *evidence.Evidence) {
		for _, c := range changes {
			c(e)
		}
	}
}

func origin(o ...string) func(e *evidence.Evidence) {
	return func(e *evidence.Evidence) { e.Origin = o }
}
func host(h string) func(e *evidence.Evidence) { return func(e *evidence.Evidence) { e.Host = h } }
func thread(id string) func(e *evidence.Evidence) {
	return func(e *evidence.Evidence) { e.Context.ThreadID = id }
}
func fetchSite(s string) func(e *evidence.Evidence) {
	return func(e *evidence.Evidence) { e.FetchSite = []string{s} }
}
func forwarded(e *evidence.Evidence) { e.Forwarded = true }
func none(e *evidence.Evidence)      { e.Auth = kernelcontract.AuthNone }
func broken(e *evidence.Evidence)    { e.Credential.Kind = evidence.InvalidCredential }
func badGate(e *evidence.Evidence)   { e.GatePresent = true }
func peer(addr netip.Addr) func(*evidence.Evidence) {
	return func(e *evidence.Evidence) { e.Peer = addr }
}

func Example() {
	p, _ := evidence.NewPolicy(evidence.Config{Origins: []string{"https://app.example.com"}})
	e := evidence.Evidence{Peer: netip.MustParseAddr("127.0.0.1"), Host: "localhost:38886"}
	who, row, _ := p.Derive(&e)
	fmt.Println(who.Actor, who.Via, row)
	e.Origin = []string{"https://evil.example"}
	_, row, err := p.Derive(&e)
	fmt.Println(err.Code, row)
	// Output:
	// user:local loopback 11
	// forbidden 8
}

// TestRows proves each row of the principal table, what keeps it from matching, and its order among the others.
func TestRows(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    evidence.Evidence
		row  evidence.Row
		want string // "actor via", or a code
	}{
		{"row 0: foreign Host", local(host("evil.example")), 0, "forbidden"},
		{"row 0: foreign Host under auth none", local(with(host("evil.example"), none)), 0, "forbidden"},
		{"row 0: foreign Host with a token", local(with(host("evil.example"), token)), 0, "forbidden"},
		{"row 0: foreign Host with a broken credential", local(with(host("evil.example"), broken)), 0, "forbidden"},
		{"row 0: empty Host", local(host("")), 0, "forbidden"},
		{"row 0: name that only begins as a loopback one", local(host("localhost.evil.example")), 0, "forbidden"},
		{"row 0: not for a remote peer", remote(with(host("evil.example"), token)), 7, "user:ci token"},
		{"row 0: not with a gate", local(session), 6, "user:ann gate-session"},
		{"row 0: configured Host", local(host("BB.example.com.:443")), 11, "user:local loopback"},

		{"row 1: relay on behalf of a caller", evidence.Evidence{Relay: "notes", Relayed: kernelcontract.Principal{Actor: "user:ann"}}, 1, "user:ann plugin:notes"},
		{"row 1: a plugin's own call", evidence.Evidence{Relay: "notes"}, 1, "plugin:notes plugin:notes"},

		{"row 2: tool adapter", evidence.Evidence{Session: "t1"}, 2, "agent:t1 tool"},
		{"row 2: session key", local(func(e *evidence.Evidence) {
			e.Credential = evidence.Credential{Kind: evidence.SessionCredential, ThreadID: "t1"}
		}), 2, "agent:t1 tool"},
		{"row 2: session key from elsewhere", remote(func(e *evidence.Evidence) {
			e.Credential = evidence.Credential{Kind: evidence.SessionCredential, ThreadID: "t1"}
		}), 13, "unauthenticated"},
		{"row 2: session key through a gate", local(func(e *evidence.Evidence) {
			session(e)
			e.Credential = evidence.Credential{Kind: evidence.SessionCredential, ThreadID: "t1"}
		}), 13, "unauthenticated"},

		{"row 3: proxy without thread", remote(proxy), 3, "user:host:h1 host-proxy"},
		{"row 3: proxy for a thread", remote(with(proxy, thread("t1"), func(e *evidence.Evidence) { e.Credential.ThreadOnHost = true })), 3, "agent:t1 host-proxy"},
		{"row 3: thread elsewhere", remote(with(proxy, thread("t1"))), 3, "forbidden"},
		{"row 3: thread elsewhere under auth none", remote(with(proxy, thread("t1"), none)), 3, "forbidden"},
		{"row 3: another host", remote(with(proxy, func(e *evidence.Evidence) { e.Context.HostID = "h2" })), 3, "forbidden"},
		{"row 3: no host in the context", remote(with(proxy, func(e *evidence.Evidence) { e.Context.HostID = "" })), 3, "forbidden"},
		{"row 3: key without proxy", remote(with(proxy, func(e *evidence.Evidence) { e.Credential.Proxy = false })), 3, "forbidden"},
		{"row 3: the header alone is nothing", local(func(e *evidence.Evidence) { e.HostProxy = true }), 11, "user:local loopback"},

		{"row 4: host key", remote(hostKey), 4, "system:host:h1 host"},
		{"row 4: before the gate", local(with(session, hostKey)), 4, "system:host:h1 host"},
		{"row 4: proxy key, own call", remote(func(e *evidence.Evidence) { hostKey(e); e.Credential.Proxy = true }), 4, "system:host:h1 host"},

		{"row 5: machine", local(machine), 5, "user:ann gate-machine"},
		{"row 5: machine with a thread", local(with(machine, thread("t1"))), 5, "agent:t1 gate-machine"},
		{"row 5: Origin does not matter", local(with(machine, origin("https://evil.example"))), 5, "user:ann gate-machine"},
		{"row 5: before the token", local(with(machine, token)), 5, "user:ann gate-machine"},
		{"row 5: forwarded headers do not matter", local(with(machine, forwarded)), 5, "user:ann gate-machine"},

		{"row 6: session", local(session), 6, "user:ann gate-session"},
		{"row 6: thread does not matter", local(with(session, thread("t1"))), 6, "user:ann gate-session"},
		{"row 6: Origin of the gate", local(with(session, origin("https://bb.example.com"))), 6, "user:ann gate-session"},
		{"row 6: other Origin", local(with(session, origin("https://evil.example"))), 6, "forbidden"},
		{"row 6: other scheme", local(with(session, origin("http://bb.example.com"))), 6, "forbidden"},
		{"row 6: other port", local(with(session, origin("https://bb.example.com:8443"))), 6, "forbidden"},
		{"row 6: allowed Origin that is not the gate's", local(with(session, origin("https://app.example.com"))), 6, "forbidden"},
		{"row 6: other Origin under auth none", local(with(session, origin("https://evil.example"), none)), 6, "forbidden"},
		{"row 6: two Origins", local(with(session, origin("https://bb.example.com", "https://bb.example.com"))), 6, "forbidden"},
		{"row 6: Host of the gate, not configured", local(func(e *evidence.Evidence) {
			session(e)
			e.Gate.Host, e.Host = "other.example:8443", "other.example:8443"
		}), 6, "user:ann gate-session"},
		{"row 6: Host rewritten by the gate", local(with(session, host("127.0.0.1:38886"))), 6, "user:ann gate-session"},
		{"row 6: other Host", local(with(session, host("evil.example"))), 6, "forbidden"},
		{"row 6: from elsewhere", remote(session), 13, "unauthenticated"},

		{"row 7: token", remote(token), 7, "user:ci token"},
		{"row 7: on this machine", local(token), 7, "user:ci token"},
		{"row 7: Origin does not matter", remote(with(token, origin("https://evil.example"))), 7, "user:ci token"},
		{"row 7: thread does not matter", remote(with(token, thread("t1"))), 7, "user:ci token"},
		{"row 7: forwarded headers do not matter", local(with(token, forwarded)), 7, "user:ci token"},

		{"row 8: foreign Origin", local(origin("https://evil.example")), 8, "forbidden"},
		{"row 8: from elsewhere", remote(origin("https://evil.example")), 8, "forbidden"},
		{"row 8: under auth none", local(with(origin("https://evil.example"), none)), 8, "forbidden"},
		{"row 8: under auth none with a broken credential", local(with(origin("https://evil.example"), broken, none)), 8, "forbidden"},
		{"row 8: null", local(origin("null")), 8, "forbidden"},
		{"row 8: empty", local(origin("")), 8, "forbidden"},
		{"row 8: two", local(origin("http://127.0.0.1:38886", "http://127.0.0.1:38886")), 8, "forbidden"},
		{"row 8: own host, other port", local(origin("http://127.0.0.1:3000")), 8, "forbidden"},
		{"row 8: own host, other scheme", local(origin("https://127.0.0.1:38886")), 8, "forbidden"},
		{"row 8: own port, unknown", local(func(e *evidence.Evidence) { e.Port, e.Origin = 0, []string{"http://localhost:0"} }), 8, "forbidden"},
		{"row 8: subdomain of an allowed one", local(origin("https://x.app.example.com")), 8, "forbidden"},
		{"row 8: path behind an allowed one", local(origin("https://app.example.com/x")), 8, "forbidden"},

		{"row 9: own origin", local(origin("http://127.0.0.1:38886")), 9, "user:local origin"},
		{"row 9: own origin by name", local(origin("http://localhost:38886")), 9, "user:local origin"},
		{"row 9: own origin in IPv6", local(origin("http://[::1]:38886")), 9, "user:local origin"},
		{"row 9: own origin over TLS", local(func(e *evidence.Evidence) { e.TLS, e.Origin = true, []string{"https://localhost:38886"} }), 9, "user:local origin"},
		{"row 9: own origin on the scheme's port", local(func(e *evidence.Evidence) { e.Port, e.Origin = 80, []string{"http://localhost"} }), 9, "user:local origin"},
		{"row 9: configured origin", local(origin("https://APP.example.com")), 9, "user:local origin"},
		{"row 9: configured origin with its port", local(origin("https://app.example.com:443")), 9, "user:local origin"},
		{"row 9: before the thread", local(with(origin("https://app.example.com"), thread("t1"))), 9, "user:local origin"},
		{"row 9: from elsewhere", remote(origin("https://app.example.com")), 13, "unauthenticated"},
		{"row 9: behind a proxy", local(with(origin("https://app.example.com"), forwarded)), 13, "unauthenticated"},

		{"row 10: thread", local(thread("t1")), 10, "agent:t1 loopback"},
		{"row 10: behind a proxy", local(with(thread("t1"), forwarded)), 13, "unauthenticated"},
		{"row 10: from elsewhere", remote(thread("t1")), 13, "unauthenticated"},

		{"row 11: this machine", local(nil), 11, "user:local loopback"},
		{"row 11: all of 127/8", local(peer(netip.MustParseAddr("127.9.8.7"))), 11, "user:local loopback"},
		{"row 11: IPv6", local(peer(netip.MustParseAddr("::1"))), 11, "user:local loopback"},
		{"row 11: mapped IPv4", local(peer(netip.MustParseAddr("::ffff:127.0.0.1"))), 11, "user:local loopback"},
		{"row 11: behind a proxy", local(forwarded), 13, "unauthenticated"},
		{"row 11: no address", local(peer(netip.Addr{})), 13, "unauthenticated"},
		{"row 11: under auth none", local(none), 11, "user:local loopback"},

		{"row 12: from elsewhere", remote(none), 12, "user:anonymous anonymous"},
		{"row 12: behind a proxy", local(with(forwarded, none)), 12, "user:anonymous anonymous"},
		{"row 12: broken credential never becomes local", local(with(broken, none)), 12, "user:anonymous anonymous"},
		{"row 12: gate that does not verify never becomes local", local(with(badGate, none)), 12, "user:anonymous anonymous"},
		{"row 12: allowed Origin from elsewhere", remote(with(origin("https://app.example.com"), none)), 12, "user:anonymous anonymous"},

		{"row 13: from elsewhere", remote(nil), 13, "unauthenticated"},
		{"row 13: auth machine", remote(func(e *evidence.Evidence) { e.Auth = kernelcontract.AuthMachine }), 13, "unauthenticated"},
		{"row 13: broken credential", local(broken), 13, "unauthenticated"},
		{"row 13: broken credential beside a good gate", local(with(session, broken)), 13, "unauthenticated"},
		{"row 13: gate that does not verify", local(badGate), 13, "unauthenticated"},
		{"row 13: gate that does not verify beside a token", local(with(token, badGate)), 13, "unauthenticated"},
		{"row 13: broken credential before the Origin", local(with(broken, origin("https://evil.example"))), 13, "unauthenticated"},

		{"fetch metadata: cross-site", local(fetchSite("cross-site")), 0, "forbidden"},
		{"fetch metadata: same-site", local(fetchSite("same-site")), 0, "forbidden"},
		{"fetch metadata: under auth none", local(with(fetchSite("cross-site"), none)), 0, "forbidden"},
		{"fetch metadata: with a token", local(with(fetchSite("cross-site"), token)), 0, "forbidden"},
		{"fetch metadata: allowed Origin", local(with(fetchSite("cross-site"), origin("https://app.example.com"))), 9, "user:local origin"},
		{"fetch metadata: foreign Origin", local(with(fetchSite("cross-site"), origin("https://evil.example"))), 0, "forbidden"},
		{"fetch metadata: navigation", local(with(fetchSite("cross-site"), none, func(e *evidence.Evidence) { e.Navigation = true })), 11, "user:local loopback"},
		{"fetch metadata: same-origin", local(fetchSite("same-origin")), 11, "user:local loopback"},
		{"fetch metadata: none", local(fetchSite("none")), 11, "user:local loopback"},
		{"fetch metadata: one of two", local(func(e *evidence.Evidence) { e.FetchSite = []string{"none", "cross-site"} }), 0, "forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			who, row, err := configured(t).Derive(&tt.e)
			got := who.Actor + " " + string(who.Via)
			if err != nil {
				got = string(err.Code)
				is.Equal(who, kernelcontract.Principal{})
				is.True(err.Message != "")
			}
			is.Equal(got, tt.want)
			is.Equal(row, tt.row)
		})
	}
}

func TestRequireTokenSwitchesLocalRowsOff(t *testing.T) {
	p := policy(t, evidence.Config{RequireToken: true})
	for name, e := range map[string]evidence.Evidence{
		"row 9":  local(origin("http://127.0.0.1:38886")),
		"row 10": local(thread("t1")),
		"row 11": local(nil),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			_, row, err := p.Derive(&e)
			is.True(err != nil)
			is.Equal(err.Code, kernelcontract.Unauthenticated)
			is.Equal(row, evidence.Row(13))
		})
	}
}

// TestAuthAdmits proves every cell of the table of auth and via.
func TestAuthAdmits(t *testing.T) {
	vias := []kernelcontract.Via{"loopback", "origin", "gate-session", "token", "host-proxy", "gate-machine", "tool", "host", "plugin:x", "anonymous"}
	for auth, cells := range map[kernelcontract.Auth]string{
		kernelcontract.AuthOperator: "+++++++-+-",
		kernelcontract.AuthMachine:  "+++++++++-",
		kernelcontract.AuthNone:     "++++++++++",
	} {
		for i, via := range vias {
			t.Run(string(auth)+" "+string(via), func(t *testing.T) {
				is.New(t).Equal(auth.Admits(via), cells[i] == '+')
			})
		}
	}
}

func TestLocal(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    evidence.Evidence
		want bool
	}{
		{"this machine", local(nil), true},
		{"with a token", local(token), true},
		{"own origin", local(origin("http://127.0.0.1:38886")), true},
		{"foreign origin with a token", local(with(token, origin("https://evil.example"))), false},
		{"gate", local(session), false},
		{"elsewhere with a token", remote(token), false},
		{"relay", evidence.Evidence{Relay: "notes"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) { is.New(t).Equal(configured(t).Local(&tt.e), tt.want) })
	}
}

func TestLoopbackHost(t *testing.T) {
	for host, known := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "localhost.": true, "localhost:1": true, "localhost:": true, "127.0.0.1": true,
		"127.255.0.3:80": true, "[::1]": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"": false, ":80": false, ".": false, "localhost..": false, "::1": false, "[::1": false, "[::1]x": false, "[localhost]": false,
		"[::1%25eth0]": false, "localhost:8x": false, "127.1": false, "0.0.0.0": false, "10.0.0.1": false, "x.localhost": false,
		"user@localhost": false, "localhost/x": false, "localhost 127.0.0.1": false, "[127.0.0.1]": false,
	} {
		t.Run(host, func(t *testing.T) {
			is := is.New(t)
			e := local(func(e *evidence.Evidence) { e.Host = host })
			is.Equal(configured(t).Screen(&e) == nil, known)
		})
	}
}

func TestBearer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		kind   evidence.CredentialKind
		secret string
	}{
		{"absent", nil, evidence.NoCredential, ""},
		{"token", []string{"Bearer bbt_a-b_C9"}, evidence.TokenCredential, "bbt_a-b_C9"},
		{"host key", []string{"Bearer bbh_x"}, evidence.HostCredential, "bbh_x"},
		{"session key", []string{"Bearer bbs_x"}, evidence.SessionCredential, "bbs_x"},
		{"scheme in another case", []string{"bearer bbt_x"}, evidence.TokenCredential, "bbt_x"},
		{"empty", []string{""}, evidence.InvalidCredential, ""},
		{"two headers", []string{"Bearer bbt_x", "Bearer bbt_x"}, evidence.InvalidCredential, ""},
		{"two tokens", []string{"Bearer bbt_x, Bearer bbt_y"}, evidence.InvalidCredential, ""},
		{"two spaces", []string{"Bearer  bbt_x"}, evidence.InvalidCredential, ""},
		{"prefix alone", []string{"Bearer bbt_"}, evidence.InvalidCredential, ""},
		{"other prefix", []string{"Bearer sk_x"}, evidence.InvalidCredential, ""},
		{"no secret", []string{"Bearer"}, evidence.InvalidCredential, ""},
		{"other scheme", []string{"Basic bbt_x"}, evidence.InvalidCredential, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			kind, secret := evidence.Bearer(tt.values)
			is.Equal(kind, tt.kind)
			is.Equal(secret, tt.secret)
		})
	}
}

func TestForwarded(t *testing.T) {
	is := is.New(t)
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Anything", "X-Real-Ip", "Via"} {
		is.True(evidence.Forwarded(map[string][]string{"Accept": nil, name: {""}}))
	}
	is.True(!evidence.Forwarded(map[string][]string{"Accept": nil, "X-Forward": nil}))
}

func TestNewPolicyNamesEveryProblem(t *testing.T) {
	is := is.New(t)
	_, err := evidence.NewPolicy(evidence.Config{
		Hosts:   []string{"https://bb.example.com", ""},
		Origins: []string{"app.example.com", "null", "https://app.example.com/x", "https://ok.example.com/"},
	})
	is.True(err != nil)
	is.Equal(strings.Count(err.Error(), "\n"), 4)
	is.True(!strings.Contains(err.Error(), "ok.example.com"))
}

func FuzzDerive(f *testing.F) {
	f.Add("127.0.0.1:38886", "http://127.0.0.1:38886", "Bearer bbt_x", "v1.a.b")
	p := configured(f)
	f.Fuzz(func(t *testing.T, host, origin, authorization, site string) {
		kind, _ := evidence.Bearer([]string{authorization})
		if kind == evidence.TokenCredential {
			kind = evidence.InvalidCredential // nobody knows it
		}
		e := remote(func(e *evidence.Evidence) {
			e.Host, e.Origin, e.Credential.Kind, e.FetchSite = host, []string{origin}, kind, []string{site}
		})
		if kind == evidence.HostCredential || kind == evidence.SessionCredential {
			return
		}
		if who, _, err := p.Derive(&e); err == nil {
			t.Fatalf("a remote caller without a valid credential is %v", who)
		}
	})
}

func BenchmarkDerive(b *testing.B) {
	b.ReportAllocs()
	p := configured(b)
	e := local(nil)
	for b.Loop() {
		p.Derive(&e)
	}
}
