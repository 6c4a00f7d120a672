// Package contract is contract.json: all that is public of a plugin that is a program of its own, readable without running
// anything. A kernel learns a plugin's methods from it, and people see what they install. pluginsdk writes it for a plugin
// in Go; docs/spec/contract.md describes it for every other language.
package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// File is the name of the document in a plugin's folder.
const File = "contract.json"

// Format is the number of the document's form. A reader refuses every other.
const Format = 1

// Limits of a contract.
const (
	MaxSize    = 1 << 20 // bytes: it is read whole before anything is known of the plugin
	MaxMethods = 500     // of all services: each has schemas and a word
	MaxRun     = 64      // words of the command line
	maxText    = 1 << 12 // bytes of a path or a word
)

// Contract is a contract.json.
type Contract struct {
	Format  int    `json:"format"`
	ID      string `json:"id"`
	Version string `json:"version"`
	Summary string `json:"summary,omitempty"`
	// Run is the command line of the program: see [Contract.Command]. Empty: the file that is named like the plugin.
	Run              []string                       `json:"run,omitempty"`
	Services         []Service                      `json:"services"`
	Config           []ConfigKey                    `json:"config,omitempty"`
	Guide            string                         `json:"guide,omitempty"`  // path of a folder with chapters, inside the plugin's
	Skills           string                         `json:"skills,omitempty"` // path of a folder with skills, inside the plugin's
	Providers        []protocol.ProviderDeclaration `json:"providers,omitempty"`
	InteractionKinds []string                       `json:"interactionKinds,omitempty"`
}

// Service is a kernelcontract.Service.
type Service struct {
	ID      string     `json:"id"`
	Summary string     `json:"summary"`
	Group   []string   `json:"group,omitzero"` // null or absent: the service in kebab case; empty: the top level
	Aliases [][]string `json:"aliases,omitempty"`
	Methods []Method   `json:"methods"`
}

// Method is a kernelcontract.Described. What is absent has its default.
type Method struct {
	Method      string                                          `json:"method"`
	Kind        kernelcontract.Kind                             `json:"kind"` // query, mutation or stream
	Summary     string                                          `json:"summary"`
	Description string                                          `json:"description,omitempty"`
	Input       *schema.Schema                                  `json:"input"`
	Output      *schema.Schema                                  `json:"output"`
	Expose      Expose                                          `json:"expose,omitzero"`
	CLI         CLI                                             `json:"cli,omitzero"`
	Tool        *Tool                                           `json:"tool,omitempty"`
	Ambient     map[string]kernelcontract.ContextKey            `json:"ambient,omitempty"`
	Errors      map[kernelcontract.Code]kernelcontract.ErrorDef `json:"errors,omitempty"`
	Examples    []kernelcontract.ExampleDef                     `json:"examples,omitempty"`
	Destructive bool                                            `json:"destructive,omitempty"`
	Blocking    *Blocking                                       `json:"blocking,omitempty"`
	Resumable   bool                                            `json:"resumable,omitempty"`
	Target      kernelcontract.Target                           `json:"target,omitempty"` // server or host
	Auth        kernelcontract.Auth                             `json:"auth,omitempty"`   // operator, machine or none
	Local       bool                                            `json:"local,omitempty"`
	Actors      []kernelcontract.ActorKind                      `json:"actors,omitempty"` // absent: all
	RendersText bool                                            `json:"rendersText,omitempty"`
}

// Expose names the surfaces; absent means true. A method is a tool when it has a Tool.
type Expose struct {
	HTTP *bool `json:"http,omitempty"`
	SDK  *bool `json:"sdk,omitempty"`
	CLI  *bool `json:"cli,omitempty"`
}

// CLI is a kernelcontract.CLI.
type CLI struct {
	Name      string                         `json:"name,omitempty"`
	Aliases   []string                       `json:"aliases,omitempty"`
	Group     []string                       `json:"group,omitzero"` // null or absent: the service's; empty: the top level
	Args      []string                       `json:"args,omitempty"`
	Flags     map[string]kernelcontract.Flag `json:"flags,omitempty"`
	FlagAlias *kernelcontract.FlagAlias      `json:"flagAlias,omitempty"`
	Hidden    bool                           `json:"hidden,omitempty"`
}

// Tool is a kernelcontract.Tool.
type Tool struct {
	Name         string                      `json:"name,omitempty"`
	Description  string                      `json:"description,omitempty"`
	Instructions string                      `json:"instructions,omitempty"`
	Presentation kernelcontract.Presentation `json:"presentation"`
}

// Blocking is a budget of a call.
type Blocking struct {
	MaxMs int64 `json:"maxMs"`
}

