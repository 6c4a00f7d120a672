// Package kernelapi holds the definitions of the kernel's own services, which are ordinary ones: what a client calls to
// learn the catalog and what an operator calls to run the server. The kernel provides them; programs call them typed:
//
//	plugins, err := kernelapi.ListPlugins.Call(ctx, client, kernelcontract.None{})
//
// The rules are stated in docs/spec/kernel.md.
package kernelapi

import "github.com/bb-kernel/bb/kernelcontract"

// Services lists the services in composition order. The definitions are shared: compare them by pointer, do not copy.
func Services() []*kernelcontract.Service {
	return []*kernelcontract.Service{Contract, Plugin, Config, Secret, Host, Runtime, Token, Guide}
}

// people is the access of what an agent must not do by itself: whoever may change plugins, secrets, hosts and tokens can
// give itself every other right.
var people = kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.User, kernelcontract.System}}
