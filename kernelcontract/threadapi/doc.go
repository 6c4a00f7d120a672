// Package threadapi holds the definitions of the services with which people and programs drive coding agents: threads
// (docs/spec/threads.md), the questions that agents ask (interactions), and the providers that run them. The plugins
// threads and providers of a kernel offer them; programs call them typed:
//
//	thread, err := threadapi.Create.Call(ctx, client, threadapi.CreateInput{ProviderID: "codex", Cwd: dir})
package threadapi

import "github.com/bb-kernel/bb/kernelcontract"

// Services lists the services of this package. The definitions are shared: compare them by pointer, do not copy.
func Services() []*kernelcontract.Service {
	return []*kernelcontract.Service{Threads, Interactions, Providers}
}

// people is the access of what an agent must not do by itself: who answers its own questions has every permission.
var people = kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.User, kernelcontract.System}}

// onThread lets the agent of a thread leave the thread out.
var onThread = map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID}