// ConfigKey is a setting of the plugin.
type ConfigKey struct {
	Key      string          `json:"key"`
	Summary  string          `json:"summary"`
	Default  json.RawMessage `json:"default,omitempty"`
	Required bool            `json:"required,omitempty"`
}

// FormatError says that a contract has another form than this program reads.
type FormatError struct{ Format int }

// Error names both forms and what to do.
func (e *FormatError) Error() string {
	return fmt.Sprintf("the contract has format %d and this program reads %d: build the plugin with a matching version of bb", e.Format, Format)
}

// Decode reads a contract strictly: a member that is not known, bytes after the document and more than MaxSize bytes are
// errors; a foreign format is a *FormatError. The error names every problem of the definitions too, each with service,
// method and field.
func Decode(raw []byte) (*Contract, error) {
	if len(raw) > MaxSize {
		return nil, fmt.Errorf("the contract has %d bytes, at most %d are read", len(raw), MaxSize)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("the contract is not JSON: %w", err)
	}
	if head.Format != Format {
		return nil, &FormatError{head.Format}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	c := &Contract{}
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("the contract cannot be read: %w", err)
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	return c, nil
}

// Encode writes the contract for people to read; equal contracts give equal bytes.
func (c *Contract) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("the contract cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// idPattern is that of a plugin's id.
var idPattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// maxID bounds a plugin's id: it is the name of a folder.
const maxID = 64

// Check returns every problem of the contract, joined; nil when there is none.
func (c *Contract) Check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(c.ID) > maxID || !idPattern.MatchString(c.ID) || c.ID == kernelcontract.KernelID {
		add("id: %.100q must match %s, with at most %d bytes, and not be %s", c.ID, idPattern, maxID, kernelcontract.KernelID)
	}
	if c.Version == "" {
		add("version: is required")
	}
	if len(c.Run) > MaxRun {
		add("run: has %d words, at most %d are allowed", len(c.Run), MaxRun)
	}
	for i, w := range c.Run {
		if err := checkWord(i, w); err != nil {
			add("run[%d]: %w", i, err)
		}
	}
	for _, p := range []struct{ name, path string }{{"guide", c.Guide}, {"skills", c.Skills}} {
		if p.path != "" && !inside(p.path) {
			add("%s: %.100q is not the path of a folder inside the plugin's", p.name, p.path)
		}
	}
	methods := 0
	for i, s := range c.Services {
		methods += len(s.Methods)
		for j, m := range s.Methods {
			if m.Target != "" && m.Target != kernelcontract.OnServer && m.Target != kernelcontract.OnHost {
				add("services[%d].methods[%d].target: %.100q is not server or host", i, j, m.Target)
			}
		}
	}
	if methods > MaxMethods {
		add("services: there are %d methods, at most %d are allowed", methods, MaxMethods)
	}
	for i, s := range c.Define(nil) {
		_, err := s.Def()
		var wrong *kernelcontract.DefinitionError
		switch {
		case errors.As(err, &wrong):
			for _, p := range wrong.Problems {
				add("services[%d]: %s", i, p)
			}
		case err != nil:
			add("services[%d]: %w", i, err)
		}
	}
	return errors.Join(problems...)
}

func checkWord(i int, w string) error {
	switch {
	case w == "" && i == 0:
		return errors.New("is empty: name the program")
	case len(w) > maxText || strings.IndexByte(w, 0) >= 0:
		return fmt.Errorf("has a zero byte or over %d bytes", maxText)
	case i == 0 && strings.Contains(w, "/") && !inside(w), strings.HasPrefix(w, "./") && !inside(w):
		return fmt.Errorf("%.100q leads out of the plugin's folder: programs and files of the plugin are named like ./%s", w, path.Base(w))
	case i == 0 && strings.Contains(w, `\`):
		return fmt.Errorf("%.100q has a backslash: write paths with slashes, on every system", w)
	}
	return nil
}

// inside reports whether a slash-separated path stays inside the folder that it is relative to.
func inside(p string) bool {
	clean := path.Clean(p)
	return !path.IsAbs(p) && clean != ".." && !strings.HasPrefix(clean, "../") && !strings.Contains(p, `\`) && !strings.Contains(p, ":")
}

// Define returns the services as definitions that are known by their schemas. render returns the function that renders
// the results of a method with RendersText; nil: such methods have the generic text.
func (c *Contract) Define(render func(ref string) func(json.RawMessage, kernelcontract.Render) (string, error)) []*kernelcontract.Service {
	services := make([]*kernelcontract.Service, len(c.Services))
	for i, s := range c.Services {
		out := &kernelcontract.Service{ID: s.ID, Summary: s.Summary, Group: s.Group, Aliases: s.Aliases}
		for _, m := range s.Methods {
			d := m.define(s.ID)
			if m.RendersText && render != nil {
				d.RenderText = render(d.Ref)
			}
			out.Methods = append(out.Methods, d)
		}
		services[i] = out
	}
	return services
}

func (m *Method) define(service string) *kernelcontract.Described {
	d := &kernelcontract.Described{
		Ref: service + "." + m.Method, Kind: m.Kind, Summary: m.Summary, Description: m.Description, Input: m.Input, Output: m.Output,
		CLI: kernelcontract.CLI{
			Name: m.CLI.Name, Aliases: m.CLI.Aliases, Group: m.CLI.Group, Args: m.CLI.Args, Flags: m.CLI.Flags, FlagAlias: m.CLI.FlagAlias, Hidden: m.CLI.Hidden,
		},
		Ambient: m.Ambient, Errors: m.Errors, Examples: m.Examples,
		Access:      kernelcontract.Access{Auth: m.Auth, Local: m.Local, Actors: m.Actors},
		OnHost:      m.Target == kernelcontract.OnHost,
		Destructive: m.Destructive, Resumable: m.Resumable,
	}
	if m.Tool != nil {
		d.Tool = &kernelcontract.Tool{Name: m.Tool.Name, Description: m.Tool.Description, Instructions: m.Tool.Instructions, Presentation: m.Tool.Presentation}
	}
	if m.Blocking != nil {
		d.Wait = time.Duration(m.Blocking.MaxMs) * time.Millisecond
	}
	for _, s := range []struct {
		shown   *bool
		surface kernelcontract.Surfaces
	}{{m.Expose.HTTP, kernelcontract.OnHTTP}, {m.Expose.SDK, kernelcontract.OnSDK}, {m.Expose.CLI, kernelcontract.OnCLI}} {
		if s.shown != nil && !*s.shown {
			d.Hide |= s.surface
		}
	}
	return d
}

// OfService returns the contract's form of a service. The error says that a schema cannot be derived.
func OfService(def *kernelcontract.ServiceDef) (Service, error) {
	s := Service{ID: def.ID(), Summary: def.Summary, Group: def.Group, Aliases: def.Aliases}
	var problems []error
	for _, d := range def.Methods {
		m, err := ofMethod(d)
		if err != nil {
			problems = append(problems, err)
		}
		s.Methods = append(s.Methods, m)
	}
	return s, errors.Join(problems...)
}

func ofMethod(d *kernelcontract.MethodDef) (Method, error) {
	var problems []error
	in, err := d.Input()
	if err != nil {
		problems = append(problems, fmt.Errorf("%s: input: %w", d.Ref(), err))
	}
	out, err := d.Output()
	if err != nil {
		problems = append(problems, fmt.Errorf("%s: output: %w", d.Ref(), err))
	}
	if d.Kind == kernelcontract.KindCustom || d.CLI.Offline {
		problems = append(problems, fmt.Errorf("%s: raw endpoints and offline words are for plugins that are compiled in", d.Ref()))
	}
	m := Method{
		Method: d.Method, Kind: d.Kind, Summary: d.Summary, Description: d.Description, Input: in, Output: out,
		Expose: Expose{hidden(d.Expose.HTTP), hidden(d.Expose.SDK), hidden(d.Expose.CLI)},
		CLI: CLI{
			Name: d.CLI.Name, Aliases: d.CLI.Aliases, Group: d.CLI.Group, Args: d.CLI.Args, Flags: d.CLI.Flags, FlagAlias: d.CLI.FlagAlias, Hidden: d.CLI.Hidden,
		},
		Ambient: d.Ambient, Errors: d.Errors, Examples: d.Examples, Destructive: d.Destructive, Resumable: d.Resumable,
		Auth: d.Access.Auth, Local: d.Access.Local, Actors: d.Access.Actors, RendersText: d.RendersText(),
	}
	if d.Target == kernelcontract.OnHost {
		m.Target = d.Target
	}
	if d.Tool != nil {
		m.Tool = &Tool{Name: d.Tool.Name, Description: d.Tool.Description, Instructions: d.Tool.Instructions, Presentation: d.Tool.Presentation}
	}
	if d.Wait > 0 {
		m.Blocking = &Blocking{MaxMs: d.Wait.Milliseconds()}
	}
	return m, errors.Join(problems...)
}

// hidden returns false for a surface that is withheld, else nil.
func hidden(shown bool) *bool {
	if shown {
		return nil
	}
	return &shown
}
