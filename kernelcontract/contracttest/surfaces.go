package contracttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// Samples holds an output by the name of its method, of the method's Go type; an item for a stream. A method with a
// RenderText of its own needs one.
type Samples map[string]any

// Surface is where a problem shows.
type Surface string

// The surfaces of a method, and the two things that come before them.
const (
	Definition Surface = "definition"
	Schema     Surface = "schema"
	HTTP       Surface = "http"
	SDK        Surface = "sdk"
	CLI        Surface = "cli"
	Tool       Surface = "tool"
	Text       Surface = "text"
	Docs       Surface = "docs"
	OpenAPI    Surface = "openapi"
)

// Problem is one thing that is wrong with a surface of a method.
type Problem struct {
	Service string // plugin/service
	Method  string // "" when the service is meant
	Surface Surface
	Message string
}

// String returns "service.method surface: problem".
func (p Problem) String() string {
	s := p.Service
	if p.Method != "" {
		s += "." + p.Method
	}
	return s + " " + string(p.Surface) + ": " + p.Message
}

// ExpectDerivedSurfaces fails t, once and with every problem, unless each method of s derives whole on each of its
// surfaces.
func ExpectDerivedSurfaces(t testing.TB, s *kernelcontract.Service, samples Samples) {
	t.Helper()
	problems := Check(s, samples)
	if len(problems) == 0 {
		return
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	t.Error("the service does not derive whole:\n" + strings.Join(lines, "\n"))
}

// Check returns every problem of s: those of its definition alone when it has any, else those of CheckService and of
// each method's own checks, in that order.
func Check(s *kernelcontract.Service, samples Samples) []Problem {
	def, err := s.Def()
	var invalid *kernelcontract.DefinitionError
	switch {
	case errors.As(err, &invalid):
		problems := make([]Problem, len(invalid.Problems))
		for i, p := range invalid.Problems {
			problems[i] = Problem{Service: p.Service, Method: p.Method, Surface: Definition, Message: strings.TrimSpace(p.Field + " " + p.Message)}
		}
		return problems
	case err != nil:
		return []Problem{{Service: s.ID, Surface: Definition, Message: err.Error()}}
	}
	problems := CheckService(def)
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		if def.Method(name) == nil {
			problems = append(problems, Problem{Service: def.ID(), Method: name, Surface: Text, Message: "there is a sample and no such method"})
		}
	}
	for _, d := range def.Methods {
		if found := CheckSchema(d, samples); len(found) > 0 {
			problems = append(problems, found...)
			continue // nothing can be derived from what has no schema
		}
		problems = append(problems, CheckRoundTrip(d)...)
		problems = append(problems, CheckHTTP(d)...)
		problems = append(problems, CheckWord(d, def)...)
		problems = append(problems, CheckTool(d)...)
		problems = append(problems, CheckText(d, samples)...)
		problems = append(problems, CheckDocs(d, def)...)
		problems = append(problems, CheckOpenAPI(d, def)...)
	}
	return problems
}

// CheckService returns the collisions inside the service: words, flag aliases, tools, and methods that no surface shows.
func CheckService(s *kernelcontract.ServiceDef) []Problem {
	var problems []Problem
	_, conflicts := word.BuildTree([]*kernelcontract.ServiceDef{s})
	for _, c := range conflicts {
		p := Problem{Service: s.ID(), Surface: CLI, Message: c.Claim + " belongs to " + c.Owner}
		if _, _, method, ok := kernelcontract.SplitRef(c.Claimant); ok {
			p.Method = method
		}
		if strings.HasPrefix(c.Claim, "tool ") {
			p.Surface = Tool
		}
		problems = append(problems, p)
	}
	for _, d := range s.Methods {
		if !d.Expose.Any() {
			problems = append(problems, Problem{Service: s.ID(), Method: d.Method, Surface: Definition, Message: "it is on no surface: nobody can call it"})
		}
	}
	return problems
}

// collector gathers the problems of one surface of a method.
type collector struct {
	def      *kernelcontract.MethodDef
	surface  Surface
	problems []Problem
}

func (c *collector) add(format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Service: c.def.ServiceID(), Method: c.def.Method, Surface: c.surface, Message: fmt.Sprintf(format, args...),
	})
}
