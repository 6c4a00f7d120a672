package sdk

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// manifestSignature is the method that lists every method. Its input is empty.
var manifestSignature = kernelcontract.Signature{Ref: "kernel/contract.manifest", Kind: kernelcontract.KindQuery}

// Manifest returns what the server offers: its plugins, services and methods with their schemas, words and examples.
func (c *Client) Manifest(ctx context.Context) (*manifest.Manifest, error) {
	r, err := c.Do(ctx, Request{Signature: manifestSignature})
	if err != nil {
		return nil, err
	}
	m, err := manifest.Decode(r.Body)
	if err != nil {
		return nil, badManifest(r.CallID, err)
	}
	return m, nil
}

func badManifest(callID string, err error) *kernelcontract.Error {
	e := kernelcontract.Internal.Errorf("the server's methods are not known: %s", err.Error()).WithCause(err)
	e.CallID = callID
	return e
}

// catalogID names one catalog of one server.
type catalogID struct {
	server     string
	generation uint64
}

// methodTable is what calls by name know of the server's methods.
type methodTable struct {
	fetch chan struct{} // holds one token: who has it may fetch

	mu      sync.Mutex
	seen    catalogID // of the last answer
	of      catalogID // of methods
	methods map[string]kernelcontract.Signature
}

func newMethodTable() *methodTable { return &methodTable{fetch: make(chan struct{}, 1)} }

// saw notes which catalog answered.
func (t *methodTable) saw(a Answer) {
	if a.ServerID == "" {
		return
	}
	t.mu.Lock()
	t.seen = catalogID{a.ServerID, a.Generation}
	t.mu.Unlock()
}

// find returns a known method; fresh says that the table is that of the last answer's catalog.
func (t *methodTable) find(ref string) (sig kernelcontract.Signature, known, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sig, known = t.methods[ref]
	return sig, known, t.methods != nil && t.of == t.seen
}

// signature returns the signature of a method by its name. It asks the server when the method is not known or the
// server's catalog has changed.
func (c *Client) signature(ctx context.Context, ref string) (kernelcontract.Signature, error) {
	if ref == manifestSignature.Ref {
		return manifestSignature, nil
	}
	if sig, known, fresh := c.table.find(ref); known && fresh {
		return sig, nil
	}
	select {
	case c.table.fetch <- struct{}{}:
		defer func() { <-c.table.fetch }()
	case <-ctx.Done():
		return kernelcontract.Signature{}, c.broken(ctx, Request{Signature: manifestSignature}, false, ctx.Err())
	}
	if sig, known, fresh := c.table.find(ref); known && fresh { // another call fetched meanwhile
		return sig, nil
	}
	methods, err := c.fetchMethods(ctx)
	if err != nil {
		return kernelcontract.Signature{}, err
	}
	sig, ok := methods[ref]
	if !ok {
		return sig, kernelcontract.NotFound.Errorf("%s has no method %s", c.url, ref)
	}
	return sig, nil
}

func (c *Client) fetchMethods(ctx context.Context) (map[string]kernelcontract.Signature, error) {
	a, err := c.do(ctx, Request{Signature: manifestSignature})
	if err != nil {
		return nil, err
	}
	// Only what a call needs is read, so that whatever else later kernels tell does no harm.
	var m struct {
		Format  int `json:"format"`
		Plugins []struct {
			Services []struct {
				Methods []struct {
					PluginID  string              `json:"pluginId"`
					Service   string              `json:"service"`
					Method    string              `json:"method"`
					Kind      kernelcontract.Kind `json:"kind"`
					Resumable bool                `json:"resumable"`
					Input     json.RawMessage     `json:"input"`
				} `json:"methods"`
			} `json:"services"`
		} `json:"plugins"`
	}
	if err := a.decode(manifestSignature.Ref, &m); err != nil {
		return nil, err
	}
	if m.Format != manifest.Format {
		return nil, badManifest(a.CallID, &manifest.FormatError{Format: m.Format})
	}
	methods := map[string]kernelcontract.Signature{}
	for _, p := range m.Plugins {
		for _, s := range p.Services {
			for _, d := range s.Methods {
				ref := d.PluginID + "/" + d.Service + "." + d.Method
				methods[ref] = kernelcontract.Signature{Ref: ref, Kind: d.Kind, Resumable: d.Resumable, Input: lazyInput(d.Input)}
			}
		}
	}
	c.table.mu.Lock()
	c.table.of, c.table.methods = catalogID{a.ServerID, a.Generation}, methods
	c.table.mu.Unlock()
	return methods, nil
}

// lazyInput decodes a schema on first use: most methods of a manifest are never called.
func lazyInput(raw json.RawMessage) func() (*schema.Schema, error) {
	return sync.OnceValues(func() (*schema.Schema, error) {
		s := &schema.Schema{}
		if len(raw) == 0 {
			return s, nil
		}
		return s, json.Unmarshal(raw, s)
	})
}
