package workspace_test

import (
	"testing"

	"github.com/bb-kernel/bb/conformance/servertest"
)

// TestServerConforms points the public kit for servers at the built bb-server.
func TestServerConforms(t *testing.T) {
	t.Parallel()
	_, url := install(t).serve(t, "127.0.0.1:0")
	servertest.TestServer(t, url)
}
