package server

import (
	"io"
	"net/http"
	"sync/atomic"

	"github.com/gorilla/mux"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/mcp"
)

// newRouter mounts the server's own pages and the endpoint for tools beside the kernel, which answers everything else. Paths are matched as they
// were sent: neither cleaned nor decoded, so that no two of them mean the same route.
func newRouter(k *kernelcore.Kernel, m *metrics, draining *atomic.Bool) http.Handler {
	r := mux.NewRouter().SkipClean(true).UseEncodedPath()
	page := func(path string, auth kernelcontract.Auth, headers bool, h http.Handler) {
		r.Handle(path, k.Guard(kernelcontract.Access{Auth: auth}, headers, h)).Methods(http.MethodGet, http.MethodHead, http.MethodOptions)
	}
	page("/healthz", kernelcontract.AuthNone, false, health(draining))
	page("/metrics", kernelcontract.AuthOperator, false, m.handler())
	page("/openapi.json", kernelcontract.AuthOperator, true, &description{kernel: k})
	r.Handle("/mcp", k.Guard(kernelcontract.Access{}, true, mcp.Handler(k)))
	r.NotFoundHandler = k.Handler()
	r.MethodNotAllowedHandler = k.Handler()
	return r
}

// health answers whether the server serves.
func health(draining *atomic.Bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		plain(w.Header())
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if draining.Load() {
			row, _ := kernelcontract.ServiceUnavailable.Row()
			w.WriteHeader(row.HTTPStatus)
			_, _ = io.WriteString(w, "draining")
			return
		}
		_, _ = io.WriteString(w, "ok")
	})
}

// plain sets the headers of an answer that is for now, and nothing else than what it says.
func plain(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}
