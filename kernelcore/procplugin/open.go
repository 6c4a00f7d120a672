package procplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/contract"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// Options says how programs run. The zero value is ready.
type Options struct {
	// Environ gives the variables of which a program gets the few that are nobody's secret; nil: those of this process.
	Environ func() []string
	// DataDir is where a program keeps its files when there is no kernel that says it, as in tests; "": a temporary directory
	// that is removed when the plugin stops.
	DataDir string
}

// Open reads the folder of a plugin, which is absolute, without running anything, and returns the plugin. Its Setup starts
// the program. The error says what is wrong with the folder or its contract.
func Open(dir string, o Options) (*pluginsdk.Plugin, error) {
	return open(dir, o, defaultWaits())
}

func open(dir string, o Options, w waits) (*pluginsdk.Plugin, error) {
	c, err := ReadContract(dir)
	if err != nil {
		return nil, err
	}
	p := &program{dir: dir, contract: c, o: o, waits: w, command: c.Command(dir, runtime.GOOS)}
	plugin := &pluginsdk.Plugin{
		ID: c.ID, Version: c.Version, Summary: c.Summary,
		Providers: c.Providers, InteractionKinds: c.InteractionKinds,
	}
	for _, k := range c.Config {
		key := pluginsdk.ConfigKey{Key: k.Key, Summary: k.Summary, Required: k.Required}
		if k.Default != nil {
			key.Default = k.Default
		}
		plugin.Config = append(plugin.Config, key)
	}
	if c.Guide != "" {
		plugin.Guide = folder{dir, c.Guide}
	}
	if c.Skills != "" {
		plugin.Skills = folder{dir, c.Skills}
	}
	p.plugin = plugin
	p.services = c.Define(p.renderer)
	plugin.Services = p.services
	plugin.Setup = p.setup
	return plugin, nil
}

// ReadContract reads the contract of a plugin's folder.
func ReadContract(dir string) (*contract.Contract, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the plugin's folder: %w", err)
	}
	defer root.Close()
	f, err := root.Open(contract.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the plugin's folder has no %s: a plugin in Go writes it with --package DIR", contract.File)
	}
	if err != nil {
		return nil, fmt.Errorf("the plugin's contract: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, contract.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("the plugin's contract: %w", err)
	}
	return contract.Decode(raw)
}

// program is a plugin that is a program of its own.
type program struct {
	dir      string
	contract *contract.Contract
	command  []string
	o        Options
	waits    waits
	plugin   *pluginsdk.Plugin
	services []*kernelcontract.Service

	latest atomic.Pointer[life] // the one that was set up last: it renders, whoever has answered
}

// folder is a folder inside a plugin's, which nothing leads out of.
type folder struct{ dir, sub string }

// Open implements fs.FS.
func (f folder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(path.Join(f.sub, name))
}

// renderer returns the function that renders the results of a method.
func (p *program) renderer(ref string) func(json.RawMessage, kernelcontract.Render) (string, error) {
	return func(v json.RawMessage, r kernelcontract.Render) (string, error) {
		l := p.latest.Load()
		if l == nil {
			return "", kernelcontract.ServiceUnavailable.Errorf("the plugin %s has not been set up", p.contract.ID)
		}
		return l.render(ref, v, r)
	}
}

// waits are how long a program is waited for; tests wait less.
type waits struct {
	initialize, pingEvery, pingTimeout, write time.Duration
}

// writeTimeout ends a connection whose program reads nothing: it is shorter than the budget of a call.
const writeTimeout = 20 * time.Second

func defaultWaits() waits {
	return waits{initialize: stdio.InitializeTimeout, pingEvery: stdio.PingEvery, pingTimeout: stdio.PingTimeout, write: writeTimeout}
}
