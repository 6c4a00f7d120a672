package echo

import _ "embed"

//go:embed fixture.json
var fixture string

// Fixture returns the fixture with which the conformance kit checks the echo bridge: cmd/echo-bridge under each profile.
func Fixture() []byte { return []byte(fixture) }
