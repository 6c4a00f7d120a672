package kernelapi

import (
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
)

// GetManifest returns the manifest of the live catalog.
var GetManifest = &kernelcontract.Query[kernelcontract.None, manifest.Manifest]{
	Ref: "kernel/contract.manifest", Summary: "Describe every plugin, service and method",
	Hide: kernelcontract.OnCLI,
}

// ReferenceInput names a plugin.
type ReferenceInput struct {
	PluginID string `json:"pluginId" description:"The plugin's id"`
}

// GetReference returns the reference of a plugin.
var GetReference = &kernelcontract.Query[ReferenceInput, docs.ReferenceDoc]{
	Ref: "kernel/contract.reference", Summary: "Describe the methods of a plugin",
	Hide:       kernelcontract.OnCLI,
	RenderText: func(doc docs.ReferenceDoc, _ kernelcontract.Render) string { return docs.RenderReference(doc) },
}

// Contract describes the catalog. Its methods serve programs and have no words.
var Contract = &kernelcontract.Service{
	ID: "kernel/contract", Summary: "Describe what the server offers",
	Methods: []kernelcontract.Method{GetManifest, GetReference},
}
