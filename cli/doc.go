// Package cli is the bb program as a library: the words of a server's methods on a command line.
//
// Main runs one command line and returns its exit status. What the words are comes from the server's manifest, which is
// cached, so that help, completion and parsing need no server. The rules are stated in docs/spec/cli.md.
package cli
