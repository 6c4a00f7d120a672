package codex

import (
	"encoding/json"
	"io"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

// Shown and HideKeys are what the tests hold by themselves.
var (
	Shown    = shown
	HideKeys = hideKeys
)

// Versioned is a stream of Codex as a stream of JSON-RPC.
func Versioned(in io.ReadCloser) io.ReadCloser { return &versioned{in: in} }

// Payload is what an item of Codex becomes, nil when it is none.
func Payload(raw []byte) protocol.Item {
	i := &item{}
	if json.Unmarshal(raw, &i.last) != nil {
		return nil
	}
	return i.payload(&Session{})
}

// Names are the names of tools for Codex, and what they are called by core.
func Names(names ...string) (all map[string]string) {
	var tools []protocol.DynamicTool
	for _, name := range names {
		tools = append(tools, protocol.DynamicTool{Name: name})
	}
	var n toolNames
	all = map[string]string{}
	for _, t := range n.declare(tools) {
		all[t.Name] = n.original(t.Name)
	}
	return all
}

// Permission is a policy as Codex's approval policy and sandbox.
var Permission = permission

// Thread is what a thread is made with.
func Thread(p protocol.SessionParams) ([]byte, error) {
	var n toolNames
	return json.Marshal(config{}.thread(schema.ThreadParams{}, schema.ThreadStart, p, &n))
}
