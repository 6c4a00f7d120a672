// Package wire is line-delimited JSON-RPC 2.0 over a byte stream, the transport of provider bridges and of other
// programs that talk to a kernel over their standard input and output.
//
// LineReader splits a stream into lines within bounded memory, Parse tells what a line is, and Peer is one end of a
// connection: both sides send requests and notifications at any time. A bad line is dropped with a typed reason and the
// connection goes on; ids are kept as the bytes they came as. See docs/spec/bridges-wire.md.
package wire

// MaxLine is the most bytes a line may have, its line end not counted: room for the largest message of the bridge
// protocol, a diff of 4 MiB with JSON escapes, and still little enough to hold for each connection.
const MaxLine = 8 << 20

// MaxDepth is how deep the values of a line may nest. It is the limit of encoding/json, so that what passes here can
// be decoded there.
const MaxDepth = 10000

// version is the value of the jsonrpc member.
const version = "2.0"
