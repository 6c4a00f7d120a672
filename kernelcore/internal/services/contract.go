package services

import (
	"context"
	"fmt"
	"sync"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// contract keeps the manifest of the last generation that was asked for: it takes every schema to make.
type contract struct {
	mu       sync.Mutex
	manifest *manifest.Manifest
}

// of returns the manifest of a snapshot. Its plugins are shared and read-only.
func (c *contract) of(serverID string, s *Snapshot) *manifest.Manifest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manifest == nil || c.manifest.Generation != s.Generation {
		c.manifest = build(serverID, s)
	}
	return c.manifest
}

func build(serverID string, s *Snapshot) *manifest.Manifest {
	m := &manifest.Manifest{
		Format: manifest.Format, ServerID: serverID, Generation: s.Generation,
		Plugins: []manifest.Plugin{}, Problems: []manifest.Problem{},
	}
	for i := range s.Plugins {
		p := &s.Plugins[i]
		out := manifest.Plugin{ID: p.ID, Version: p.Version, Summary: p.Summary, State: p.State, Services: []manifest.Service{}, InteractionKinds: p.InteractionKinds}
		for _, d := range p.Providers {
			raw, err := protocol.Marshal(d)
			if err != nil {
				m.Problems = append(m.Problems, manifest.Problem{PluginID: p.ID, Message: fmt.Sprintf("the provider %s is not described: %s", d.ID, err)})
				continue
			}
			out.Providers = append(out.Providers, raw)
		}
		for _, def := range p.Services {
			service := manifest.Service{
				ID: def.ID(), Summary: def.Summary, Group: orEmpty(def.Group), Aliases: orEmpty(def.Aliases), Methods: []docs.MethodDoc{},
			}
			for _, d := range def.Methods {
				doc, err := describe(s.Tree, def, d)
				if err != nil {
					m.Problems = append(m.Problems, manifest.Problem{PluginID: p.ID, Message: fmt.Sprintf("%s is not described: %s", d.Ref(), err)})
					continue
				}
				if d.Expose.Any() {
					service.Methods = append(service.Methods, doc)
				}
			}
			out.Services = append(out.Services, service)
		}
		m.Plugins = append(m.Plugins, out)
	}
	return m
}

// describe returns the doc of a method with what the composition left it of its word.
func describe(tree *word.Tree, s *kernelcontract.ServiceDef, d *kernelcontract.MethodDef) (docs.MethodDoc, error) {
	if d.Kind == kernelcontract.KindCustom || !d.Expose.CLI {
		return docs.Of(d, nil)
	}
	w, err := word.Of(d, s)
	if err != nil {
		return docs.MethodDoc{}, err
	}
	return docs.Of(d, tree.Trim(w))
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (a *answers) getManifest(context.Context, kernelcontract.None) (manifest.Manifest, error) {
	s := a.Snapshot()
	m := *a.contract.of(a.ServerID, &s)
	m.Problems = append(append([]manifest.Problem{}, s.Problems...), m.Problems...)
	return m, nil
}

func (a *answers) getReference(_ context.Context, in kernelapi.ReferenceInput) (docs.ReferenceDoc, error) {
	s := a.Snapshot()
	for _, p := range a.contract.of(a.ServerID, &s).Plugins {
		if p.ID != in.PluginID {
			continue
		}
		doc := docs.ReferenceDoc{PluginID: p.ID, Generation: s.Generation, Services: []docs.ServiceDoc{}}
		for _, svc := range p.Services {
			doc.Services = append(doc.Services, docs.ServiceDoc{ID: svc.ID, Summary: svc.Summary, Methods: svc.Methods})
		}
		return doc, nil
	}
	return docs.ReferenceDoc{}, kernelcontract.NotFound.Errorf("there is no plugin %q: `bb plugin list` shows them", in.PluginID)
}
