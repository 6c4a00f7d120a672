package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestOpenAPI proves that `bb sdk openapi` prints the document of the catalog, or writes it to a file.
func TestOpenAPI(t *testing.T) {
	is := is.New(t)
	server := serve(t, demo()...)
	s := newShell(t, server.URL)
	r := s.run("sdk openapi")
	is.Equal(r.code, 0)
	is.Equal(r.err, "")
	var document struct {
		OpenAPI string
		Servers []struct{ URL string }
		Paths   map[string]any
	}
	is.NoErr(json.Unmarshal([]byte(r.out), &document))
	is.Equal(document.OpenAPI, "3.1.0")
	is.Equal(document.Servers[0].URL, server.URL)
	is.True(document.Paths["/api/v1/demo/greeter/greet"] != nil)

	file := filepath.Join(t.TempDir(), "openapi.json")
	written := s.exec("sdk", "openapi", "--output", file)
	is.Equal(written.code, 0)
	is.Equal(written.out, "")
	is.True(strings.Contains(written.err, "openapi.json"))
	raw, err := os.ReadFile(file)
	is.NoErr(err)
	is.Equal(string(raw), r.out)
	is.Equal(s.run("sdk openapi --output -").out, r.out)

	is.Equal(s.exec("sdk", "openapi", "--output", filepath.Join(t.TempDir(), "no", "folder")).code, 1)
	is.Equal(s.run("sdk openapi extra").code, 2)
	is.True(strings.Contains(s.run("sdk openapi --help").out, "--output"))
	is.True(strings.Contains(s.run("--help").out, "sdk openapi"))
	server.Close()
	is.Equal(s.run("sdk openapi").code, 4) // no server
}
