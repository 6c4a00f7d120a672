package cli

import (
	"encoding/json"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/sdk/typegen"
)

// types answers `bb sdk types`: a typed client of the server's catalog as it is now, on standard output or in a file
// (docs/spec/sdk-types.md).
func (a *app) types(input json.RawMessage) int {
	var in struct {
		Lang    string   `json:"lang"`
		Output  string   `json:"output"`
		Package string   `json:"package"`
		Plugin  []string `json:"plugin"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return a.fail(asFailure("the input", err), false)
	}
	write, media := typegen.TypeScript, "text/plain"
	switch in.Lang {
	case "go":
		write = typegen.Go
	case "js":
		write = typegen.JavaScript
	}
	client, err := a.connect(nil)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	var m *manifest.Manifest
	if m, err = client.Manifest(a.ctx); err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	source, err := write(m, typegen.Options{Package: in.Package, Plugins: in.Plugin})
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	if in.Output == "" || in.Output == "-" {
		_, _ = a.out.Write(source) // the sink keeps its failure
		return kernelcontract.ExitOK
	}
	if err := replaceFile(a.path(in.Output), source); err != nil {
		return a.fail(kernelcontract.Internal.Errorf("%s cannot be written: %v", in.Output, err), false)
	}
	a.warnf("%s written to %s", text.Size(media, len(source)), in.Output)
	return kernelcontract.ExitOK
}
