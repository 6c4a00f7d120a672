package kernelcore

import (
	"context"
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/tool"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// Tools returns the agent tools of the current catalog in composition order (docs/spec/tools.md). A method whose name an
// earlier one has taken is left out and is a problem; so is one without a schema.
func (k *Kernel) Tools() []*tool.Spec {
	var specs []*tool.Spec
	c := k.current.Load()
	if c == nil { // a Setup of the first composition asks
		return nil
	}
	for _, s := range c.catalog.Services() {
		for _, d := range s.Methods {
			if d.Tool == nil || !c.tree.HasTool(d.Ref()) {
				continue
			}
			spec, err := tool.SpecOf(d)
			if err != nil {
				k.faults.add(d.PluginID, err)
				continue
			}
			specs = append(specs, spec)
		}
	}
	return specs
}

// RunTool calls a tool by name for an agent's session: as agent:<threadId>, with the session's context for the ambient
// fields that the model omits. It always answers; a failure is a result that says so. threadID is required.
func (k *Kernel) RunTool(ctx context.Context, threadID string, session kernelcontract.Context, name string, input json.RawMessage) tool.Result {
	if threadID == "" { // else it would be an agent that nobody knows
		return tool.Failure(kernelcontract.InvalidInput.Errorf("the tool %q was called without a thread: name the one whose session calls", name))
	}
	session.ThreadID = threadID
	return k.runTool(ctx, engine.Identity{
		Principal: kernelcontract.Principal{Actor: string(kernelcontract.Agent) + ":" + threadID, Via: kernelcontract.ViaTool},
		Client:    kernelcontract.HeadlessClient(), Context: session,
	}, name, input)
}

// runTool calls a tool by name as id.
func (k *Kernel) runTool(ctx context.Context, id engine.Identity, name string, input json.RawMessage) tool.Result {
	c := k.current.Load()
	if c == nil {
		return tool.Failure(kernelcontract.ServiceUnavailable.Errorf("the server is starting"))
	}
	for _, s := range c.catalog.Services() {
		for _, d := range s.Methods {
			if d.Tool != nil && d.Tool.Name == name && c.tree.HasTool(d.Ref()) {
				return tool.Run(ctx, k.engine.Caller(func(context.Context) engine.Identity { return id }), d, input)
			}
		}
	}
	return tool.Failure(kernelcontract.NotFound.Errorf("there is no tool %q", name))
}
