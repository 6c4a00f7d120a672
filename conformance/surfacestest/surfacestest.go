// Package surfacestest checks the surfaces that methods have: of definitions, before they run, and of a running server,
// by the manifest that it publishes.
//
// The checks of definitions are those of kernelcontract/contracttest, so that a plugin's tests need only this package:
//
//	surfacestest.ExpectDerivedSurfaces(t, contracts.Greeter, surfacestest.Samples{"greet": contracts.GreetOutput{Message: "Hello, bb!"}})
//
// TestServer asks a server, of this project or not, what it offers, and checks that every method is there on HTTP, on the
// command line, as a tool and in the docs. It changes nothing: it calls queries with their examples, and nothing else.
package surfacestest

import (
	"testing"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/contracttest"
)

// Samples holds an output by the name of its method, of the method's Go type; an item for a stream.
type Samples = contracttest.Samples

// Problem is one thing that is wrong with a surface of a method.
type Problem = contracttest.Problem

// Surface is where a problem shows.
type Surface = contracttest.Surface

// ExpectDerivedSurfaces fails t, once and with every problem, unless each method of s derives whole on each surface.
func ExpectDerivedSurfaces(t testing.TB, s *kernelcontract.Service, samples Samples) {
	t.Helper()
	contracttest.ExpectDerivedSurfaces(t, s, samples)
}

// Check returns what ExpectDerivedSurfaces would report.
func Check(s *kernelcontract.Service, samples Samples) []Problem {
	return contracttest.Check(s, samples)
}

// CheckService returns the collisions inside a service, and its methods that no surface shows.
func CheckService(s *kernelcontract.ServiceDef) []Problem { return contracttest.CheckService(s) }

// CheckSchema checks the schemas of a method, its examples and its sample.
func CheckSchema(d *kernelcontract.MethodDef, samples Samples) []Problem {
	return contracttest.CheckSchema(d, samples)
}

// CheckRoundTrip checks that the Go types of a method encode to JSON that their own schemas accept.
func CheckRoundTrip(d *kernelcontract.MethodDef) []Problem { return contracttest.CheckRoundTrip(d) }

// CheckHTTP checks the route of a method, and that inputs travel through the query string without loss.
func CheckHTTP(d *kernelcontract.MethodDef) []Problem { return contracttest.CheckHTTP(d) }

// CheckWord checks the command line of a method, and that inputs travel through words without loss.
func CheckWord(d *kernelcontract.MethodDef, s *kernelcontract.ServiceDef) []Problem {
	return contracttest.CheckWord(d, s)
}

// CheckTool checks the tool of a method.
func CheckTool(d *kernelcontract.MethodDef) []Problem { return contracttest.CheckTool(d) }

// CheckText checks that a method's text renders.
func CheckText(d *kernelcontract.MethodDef, samples Samples) []Problem {
	return contracttest.CheckText(d, samples)
}

// CheckOpenAPI checks that the OpenAPI document of a method alone is valid.
func CheckOpenAPI(d *kernelcontract.MethodDef, s *kernelcontract.ServiceDef) []Problem {
	return contracttest.CheckOpenAPI(d, s)
}

// CheckDocs checks the reference of a method.
func CheckDocs(d *kernelcontract.MethodDef, s *kernelcontract.ServiceDef) []Problem {
	return contracttest.CheckDocs(d, s)
}
