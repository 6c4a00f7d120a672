package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/openapi"
	"github.com/bb-kernel/bb/kernelcore"
)

// description answers with the OpenAPI document of the live catalog (docs/spec/openapi.md). It keeps the last one that was
// asked for, since it takes every schema to make.
type description struct {
	kernel *kernelcore.Kernel

	mu         sync.Mutex
	generation uint64
	document   []byte // nil: none yet
}

// ServeHTTP implements http.Handler.
func (d *description) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	document, generation, err := d.current(r.Context())
	if err != nil {
		fail(w, kernelcontract.AsError(err))
		return
	}
	tag := `"` + d.kernel.ServerID() + "-" + strconv.FormatUint(generation, 10) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", openapi.MediaType)
	h.Set("Content-Length", strconv.Itoa(len(document)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(document)
	}
}

// current returns the document of the live catalog and its generation.
func (d *description) current(ctx context.Context) ([]byte, uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.document != nil && d.generation == d.kernel.Generation() {
		return d.document, d.generation, nil
	}
	m, err := kernelapi.GetManifest.Call(ctx, d.kernel.As(kernelcontract.CallFrom(ctx).Principal), kernelcontract.None{})
	if err != nil {
		return nil, 0, err
	}
	document, err := openapi.Of(&m, "")
	if err != nil {
		return nil, 0, err
	}
	d.generation, d.document = m.Generation, document
	return document, m.Generation, nil
}

// matches reports whether an If-None-Match header has the tag.
func matches(values []string, tag string) bool {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
			if one == tag || one == "*" {
				return true
			}
		}
	}
	return false
}

// fail answers with a failure, as the API does.
func fail(w http.ResponseWriter, e *kernelcontract.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Row().HTTPStatus)
	_, _ = w.Write(kernelcontract.MarshalFailure(e))
}
