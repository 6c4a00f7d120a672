package server

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
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

// watch adds what is read from the kernel, and from the files of its store in dir, when somebody asks.
func (m *metrics) watch(k *kernelcore.Kernel, dir string) {
	gauge := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	m.registry.MustRegister(
		gauge("bb_streams_open", "Streams that are open now.", func() float64 { return float64(k.OpenStreams()) }),
		gauge("bb_generation", "Number of the current catalog.", func() float64 { return float64(k.Generation()) }),
		gauge("bb_uploads_waiting", "Files that were sent and are not used yet.", func() float64 { return float64(k.UploadsWaiting()) }),
		&counted{k, dir},
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

// counted is what has labels and is counted elsewhere.
type counted struct {
	kernel *kernelcore.Kernel
	dir    string
}

// The metrics of counted.
var (
	pluginsDesc  = prometheus.NewDesc("bb_plugins", "Plugins by state.", []string{"state"}, nil)
	restartsDesc = prometheus.NewDesc("bb_restarts_total", "Programs that were started again after they had ended by themselves: of plugins by their ids, of bridges by their providers'.", []string{"kind", "id"}, nil)
	storeDesc    = prometheus.NewDesc("bb_store_bytes", "Size of the files of the store: the database, and its log of what is not in it yet.", []string{"file"}, nil)
)

// Describe implements prometheus.Collector.
func (c *counted) Describe(to chan<- *prometheus.Desc) {
	to <- pluginsDesc
	to <- restartsDesc
	to <- storeDesc
}

// Collect implements prometheus.Collector.
func (c *counted) Collect(to chan<- prometheus.Metric) {
	for state, n := range c.kernel.PluginStates() {
		to <- prometheus.MustNewConstMetric(pluginsDesc, prometheus.GaugeValue, float64(n), string(state))
	}
	for _, kind := range []kernelcore.Program{kernelcore.PluginProgram, kernelcore.BridgeProgram} {
		for id, n := range c.kernel.Restarts(kind) {
			to <- prometheus.MustNewConstMetric(restartsDesc, prometheus.CounterValue, float64(n), string(kind), id)
		}
	}
	for name, file := range map[string]string{"database": sqlitestore.DatabaseFile, "log": sqlitestore.DatabaseFile + "-wal"} {
		if info, err := os.Stat(filepath.Join(c.dir, file)); err == nil {
			to <- prometheus.MustNewConstMetric(storeDesc, prometheus.GaugeValue, float64(info.Size()), name)
		}
	}
}
