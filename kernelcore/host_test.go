package kernelcore_test

import (
	"context"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

type onHostIn struct {
	Host string `json:"host,omitempty"`
}

func TestHostsAreNamedByIDOrName(t *testing.T) {
	is := is.New(t)
	where := &kernelcontract.Query[onHostIn, string]{Ref: "where/main.where", Summary: "Says which host is meant",
		Ambient: map[string]kernelcontract.ContextKey{"host": kernelcontract.HostID}}
	service := &kernelcontract.Service{ID: "where/main", Summary: "Where", Methods: []kernelcontract.Method{where}}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{{ID: "where", Services: []*kernelcontract.Service{service},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.Provide(service, where.Handle(func(_ context.Context, in onHostIn) (string, error) { return in.Host, nil }))
			return nil
		}}}})
	host, err := kernelapi.EnrollHost.Call(t.Context(), k.As(local), kernelapi.EnrollInput{Name: "builder"})
	is.NoErr(err)
	for given, want := range map[string]string{"builder": host.ID, host.ID: host.ID, "unknown": "unknown", "": ""} {
		got, err := where.Call(t.Context(), k.As(local), onHostIn{Host: given})
		is.NoErr(err)
		is.Equal(got, want)
	}
}
