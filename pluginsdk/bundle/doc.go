// Package bundle is what the author of a bundle imports. A bundle is the part of an agent that is shipped as one artifact:
// the model that it wants, its prompt, and capabilities, which add HTTP routes, actions of user interfaces and tools.
//
//	var agent = bundle.Agent{
//		Name:         "helper",
//		Model:        bundle.Model{Provider: "openrouter", ModelID: "anthropic/claude-sonnet-4"},
//		Prompt:       bundle.Prompt{AgentName: "Helper"},
//		Capabilities: func(env bundle.Env) []bundle.Capability { return []bundle.Capability{skills} },
//	}
//
//	func init() { bundle.DefineAgent(agent) }
//	func main() { bundle.Main() }
//
// It is built with GOOS=wasip1 GOARCH=wasm and -buildmode=c-shared, and runs in a sandbox of the host: without files, network or
// environment. All that it reaches goes through the contexts that its functions get. Built for the system at hand it
// is a program that prints its metadata; package bundlenative runs it as an http.Handler in tests. The rules are
// docs/spec/bundles.md.
package bundle
