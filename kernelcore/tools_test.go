package kernelcore_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

type whereIn struct {
	Thread  string `json:"thread"`
	Project string `json:"project"`
}

func TestToolsFillWhatTheModelOmits(t *testing.T) {
	where := &kernelcontract.Query[whereIn, string]{
		Ref: "where/main.where", Summary: "Says where it runs",
		Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID, "project": kernelcontract.ProjectID},
		Tool:    &kernelcontract.Tool{Name: "where", Presentation: kernelcontract.Presentation{Pending: "Looking", Completed: "Looked", Icon: "map", Intent: "generic"}},
	}
	service := &kernelcontract.Service{ID: "where/main", Summary: "Where", Methods: []kernelcontract.Method{where}}
	k := start(t, kernelcore.Options{Plugins: []*pluginsdk.Plugin{{ID: "where", Services: []*kernelcontract.Service{service},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.Provide(service, where.Handle(func(_ context.Context, in whereIn) (string, error) { return in.Thread + " " + in.Project, nil }))
			return nil
		}}}})
	for _, tt := range []struct{ name, input, want string }{
		{"the session's thread and project", `{}`, "t1 p1"},
		{"what the model says wins", `{"project":"p2"}`, "t1 p2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			// A session that claims another thread than the one it runs for gets its own.
			session := kernelcontract.Context{ThreadID: "another", ProjectID: "p1"}
			r := k.RunTool(t.Context(), "t1", session, "where", json.RawMessage(tt.input))
			is.True(r.Success)
			is.Equal(r.Content[0].Text, tt.want)
		})
	}
}
