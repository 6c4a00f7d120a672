package plugintest

import (
	"testing"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/contracttest"
)

// Samples are results by method name, items for streams, which the text forms and the output schemas are tried on.
type Samples = contracttest.Samples

// ExpectDerivedSurfaces checks that every method of a service derives whole on every surface, and fails the test once with
// every problem. Each plugin's tests call it for each of its services.
func ExpectDerivedSurfaces(t testing.TB, s *kernelcontract.Service, samples Samples) {
	t.Helper()
	contracttest.ExpectDerivedSurfaces(t, s, samples)
}
