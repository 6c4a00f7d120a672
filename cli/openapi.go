package cli

import (
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/openapi"
	"github.com/bb-kernel/bb/kernelcontract/text"
)

// openapi answers `bb sdk openapi`: the OpenAPI document of the server's catalog as it is now, on standard output or in a
// file (docs/spec/openapi.md).
func (a *app) openapi(input json.RawMessage) int {
	var in struct {
		Output string `json:"output"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return a.fail(asFailure("the input", err), false)
	}
	client, err := a.connect(nil)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	m, err := client.Manifest(a.ctx)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	document, err := openapi.Of(m, a.serverURL())
	if err != nil {
		return a.fail(asFailure("the document", err), false)
	}
	if in.Output == "" || in.Output == "-" {
		_, _ = a.out.Write(document) // the sink keeps its failure
		return kernelcontract.ExitOK
	}
	if err := replaceFile(a.path(in.Output), document); err != nil {
		return a.fail(kernelcontract.Internal.Errorf("%s cannot be written: %v", in.Output, err), false)
	}
	a.warnf("%s written to %s", text.Size(openapi.MediaType, len(document)), in.Output)
	return kernelcontract.ExitOK
}
