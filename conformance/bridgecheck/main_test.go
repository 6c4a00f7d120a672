package bridgecheck_test

import (
	"os"
	"testing"
)

// childEnv names what the test binary is to be instead of a test: a mutant of the echo bridge, or a bad bridge.
const (
	mutantEnv = "BB_CONFORMANCE_MUTANT"
	badEnv    = "BB_CONFORMANCE_BAD"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(mutantEnv); name != "" {
		runMutant(name)
		os.Exit(0)
	}
	if name := os.Getenv(badEnv); name != "" {
		runBad(name)
		os.Exit(0)
	}
	// Under the race detector a program sleeps for a second at its end. Here hundreds are started one after the other.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}
