package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore"
)

// Where the docs are among the resources.
const (
	referenceURI = "bb://reference/" // and the plugin's id
	guideURI     = "bb://guide/"     // and the plugin's id, a slash and the chapter's name
	markdown     = "text/markdown"
)

// resource is a text that clients may read.
type resource struct {
	title, description string
	read               func(ctx context.Context) (string, error)
}

// resources returns the docs of the catalog by their URIs: the reference of each plugin that is ready and the chapters of the guide.
func resources(ctx context.Context, k *kernelcore.Kernel) (map[string]resource, error) {
	reader := k.As(kernelcontract.Principal{Actor: string(kernelcontract.System) + ":mcp"})
	plugins, err := kernelapi.ListPlugins.Call(ctx, reader, kernelcontract.None{})
	if err != nil {
		return nil, err
	}
	chapters, err := kernelapi.ListChapters.Call(ctx, reader, kernelcontract.None{})
	if err != nil {
		return nil, err
	}
	list := map[string]resource{}
	for _, p := range plugins {
		if p.State != manifest.Ready {
			continue
		}
		list[referenceURI+p.ID] = resource{
			title: "Reference of " + p.ID, description: p.Summary,
			read: func(ctx context.Context) (string, error) {
				doc, err := kernelapi.GetReference.Call(ctx, reader, kernelapi.ReferenceInput{PluginID: p.ID})
				return docs.RenderReference(doc), err
			},
		}
	}
	for _, c := range chapters {
		list[guideURI+c.PluginID+"/"+c.Name] = resource{
			title: c.Title, description: "A chapter of the guide",
			read: func(context.Context) (string, error) { return c.Text, nil },
		}
	}
	return list, nil
}

// refreshResources makes the resources of the protocol's library the docs of the catalog. e.catalogMu is held.
func (e *endpoint) refreshResources() {
	next, err := resources(context.Background(), e.kernel)
	if err != nil {
		return // the kernel is stopping
	}
	for uri, r := range next {
		if old, there := e.resources[uri]; there && old.title == r.title && old.description == r.description {
			e.resources[uri] = r // what is read is that of now
			continue
		}
		e.server.AddResource(&sdk.Resource{URI: uri, Name: uri, Title: r.title, Description: r.description, MIMEType: markdown}, e.read)
		e.resources[uri] = r
	}
	var gone []string
	for uri := range e.resources {
		if _, there := next[uri]; !there {
			gone = append(gone, uri)
			delete(e.resources, uri)
		}
	}
	if len(gone) > 0 {
		e.server.RemoveResources(gone...)
	}
}

// read answers a resources/read.
func (e *endpoint) read(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := r.Params.URI
	e.catalogMu.Lock()
	one, there := e.resources[uri]
	e.catalogMu.Unlock()
	if !there {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	text, err := one.read(ctx)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: markdown, Text: text}}}, nil
}
