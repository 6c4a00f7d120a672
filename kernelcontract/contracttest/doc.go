// Package contracttest checks that a service derives whole on every surface: over HTTP, for typed callers, on the command
// line, as agent tools, in text, in the docs and in OpenAPI. Every plugin's tests call it:
//
//	contracttest.ExpectDerivedSurfaces(t, contracts.Greeter, contracttest.Samples{
//		"greet": contracts.GreetOutput{Message: "Hello, bb!", Count: 1},
//	})
//
// The rules are stated in docs/spec/definitions.md.
package contracttest
