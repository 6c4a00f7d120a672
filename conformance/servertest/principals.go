package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// principalChecks prove the rows of evidence that can be shown from outside, on this machine.
var principalChecks = []check{
	{name: "principal.loopback", rule: "a process on this machine is user:local via loopback", local: true, run: func(p *probe) {
		p.recorded(p.get(greetPath, "name=bb"), "user:local", "loopback")
	}},
	{name: "principal.loopback-agent", rule: "with a thread in its context it is agent:<threadId>", local: true, run: func(p *probe) {
		id := p.thread()
		p.recorded(p.get(greetPath, "name=bb", "x-bb-context", `{"threadId":"`+id+`"}`), "agent:"+id, "loopback")
	}},
	{name: "principal.origin", rule: "a page of an allowed origin on this machine is user:local via origin", local: true, run: func(p *probe) {
		p.recorded(p.get(greetPath, "name=bb", "Origin", p.origin()), "user:local", "origin")
	}},
	{name: "principal.token", rule: "a valid token is user:<its name> via token, also behind a proxy", run: func(p *probe) {
		name, secret := p.newToken("all")
		p.recorded(p.get(greetPath, "name=bb", "Authorization", "Bearer "+secret), "user:"+name, "token")
		p.recorded(p.get(greetPath, "name=bb", "Authorization", "Bearer "+secret, "X-Forwarded-For", "192.0.2.1"), "user:"+name, "token")
	}},
	{name: "principal.token-scope", rule: "a token of scope read may not change anything", run: func(p *probe) {
		_, secret := p.newToken("read")
		p.success(p.get(greetPath, "name=bb", "Authorization", "Bearer "+secret), nil)
		p.refused(p.post(countPath, `{"name":"conformance-`+p.run+`"}`, "Authorization", "Bearer "+secret), http.StatusForbidden, "forbidden")
	}},
	{name: "principal.token-revoked", rule: "a revoked token is no evidence, at once, and ends its streams", run: revoked},
	{name: "principal.credential-broken", rule: "an Authorization that is not exactly one valid bearer is unauthenticated, and never falls back to a weaker row", run: brokenCredentials},
	{name: "principal.gate-broken", rule: "a Bb-Gate that does not verify is unauthenticated", local: true, run: func(p *probe) {
		for _, gate := range []string{"x", "v1.e30.AAAA", "v2.e30.AAAA", "v1.."} {
			p.refused(p.get(greetPath, "name=bb", "Bb-Gate", gate), http.StatusUnauthorized, "unauthenticated")
		}
	}},
	{name: "principal.forwarded", rule: "a request that a proxy forwarded is not taken for one from this machine", local: true, run: func(p *probe) {
		for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via"} {
			p.refused(p.get(greetPath, "name=bb", name, "192.0.2.1"), http.StatusUnauthorized, "unauthenticated")
		}
		p.refused(p.get(greetPath, "name=bb", "X-Forwarded-For", "192.0.2.1", "Origin", p.origin()), http.StatusUnauthorized, "unauthenticated")
	}},
	{name: "principal.anonymous", rule: "what needs no evidence takes broken evidence too", run: func(p *probe) {
		if a := p.get("/healthz", "", "Authorization", "Bearer bbt_nonsense"); a.status != http.StatusOK {
			p.errorf("%s: status %d, want 200", a.to, a.status)
		}
	}},
	{name: "principal.actors", rule: "an agent may not change tokens, secrets or plugins", local: true, run: agentsMayNot},
}

// origin is the server's own origin.
func (p *probe) origin() string { return p.base.Scheme + "://" + p.base.Host }

