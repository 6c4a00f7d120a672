package kernelcore_test

import (
	"encoding/json"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Definitions are shared by every kernel that has the plugin; what is derived from them lazily is safe for all at once.
func TestKernelsShareDefinitionsAtOnce(t *testing.T) {
	e := newEcho("echo")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			is := is.New(t)
			k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{e.plugin()}, Development: true})
			is.NoErr(err)
			out, err := e.say.Call(t.Context(), k.As(local), wordIn{"x"})
			is.NoErr(err)
			is.Equal(out.Times, 1)
			_, err = kernelapi.GetManifest.Call(t.Context(), k.As(local), kernelcontract.None{})
			is.NoErr(err)
			var raw json.RawMessage
			is.NoErr(k.As(local).Call(t.Context(), "kernel/plugin.list", nil, &raw))
			k.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/kernel/plugin/list", nil))
			is.NoErr(k.Reload(t.Context(), ""))
			is.NoErr(k.Close())
		})
	}
	wait.Wait()
}
