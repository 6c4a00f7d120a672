package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
)

// Plugin is a plugin as a stateless value: several kernels may load the same one. Only ID is required.
type Plugin struct {
	ID      string // ^[a-z][a-z0-9-]*$, the first part of every service's id; not "kernel"
	Version string // for people and logs, at most MaxVersion bytes
	Summary string // one line

	// Services are what the plugin offers, in the order that every surface shows. Setup must provide exactly these.
	Services []*kernelcontract.Service
	// Providers declare what runs agents. Setup must hand the program of each to ProvideBridge. Two plugins may declare the
	// same id; the first in the composition wins.
	Providers []protocol.ProviderDeclaration
	// InteractionKinds are the kinds of questions, as <plugin id>/<kind>, that the plugin's bridges may ask beside
	// approvals and the protocol's own questions.
	InteractionKinds []string
	// Skills holds folders with a SKILL.md, which agents get that take skills. nil: none.
	Skills fs.FS
	// Config are the settings that Host.Config reads.
	Config []ConfigKey
	// Guide holds chapters for people and agents: the *.md files at its root. nil: no chapters.
	Guide fs.FS
	// Offline are the functions of the methods with CLI.Offline, which run without a server.
	Offline []kernelcontract.Implementation
	// Setup runs once for each kernel that loads the plugin, and again at each reload. ctx ends when the plugin stops,
	// before the functions of Host.OnStop run. An error or a panic keeps the plugin out, not the kernel.
	// nil does nothing, which suits a plugin without services.
	Setup func(ctx context.Context, h *Host) error
}

// ConfigKey declares a setting of a plugin. People set it with `bb plugin config set <plugin> <key> <value>`.
type ConfigKey struct {
	Key      string // ^[a-z][a-zA-Z0-9]*$
	Summary  string // one line, required: shown where the setting is listed or missing
	Default  any    // encodes to JSON; nil: no default
	Required bool   // reported as missing together with any other one that is; needs no Default
}

// MaxVersion bounds a plugin's version, in bytes: it is a column of a table.
const MaxVersion = 64

// Limits of a guide. Chapters ride in what an agent reads at its start.
const (
	MaxChapters = 64
	MaxChapter  = 256 << 10 // bytes of one chapter
)

var (
	pluginID    = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	configKey   = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	chapterName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
)

// LoadError says why a plugin was not loaded, with every problem that was found. errors.Is and errors.As see them all.
type LoadError struct {
	PluginID string
	Problems []error
}

// Error names the plugin and has one line for each problem when there are several.
func (e *LoadError) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("plugin %s: %v", e.PluginID, e.Problems[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "plugin %s: %d problems", e.PluginID, len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  " + strings.ReplaceAll(p.Error(), "\n", "\n    "))
	}
	return b.String()
}

// Unwrap returns the problems.
func (e *LoadError) Unwrap() []error { return e.Problems }

// problems collects what is wrong with a plugin.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// check looks at everything that is wrong with p as a value and returns its normalized services, by their definition.
func (p *Plugin) check(ps *problems) (map[*kernelcontract.Service]*kernelcontract.ServiceDef, []*kernelcontract.ServiceDef) {
	switch {
	case !pluginID.MatchString(p.ID):
		ps.add("the id %q must match %s", p.ID, pluginID)
	case p.ID == kernelcontract.KernelID:
		ps.add("the id %q is the kernel's own: choose another", p.ID)
	}
	if len(p.Version) > MaxVersion || strings.ContainsAny(p.Version, "\r\n") {
		ps.add("the version must be one line of at most %d bytes", MaxVersion)
	}
	if strings.ContainsAny(p.Summary, "\r\n") {
		ps.add("the summary must be one line")
	}
	byService, defs := p.services(ps)
	p.checkProviders(ps)
	p.checkConfig(ps)
	p.checkOffline(ps, byService)
	return byService, defs
}