// recorded checks with the call log as whom a call was taken.
func (p *probe) recorded(a *answer, actor, via string) {
	p.success(a, nil)
	id := a.header.Get("Bb-Call-Id")
	for attempt := 0; ; attempt++ {
		log := p.get(callsPath, "limit=200")
		if log.status == http.StatusNotFound {
			p.skipf("the server has no call log at %s", callsPath)
		}
		var calls []struct {
			ID    string `json:"id"`
			Actor string `json:"actor"`
			Via   string `json:"via"`
		}
		p.success(log, &calls)
		for _, c := range calls {
			if c.ID != id {
				continue
			}
			if c.Actor != actor || c.Via != via {
				p.errorf("%s: it was taken for %s via %s, want %s via %s", a.to, c.Actor, c.Via, actor, via)
			}
			return
		}
		if attempt == 20 {
			p.failf("%s: the call %q is not in the log", a.to, id)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func revoked(p *probe) {
	name, secret := p.newToken("all")
	bearer := []string{"Authorization", "Bearer " + secret}
	p.success(p.get(greetPath, "name=bb", bearer...), nil)
	s := p.follow("", append([]string{"Last-Event-ID", "9000000000"}, bearer...)...)
	p.success(p.post(tokenPath+"/revoke", `{"name":"`+name+`"}`), nil)
	p.refused(p.get(greetPath, "name=bb", bearer...), http.StatusUnauthorized, "unauthenticated")
	for {
		if b, ok := s.next(); !ok || b.event == "error" {
			return
		}
	}
}

func brokenCredentials(p *probe) {
	wellFormed := "bbt_" + strings.Repeat("A", 43)
	for _, value := range []string{
		"Bearer bbt_nonsense", "Bearer " + wellFormed, "Bearer bbh_" + strings.Repeat("A", 43), "Bearer bbs_" + strings.Repeat("A", 43),
		"Bearer", "Bearer ", "Basic dTpw", wellFormed, "Bearer " + wellFormed + ", Bearer " + wellFormed, "Token " + wellFormed,
	} {
		p.refused(p.get(greetPath, "name=bb", "Authorization", value), http.StatusUnauthorized, "unauthenticated")
	}
	_, secret := p.newToken("read")
	p.refused(p.get(greetPath, "name=bb", "Authorization", "Bearer "+secret, "Authorization", "Bearer "+secret), http.StatusUnauthorized, "unauthenticated")
	p.refused(p.get(greetPath, "name=bb", "Authorization", "Bearer "+secret+"x"), http.StatusUnauthorized, "unauthenticated")
}

// thread returns the id of a thread for the context of a request: any, or, on a server that runs threads and refuses those
// that it does not know, one that is made for it.
func (p *probe) thread() string {
	id := "t-" + p.run
	if p.get(greetPath, "name=bb", "x-bb-context", `{"threadId":"`+id+`"}`).status != http.StatusBadRequest {
		return id
	}
	var providers []struct {
		ID string `json:"id"`
	}
	a := p.get(providersPath, "")
	if a.status == http.StatusNotFound {
		p.skipf("the server knows no thread, and has no %s to make one with", providersPath)
	}
	p.success(a, &providers)
	if len(providers) == 0 {
		p.skipf("the server knows no thread, and has no provider to make one with")
	}
	cwd, err := json.Marshal(os.TempDir())
	if err != nil {
		p.failf("%v", err)
	}
	made := p.result(p.post(createPath, fmt.Sprintf(`{"providerId":%q,"cwd":%s}`, providers[0].ID, cwd)))
	if id, _ = made["id"].(string); id == "" {
		p.failf("a new thread has no id: %v", made)
	}
	return id
}

// Where threads are, on servers that run them.
const (
	providersPath = "/api/v1/providers/providers/list"
	createPath    = "/api/v1/threads/threads/create"
)

func agentsMayNot(p *probe) {
	context := fmt.Sprintf(`{"threadId":%q}`, p.thread())
	for path, body := range map[string]string{
		tokenPath + "/create":             `{"name":"conformance-agent-` + p.run + `"}`,
		"/api/v1/kernel/secret/set":       `{"pluginId":"hello-slot","name":"x","value":"y"}`,
		"/api/v1/kernel/plugin/disable":   `{"id":"no-such-plugin"}`,
		"/api/v1/kernel/runtime/shutdown": `{"unknown":1}`, // not even by a server that admits it
	} {
		a := p.post(path, body, "x-bb-context", context)
		switch a.status {
		case http.StatusNotFound:
			if strings.Contains(path, "token") {
				p.skipf("the server has no %s", path)
			}
		default:
			p.refused(a, http.StatusForbidden, "forbidden")
		}
	}
}
