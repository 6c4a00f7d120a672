package evidence_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/evidence"
)

var gateKey = []byte("0123456789abcdef0123456789abcdef")

func gate(t testing.TB) *evidence.Gate {
	t.Helper()
	g, err := evidence.NewGate(gateKey)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGateVerify(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	good := evidence.Claims{Kind: evidence.GateSession, Account: "ann", Host: "bb.example.com", Proto: "https", Peer: "192.0.2.7",
		Method: "GET", Target: "/api/v1/p/s/m?x=1", Issued: now.Unix(), Expires: now.Unix() + 30, Nonce: "n1"}
	change := func(f func(c *evidence.Claims)) []string {
		c := good
		f(&c)
		return []string{evidence.SignGate(gateKey, c)}
	}
	value := evidence.SignGate(gateKey, good)
	parts := strings.Split(value, ".")
	otherPayload := base64.RawURLEncoding.EncodeToString([]byte(`{"kind":"session"}`))
	for _, tt := range []struct {
		name   string
		values []string
		ok     bool
	}{
		{"good", []string{value}, true},
		{"machine", change(func(c *evidence.Claims) { c.Kind = evidence.GateMachine }), true},
		{"last second", change(func(c *evidence.Claims) { c.Issued, c.Expires = now.Unix()-30, now.Unix() }), true},
		{"clock a little ahead", change(func(c *evidence.Claims) { c.Issued, c.Expires = now.Unix()+5, now.Unix()+35 }), true},
		{"expired", change(func(c *evidence.Claims) { c.Issued, c.Expires = now.Unix()-31, now.Unix()-1 }), false},
		{"lives too long", change(func(c *evidence.Claims) { c.Expires++ }), false},
		{"issued in the future", change(func(c *evidence.Claims) { c.Issued, c.Expires = now.Unix()+6, now.Unix()+20 }), false},
		{"expires before it is issued", change(func(c *evidence.Claims) { c.Issued = c.Expires }), false},
		{"other method", change(func(c *evidence.Claims) { c.Method = "POST" }), false},
		{"other target", change(func(c *evidence.Claims) { c.Target = "/api/v1/p/s/m?x=2" }), false},
		{"other kind", change(func(c *evidence.Claims) { c.Kind = "root" }), false},
		{"no account", change(func(c *evidence.Claims) { c.Account = "" }), false},
		{"no nonce", change(func(c *evidence.Claims) { c.Nonce = "" }), false},
		{"long nonce", change(func(c *evidence.Claims) { c.Nonce = strings.Repeat("n", evidence.MaxGateNonce+1) }), false},
		{"no host", change(func(c *evidence.Claims) { c.Host = "" }), false},
		{"other proto", change(func(c *evidence.Claims) { c.Proto = "ftp" }), false},
		{"other key", []string{evidence.SignGate([]byte("another key of 32 bytes or so ..."), good)}, false},
		{"other payload under the signature", []string{parts[0] + "." + otherPayload + "." + parts[2]}, false},
		{"no signature", []string{parts[0] + "." + parts[1] + "."}, false},
		{"other version", []string{"v2." + parts[1] + "." + parts[2]}, false},
		{"two parts", []string{parts[0] + "." + parts[1]}, false},
		{"padded", []string{value + "="}, false},
		{"empty", []string{""}, false},
		{"twice", []string{value, value}, false},
		{"absent", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			claims, ok := gate(t).Verify(tt.values, good.Method, good.Target, now)
			is.Equal(ok, tt.ok)
			is.Equal(ok, claims != nil)
		})
	}
}

func TestGateNonceIsUsedOnce(t *testing.T) {
	is := is.New(t)
	now := time.Unix(1_700_000_000, 0)
	g := gate(t)
	c := evidence.Claims{Kind: evidence.GateMachine, Account: "ann", Host: "h", Proto: "http", Method: "GET", Target: "/",
		Issued: now.Unix(), Expires: now.Unix() + 20, Nonce: "n1"}
	verify := func(c evidence.Claims, at time.Time) bool {
		claims, ok := g.Verify([]string{evidence.SignGate(gateKey, c)}, "GET", "/", at)
		is.Equal(ok, claims != nil)
		return ok
	}
	is.True(verify(c, now))
	is.True(!verify(c, now))                     // again
	is.True(!verify(c, now.Add(20*time.Second))) // as long as it lives
	other := c
	other.Account = "bob"
	is.True(!verify(other, now)) // the nonce counts, not the rest
	later := c
	later.Issued, later.Expires = c.Issued+40, c.Expires+40
	is.True(verify(later, now.Add(41*time.Second))) // forgotten once it cannot be sent again
}

func TestNoGateVerifiesNothing(t *testing.T) {
	is := is.New(t)
	var g *evidence.Gate
	_, ok := g.Verify([]string{"v1.a.b"}, "GET", "/", time.Unix(0, 0))
	is.True(!ok)
	_, err := evidence.NewGate(make([]byte, evidence.MinGateKey-1))
	is.True(err != nil)
}

func FuzzGate(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	good := evidence.SignGate(gateKey, evidence.Claims{Kind: evidence.GateMachine, Account: "ann", Host: "h", Proto: "http", Method: "GET",
		Target: "/", Issued: now.Unix(), Expires: now.Unix() + 20, Nonce: "n1"})
	f.Add(good)
	f.Add("v1.e30.")
	f.Fuzz(func(t *testing.T, value string) {
		if _, ok := gate(t).Verify([]string{value}, "GET", "/", now); ok && value != good {
			t.Fatalf("%q verifies without the key", value)
		}
	})
}
