package evidence

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// GateKind says what an authenticating proxy saw.
type GateKind string

// The kinds of gate headers.
const (
	GateMachine GateKind = "machine" // a program with a credential of the gate
	GateSession GateKind = "session" // a person's browser session
)

// Claims is the payload of a gate header: what an authenticating proxy on this machine says of one request.
type Claims struct {
	Kind    GateKind `json:"kind"`
	Account string   `json:"account"`
	Host    string   `json:"host"`   // by which the gate was called, with a port unless it is the scheme's own
	Proto   string   `json:"proto"`  // https or http, between caller and gate
	Peer    string   `json:"peer"`   // the caller's address, for the log
	Method  string   `json:"method"` // of the request
	Target  string   `json:"target"` // of the request: path and query as sent
	Issued  int64    `json:"iat"`    // Unix seconds
	Expires int64    `json:"exp"`    // Unix seconds, at most MaxGateAge after Issued
	Nonce   string   `json:"nonce"`  // never used before
}

// Limits of a gate header.
const (
	MaxGateAge   = 30 * time.Second // how long a seen header could be sent again elsewhere
	GateSkew     = 5 * time.Second  // how far the two clocks of one machine may be apart
	MaxGateNonce = 128              // bytes of a nonce, which is kept for MaxGateAge
	MinGateKey   = 16               // bytes of a key: fewer can be guessed
)

const gateVersion = "v1."

// SignGate returns a gate header for claims: how a proxy makes one, and how tests do.
func SignGate(key []byte, c Claims) string {
	payload, err := json.Marshal(c)
	if err != nil {
		return "" // strings and integers always encode
	}
	signed := gateVersion + base64.RawURLEncoding.EncodeToString(payload)
	return signed + "." + gateMAC(key, signed)
}

func gateMAC(key []byte, signed string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(signed))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Gate verifies gate headers against one key, and remembers nonces until they expire. It is safe for concurrent use.
type Gate struct {
	key []byte

	mu    sync.Mutex
	used  map[string]int64 // nonce to its expiry
	swept int64            // when expired nonces were last dropped
}

// NewGate returns a Gate. The error says that the key is too short.
func NewGate(key []byte) (*Gate, error) {
	if len(key) < MinGateKey {
		return nil, fmt.Errorf("the gate key has %d bytes, fewer than %d can be guessed; write 32 random ones into its file", len(key), MinGateKey)
	}
	return &Gate{key: bytes.Clone(key), used: map[string]int64{}}, nil
}

// Verify returns the claims of the gate headers of a request when there is exactly one, its signature, form and time
// hold, it was made for this method and target, and its nonce was not used before; the nonce is used then. A nil Gate
// verifies nothing.
func (g *Gate) Verify(values []string, method, target string, now time.Time) (*Claims, bool) {
	if g == nil || len(values) != 1 {
		return nil, false
	}
	i := strings.LastIndexByte(values[0], '.')
	if i < len(gateVersion) || !strings.HasPrefix(values[0], gateVersion) {
		return nil, false
	}
	signed := values[0][:i]
	// The text is compared, not what it decodes to: the decoder passes over line breaks.
	if !hmac.Equal([]byte(values[0][i+1:]), []byte(gateMAC(g.key, signed))) {
		return nil, false
	}
	payload, err := base64.RawURLEncoding.Strict().DecodeString(signed[len(gateVersion):])
	if err != nil {
		return nil, false
	}
	var c Claims
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if d.Decode(&c) != nil || d.More() || !c.wellFormed() || !c.current(now) || c.Method != method || c.Target != target {
		return nil, false
	}
	if !g.use(c.Nonce, c.Expires, now.Unix()) {
		return nil, false
	}
	return &c, true
}

func (c *Claims) wellFormed() bool {
	_, ok := parseOrigin(c.Proto + "://" + c.Host)
	return ok && (c.Kind == GateMachine || c.Kind == GateSession) && c.Account != "" && c.Nonce != "" && len(c.Nonce) <= MaxGateNonce
}

func (c *Claims) current(now time.Time) bool {
	t, skew := now.Unix(), int64(GateSkew/time.Second)
	age := c.Expires - c.Issued
	return age > 0 && age <= int64(MaxGateAge/time.Second) && c.Issued <= t+skew && t <= c.Expires
}

// use records a nonce and reports whether it was new. Only holders of the key get here, so the map grows by what they
// send within MaxGateAge.
func (g *Gate) use(nonce string, expires, now int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.swept != now {
		for n, exp := range g.used {
			if exp < now {
				delete(g.used, n)
			}
		}
		g.swept = now
	}
	if _, seen := g.used[nonce]; seen {
		return false
	}
	g.used[nonce] = expires
	return true
}
