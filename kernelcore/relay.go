package kernelcore

import (
	"context"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// As returns a caller for in-process calls by p. No boundary is crossed, so the evidence need not be shown; actors are
// admitted as everywhere.
func (k *Kernel) As(p kernelcontract.Principal) kernelcontract.Caller {
	if p.Via == "" {
		p.Via = kernelcontract.ViaProcess
	}
	id := engine.Identity{Principal: p, Client: kernelcontract.HeadlessClient()}
	return k.engine.Caller(func(context.Context) engine.Identity { return id })
}

// relay returns the caller that a plugin's calls go through: as the actor of the call that it answers, else as itself.
func (k *Kernel) relay(plugin string) kernelcontract.Caller {
	via := kernelcontract.ViaPlugin(plugin)
	return k.engine.Caller(func(ctx context.Context) engine.Identity {
		call := kernelcontract.CallFrom(ctx)
		actor := call.Principal.Actor
		if actor == "" {
			actor = string(kernelcontract.Plugin) + ":" + plugin
		}
		return engine.Identity{
			Principal: kernelcontract.Principal{Actor: actor, Via: via},
			Client:    call.Client, Context: call.Context,
		}
	})
}
