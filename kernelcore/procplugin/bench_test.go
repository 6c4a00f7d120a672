package procplugin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

// BenchmarkCall calls a query over HTTP, which a plugin answers that is compiled in or a program, one call at a time and
// with 16 callers.
func BenchmarkCall(b *testing.B) {
	for _, form := range []string{"compiled-in", "program"} {
		p := unguardedPlugin()
		if form == "program" {
			p = opened(b, "unguarded")
		}
		k := kernel(b, kernelcore.Options{Plugins: []*pluginsdk.Plugin{otherPlugin(), p}})
		srv := httptest.NewServer(k.Handler())
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
		call := func() error {
			res, err := client.Get(srv.URL + "/api/v1/demo/demo/echo?text=hello")
			if err != nil {
				return err
			}
			defer res.Body.Close()
			raw, err := io.ReadAll(res.Body)
			if err == nil && (res.StatusCode != 200 || !strings.Contains(string(raw), `"hello"`)) {
				err = fmt.Errorf("%d %s", res.StatusCode, raw)
			}
			return err
		}
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/callers=%d", form, callers), func(b *testing.B) {
				b.ReportAllocs()
				var mu sync.Mutex
				var took []time.Duration
				var wait sync.WaitGroup
				each := b.N/callers + 1
				b.ResetTimer()
				for range callers {
					wait.Go(func() {
						own := make([]time.Duration, 0, each)
						for range each {
							begin := time.Now()
							if err := call(); err != nil {
								b.Error(err)
								return
							}
							own = append(own, time.Since(begin))
						}
						mu.Lock()
						defer mu.Unlock()
						took = append(took, own...)
					})
				}
				wait.Wait()
				b.StopTimer()
				slices.Sort(took)
				b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "calls/s")
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
			})
		}
		srv.Close()
	}
}
