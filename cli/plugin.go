package cli

import (
	"encoding/json"
	"path/filepath"

	"github.com/bb-kernel/bb/cli/internal/scaffold"
	"github.com/bb-kernel/bb/kernelcontract"
)

// pluginNew answers `bb plugin new`: it writes a plugin that compiles.
func (a *app) pluginNew(input json.RawMessage) int {
	var in struct {
		Name   string `json:"name"`
		Dir    string `json:"dir"`
		Module string `json:"module"`
		Source string `json:"source"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return a.fail(asFailure("the input", err), false)
	}
	p := scaffold.Plugin{Name: in.Name, Module: in.Module}
	if in.Source != "" {
		source, err := filepath.Abs(a.path(in.Source))
		if err != nil {
			return a.fail(asFailure("--source", err), false)
		}
		p.Source = source
	}
	if in.Dir == "" {
		in.Dir = in.Name
	}
	names, err := scaffold.Write(a.path(in.Dir), p)
	if err != nil {
		return a.fail(kernelcontract.InvalidInput.Errorf("%s", err), false)
	}
	if a.globals.json {
		raw, err := json.Marshal(struct {
			Dir   string   `json:"dir"`
			Files []string `json:"files"`
		}{in.Dir, names})
		if err != nil {
			return a.fail(asFailure("the answer", err), false)
		}
		a.out.print(pretty(raw))
		return kernelcontract.ExitOK
	}
	for _, name := range names {
		a.out.print(filepath.ToSlash(filepath.Join(in.Dir, name)))
	}
	next := "cd " + in.Dir + " && "
	if p.Source == "" {
		next += "go mod tidy && "
	}
	a.warnf("next: %sgo test ./... && bb plugin dev .", next)
	return kernelcontract.ExitOK
}
