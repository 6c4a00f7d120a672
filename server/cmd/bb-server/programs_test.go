package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/matryer/is"

	hello "github.com/bb-kernel/bb/examples/hello-slot"
	notes "github.com/bb-kernel/bb/examples/notes-fixture"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/openapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/procplugin"
	"github.com/bb-kernel/bb/pluginsdk"
)

// packaged builds an example plugin as a program and returns its folder, as it would be installed.
func packaged(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "built")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	for _, command := range [][]string{
		{"go", "build", "-buildvcs=false", "-o", program, "github.com/bb-kernel/bb/examples/" + name + "/cmd/" + name},
		{program, "--package", filepath.Join(dir, "package")},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
	}
	return filepath.Join(dir, "package")
}

// A plugin that is a program of its own looks the same on every surface as compiled in.
func TestProgramsLookTheSame(t *testing.T) {
	is := is.New(t)
	compiled := []*pluginsdk.Plugin{hello.Plugin(), notes.Plugin()}
	var programs []*pluginsdk.Plugin
	for _, p := range compiled {
		folder := packaged(t, p.ID)
		program, err := procplugin.Open(folder, procplugin.Options{})
		is.NoErr(err)
		programs = append(programs, program)
		_, err = os.Stat(filepath.Join(folder, "contract.json"))
		is.NoErr(err)
	}
	describe := func(plugins []*pluginsdk.Plugin) (manifest, document, reference string) {
		k, err := kernelcore.New(kernelcore.Options{Plugins: plugins})
		is.NoErr(err)
		defer k.Close()
		is.Equal(k.Problems(), []error{})
		caller := k.As(kernelcontract.Principal{Actor: "user:a"})
		m, err := kernelapi.GetManifest.Call(t.Context(), caller, kernelcontract.None{})
		is.NoErr(err)
		m.ServerID, m.Generation = "", 0
		raw, err := json.MarshalIndent(m, "", " ")
		is.NoErr(err)
		doc, err := openapi.Of(&m, "")
		is.NoErr(err)
		for _, p := range plugins {
			var ref struct{ Text string }
			is.NoErr(caller.Call(t.Context(), "kernel/contract.reference", map[string]string{"pluginId": p.ID}, nil))
			reference += ref.Text
		}
		for _, tool := range k.Tools() {
			raw, err := json.Marshal(tool)
			is.NoErr(err)
			reference += string(raw)
		}
		return string(raw), string(doc), reference
	}
	m1, d1, r1 := describe(compiled)
	m2, d2, r2 := describe(programs)
	is.Equal(m2, m1)
	is.Equal(d2, d1)
	is.Equal(r2, r1)
}
