// Package bridgekit is the author's side of provider bridges: the kit with which a coding agent is plugged into a
// kernel.
//
// A bridge is a program that core starts as a child process and talks to over standard input and output. Its author
// writes functions over a session type of their own and puts them into a Bridge; Main serves it. The runtime speaks the
// protocol: the handshake, the checks of every call in their order, one ordered queue per thread, the identity of a
// session before its deltas, interruption, shutdown. Deltas go to core with Thread.Send, questions with Thread.Approve,
// Thread.Ask, Thread.Interact and Thread.CallTool, which block until core answers.
//
// The types of the protocol are in package protocol. docs/spec/bridges-runtime.md says what the runtime does, rule by
// rule.
package bridgekit