func (p *Plugin) services(ps *problems) (map[*kernelcontract.Service]*kernelcontract.ServiceDef, []*kernelcontract.ServiceDef) {
	byService := make(map[*kernelcontract.Service]*kernelcontract.ServiceDef, len(p.Services))
	ids := map[string]bool{}
	var defs []*kernelcontract.ServiceDef
	for i, s := range p.Services {
		if s == nil {
			ps.add("Services[%d] is nil", i)
			continue
		}
		def, err := s.Def()
		var wrong *kernelcontract.DefinitionError
		switch {
		case errors.As(err, &wrong):
			for _, problem := range wrong.Problems {
				ps.add("%s", problem)
			}
			continue
		case err != nil:
			*ps = append(*ps, err)
			continue
		}
		switch {
		case def.PluginID != p.ID:
			ps.add("the service %s belongs to plugin %s: its id must begin with %q", def.ID(), def.PluginID, p.ID+"/")
		case ids[def.ID()]:
			ps.add("the service %s is listed twice", def.ID())
		}
		ids[def.ID()] = true
		byService[s] = def
		defs = append(defs, def)
	}
	return byService, defs
}

func (p *Plugin) checkConfig(ps *problems) {
	seen := map[string]bool{}
	for _, k := range p.Config {
		switch {
		case !configKey.MatchString(k.Key):
			ps.add("the config key %q must match %s", k.Key, configKey)
		case seen[k.Key]:
			ps.add("the config key %q is declared twice", k.Key)
		}
		seen[k.Key] = true
		if strings.TrimSpace(k.Summary) == "" || strings.ContainsAny(k.Summary, "\r\n") {
			ps.add("the config key %q needs a summary of one line", k.Key)
		}
		if _, err := json.Marshal(k.Default); err != nil {
			ps.add("the default of the config key %q does not encode to JSON: %w", k.Key, err)
		}
		if k.Required && k.Default != nil {
			ps.add("the config key %q is required and has a default: drop one of them", k.Key)
		}
	}
}

func (p *Plugin) checkOffline(ps *problems, byService map[*kernelcontract.Service]*kernelcontract.ServiceDef) {
	given := map[string]bool{}
	for _, impl := range p.Offline {
		def := byService[impl.Service]
		if def == nil {
			ps.add("Offline: the service %s is not one of Services, or has problems", serviceName(impl.Service))
			continue
		}
		for _, h := range impl.Handlers {
			m, err := methodOf(def, h)
			switch {
			case err != nil:
				ps.add("Offline: %w", err)
			case !m.CLI.Offline:
				ps.add("Offline: %s runs only on a server: set CLI.Offline in its definition", m.Ref())
			case given[m.Ref()]:
				ps.add("Offline: %s has two functions", m.Ref())
			default:
				given[m.Ref()] = true
			}
		}
	}
	for _, s := range p.Services {
		def := byService[s]
		if def == nil {
			continue
		}
		for _, m := range def.Methods {
			if m.CLI.Offline && !given[m.Ref()] {
				ps.add("%s has CLI.Offline and no function in Offline", m.Ref())
			}
		}
	}
}

// methodOf returns the method of def that h answers. The error says why h cannot be used.
func methodOf(def *kernelcontract.ServiceDef, h kernelcontract.Handler) (*kernelcontract.MethodDef, error) {
	if h.Method() == nil {
		return nil, fmt.Errorf("a handler for %s is empty: make it with the Handle method of a definition", def.ID())
	}
	for i, m := range def.Methods {
		if m.Ref() != h.Ref() {
			continue
		}
		switch {
		case !def.Defines(i, h.Method()):
			return nil, fmt.Errorf("the handler for %s comes from another definition with the same ref: use the one that the service lists", h.Ref())
		case h.IsNil():
			return nil, fmt.Errorf("the handler for %s has a nil function", h.Ref())
		}
		return m, nil
	}
	return nil, fmt.Errorf("%s is not a method of the service %s: list it in Methods, or drop its handler", h.Ref(), def.ID())
}

func serviceName(s *kernelcontract.Service) string {
	if s == nil {
		return "nil"
	}
	return s.ID
}
