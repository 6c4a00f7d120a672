package kernelapi

import (
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
)

// Status is how the server does.
type Status struct {
	ServerID   string                  `json:"serverId"`
	Generation uint64                  `json:"generation"`
	StartedAt  time.Time               `json:"startedAt"`
	Uptime     kernelcontract.Duration `json:"uptime"`
	Plugins    int                     `json:"plugins"` // those that are ready
	Methods    int                     `json:"methods"`
	Draining   bool                    `json:"draining"`
	Problems   []manifest.Problem      `json:"problems"`
}

// GetStatus returns how the server does.
var GetStatus = &kernelcontract.Query[kernelcontract.None, Status]{
	Ref: "kernel/runtime.status", Summary: "Show how the server does",
}

// ListProblems lists what degrades plugins.
var ListProblems = &kernelcontract.Query[kernelcontract.None, []manifest.Problem]{
	Ref: "kernel/runtime.problems", Summary: "List what degrades plugins",
	RenderText: func(problems []manifest.Problem, _ kernelcontract.Render) string {
		text := ""
		for _, p := range problems {
			text += p.PluginID + ": " + p.Message + "\n"
		}
		if text == "" {
			return "no problems"
		}
		return text[:len(text)-1]
	},
}

// CallsInput narrows the call log.
type CallsInput struct {
	Limit  int    `json:"limit,omitempty" default:"50" minimum:"1" maximum:"1000" description:"At most so many calls"`
	Plugin string `json:"plugin,omitempty" description:"Only calls of this plugin's methods"`
	Failed bool   `json:"failed,omitempty" description:"Only calls that failed"`
}

// CallInfo is a finished call. Inputs and results are not kept.
type CallInfo struct {
	Start      time.Time           `json:"start"`
	Ref        string              `json:"ref"`
	Actor      string              `json:"actor"`
	Via        kernelcontract.Via  `json:"via"`
	DurationMs float64             `json:"durationMs"`
	Outcome    string              `json:"outcome"` // "ok", else the error code
	ID         string              `json:"id"`
	Kind       kernelcontract.Kind `json:"kind"`
	Client     string              `json:"client"` // kind/surface
	Generation uint64              `json:"generation"`
}

// ListCalls lists the last calls, the newest first.
var ListCalls = &kernelcontract.Query[CallsInput, []CallInfo]{
	Ref: "kernel/runtime.calls", Summary: "List the last calls, the newest first",
}

// Shutdown drains and stops the server. It answers before the server is gone.
var Shutdown = &kernelcontract.Mutation[kernelcontract.None, kernelcontract.None]{
	Ref: "kernel/runtime.shutdown", Summary: "Finish the calls in flight and stop the server",
	Access:     kernelcontract.Access{Local: true, Actors: people.Actors},
	RenderText: func(kernelcontract.None, kernelcontract.Render) string { return "the server stops" },
}

// Runtime watches and stops the server.
var Runtime = &kernelcontract.Service{
	ID: "kernel/runtime", Summary: "Watch and stop the server",
	Methods: []kernelcontract.Method{GetStatus, ListProblems, ListCalls, Shutdown},
}
