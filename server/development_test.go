package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server"
)

type shortOut struct {
	Text string `json:"text" maxLength:"3"`
}

func TestDevelopmentFailsTheCallThatBreaksItsSchema(t *testing.T) {
	talk := &kernelcontract.Query[kernelcontract.None, shortOut]{Ref: "talker/main.talk", Summary: "Says too much"}
	service := &kernelcontract.Service{ID: "talker/main", Summary: "Talks", Methods: []kernelcontract.Method{talk}}
	talker := &pluginsdk.Plugin{ID: "talker", Services: []*kernelcontract.Service{service}, Setup: func(_ context.Context, h *pluginsdk.Host) error {
		h.Provide(service, talk.Handle(func(context.Context, kernelcontract.None) (shortOut, error) { return shortOut{"too long"}, nil }))
		return nil
	}}
	for name, want := range map[string]int{"development": 500, "production": 200} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := start(t, server.Config{Plugins: []*pluginsdk.Plugin{talker}, Development: name == "development"})
			for range 3 { // not by sample
				is.Equal(get(t, s.url+"/api/v1/talker/main/talk").status, want)
			}
			is.True(strings.Contains(s.log.String(), "returned what its schema refuses"))
		})
	}
}
