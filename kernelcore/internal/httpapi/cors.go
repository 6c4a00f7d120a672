package httpapi

import (
	"net/http"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
)

var (
	allowHeaders = strings.Join([]string{"Authorization", "Content-Type", header.Client, header.Context, header.Render, header.LastEventID}, ", ")
	// exposeHeaders are named one by one: a pattern is none in this header.
	exposeHeaders = strings.Join([]string{header.CallID, header.Generation, header.Deadline, header.ServerID, "Retry-After"}, ", ")
)

// preflightAge is how long a browser may remember a preflight, in seconds: a changed configuration is seen soon.
const preflightAge = "600"

// share lets a page of an allowed origin read the answer.
func (x *exchange) share(origin string) {
	h := x.w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposeHeaders)
	h.Add("Vary", "Origin")
}

// preflight answers OPTIONS: allowed origins may call, all others get nothing.
func (x *exchange) preflight() {
	if len(x.evidence.Origin) == 0 || !x.h.o.Policy.AllowsOrigin(&x.evidence) {
		x.refuse(kernelcontract.Forbidden.Errorf("OPTIONS answers the preflight of allowed origins only; list the origin under origins in the configuration"))
		return
	}
	h := x.w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	h.Set("Access-Control-Allow-Headers", allowHeaders)
	h.Set("Access-Control-Max-Age", preflightAge)
	x.discard()
	x.w.WriteHeader(http.StatusNoContent)
}
