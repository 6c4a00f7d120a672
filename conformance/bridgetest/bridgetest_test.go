package bridgetest_test

import (
	"testing"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
	"github.com/bb-kernel/bb/conformance/bridgetest"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
)

func TestEchoBridge(t *testing.T) {
	fixture, err := bridgecheck.ParseFixture(echo.Fixture())
	if err != nil {
		t.Fatal(err)
	}
	bridgetest.TestBridge(t, []string{"go", "run", "github.com/bb-kernel/bb/examples/provider-echo/cmd/echo-bridge"}, fixture)
}
