// Package mcp serves the agent tools of a kernel over the Model Context Protocol. [Handler] is the endpoint:
//
//	mux.Handle("/mcp", k.Guard(kernelcontract.Access{}, true, mcp.Handler(k)))
//
// A client sees the live catalog and calls through the same pipeline as on every other surface, as the one whom the
// request's credential names. The rules are stated in docs/spec/mcp.md.
//
// A program that does not import this package does not link the protocol's library.
package mcp
