// Package server runs a kernel as a server: a listener, a data directory, metrics, and an orderly end.
//
// [Run] is the whole of it and is meant to be embedded; bb-server is a thin program over it. The rules are stated in
// docs/spec/server.md.
package server
