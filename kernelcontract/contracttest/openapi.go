package contracttest

import (
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/openapi"
)

// CheckOpenAPI checks that the OpenAPI document of a method alone is valid.
func CheckOpenAPI(d *kernelcontract.MethodDef, s *kernelcontract.ServiceDef) []Problem {
	c := collector{def: d, surface: OpenAPI}
	doc, err := docs.Of(d, nil)
	if err != nil || doc.HTTP == nil {
		return nil // CheckSchema says it, or there is nothing to describe
	}
	service := manifest.Service{ID: s.ID(), Summary: s.Summary, Methods: []docs.MethodDoc{doc}}
	raw, err := openapi.Of(&manifest.Manifest{Plugins: []manifest.Plugin{{ID: d.PluginID, Services: []manifest.Service{service}}}}, "")
	if err != nil {
		c.add("%s", err)
		return c.problems
	}
	for _, problem := range openapi.Check(raw) {
		c.add("%s", problem)
	}
	return c.problems
}
