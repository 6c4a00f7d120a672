package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
)

// durationBuckets are seconds: from a call that touches memory only to the longest default budget.
var durationBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// metrics counts what a server does, in a registry of its own.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bb_calls_total", Help: "Finished calls by method, outcome (ok or an error code) and evidence of the caller.",
		}, []string{"ref", "code", "via"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "bb_call_duration_seconds", Help: "How long queries and mutations took, by method.", Buckets: durationBuckets,
		}, []string{"ref"}),
	}
	m.registry.MustRegister(m.calls, m.duration, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watch adds what is read from the kernel when somebody asks.
func (m *metrics) watch(k *kernelcore.Kernel) {
	gauge := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	m.registry.MustRegister(
		gauge("bb_streams_open", "Streams that are open now.", func() float64 { return float64(k.OpenStreams()) }),
		gauge("bb_generation", "Number of the current catalog.", func() float64 { return float64(k.Generation()) }),
		gauge("bb_problems", "Problems that degrade the server now.", func() float64 { return float64(len(k.Problems())) }),
	)
}

// observe counts a finished call. It must be fast: it runs within the call.
func (m *metrics) observe(r kernelcore.CallRecord) {
	code := string(r.Code)
	if code == "" {
		code = "ok"
	}
	m.calls.WithLabelValues(r.Ref, code, string(r.Principal.Via)).Inc()
	if r.Kind != kernelcontract.KindStream { // how long someone listens says nothing of the server
		m.duration.WithLabelValues(r.Ref).Observe(r.Duration.Seconds())
	}
}

// handler answers in the Prometheus text format.
func (m *metrics) handler() http.Handler {
	text := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plain(w.Header())
		text.ServeHTTP(w, r)
	})
}
