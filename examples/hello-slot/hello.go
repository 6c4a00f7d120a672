// Package hello is hello-slot, the smallest whole plugin: it greets, counts greetings, and shows on every surface.
package hello

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Plugin returns the plugin.
func Plugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "hello-slot", Version: "0.1.0", Summary: "Greets",
		Services: []*kernelcontract.Service{contracts.Greeter}, Setup: setup}
}

func setup(ctx context.Context, h *pluginsdk.Host) error {
	g := &greeter{kv: h.KV()}
	h.Provide(contracts.Greeter,
		contracts.Greet.Handle(g.greet),
		contracts.Count.Handle(g.count),
		contracts.HostGreet.Handle(g.hostGreet))
	return nil
}

type greeter struct{ kv pluginsdk.KV }

func (g *greeter) greet(ctx context.Context, in contracts.GreetInput) (contracts.GreetOutput, error) {
	if in.Name == "nobody" {
		return contracts.GreetOutput{}, contracts.Muted.Errorf("%s asked not to be greeted", in.Name)
	}
	n, err := g.counted(ctx, in.Name)
	return contracts.GreetOutput{Message: in.Salutation + ", " + in.Name + "!", Count: n}, err
}

func (g *greeter) counted(ctx context.Context, name string) (n int, err error) {
	if err = g.kv.Get(ctx, keyOf(name), &n); errors.Is(err, kernelcontract.NotFound) {
		err = nil
	}
	return n, err
}

// keyOf returns the key of a name's count. A name may be longer than a key; a key of full length with its digest then
// stands for it.
func keyOf(name string) string {
	if len(name) < pluginsdk.MaxKey {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return strings.Repeat("#", pluginsdk.MaxKey-2*len(digest)) + hex.EncodeToString(digest[:])
}

func (g *greeter) count(ctx context.Context, in contracts.CountInput) (contracts.CountOutput, error) {
	n, err := pluginsdk.Update(ctx, g.kv, keyOf(in.Name), func(n int) int { return n + 1 })
	return contracts.CountOutput{Name: in.Name, Count: n}, err
}

func (g *greeter) hostGreet(ctx context.Context, in contracts.HostGreetInput) (contracts.HostGreetOutput, error) {
	return contracts.HostGreetOutput{Message: "Hello from a host, " + in.Name + "!"}, nil
}
