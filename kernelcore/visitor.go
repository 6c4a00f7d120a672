package kernelcore

import (
	"context"
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/tool"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
	"github.com/bb-kernel/bb/kernelcore/internal/httpapi"
)

// Visitor is who uses a page or an endpoint behind Guard, for those that call methods on behalf of it.
type Visitor struct {
	kernel   *Kernel
	identity engine.Identity
	revoked  <-chan struct{}
}

// Visitor returns who made the request that ctx belongs to, nil when Guard did not let it in.
func (k *Kernel) Visitor(ctx context.Context) *Visitor {
	guest := httpapi.GuestFrom(ctx)
	if guest == nil {
		return nil
	}
	call := kernelcontract.CallFrom(ctx)
	return &Visitor{kernel: k, revoked: guest.Revoked, identity: engine.Identity{
		Principal: call.Principal, Client: call.Client, Context: call.Context, Remote: !guest.Local, ReadOnly: guest.ReadOnly,
	}}
}

// Principal returns as whom the visitor calls.
func (v *Visitor) Principal() kernelcontract.Principal { return v.identity.Principal }

// Revoked returns a channel that is closed when the visitor's credential is revoked or expires; nil when it needs none.
func (v *Visitor) Revoked() <-chan struct{} { return v.revoked }

// RunTool calls a tool by name as the visitor: with its actor, its way in, its scope and its context, which fills the
// ambient fields that the model omits. It always answers, as Kernel.RunTool does.
func (v *Visitor) RunTool(ctx context.Context, name string, input json.RawMessage) tool.Result {
	return v.kernel.runTool(ctx, v.identity, name, input)
}
