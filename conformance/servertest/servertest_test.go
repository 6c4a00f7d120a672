package servertest_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/conformance/internal/reference"
	"github.com/bb-kernel/bb/conformance/servertest"
)

func TestMain(m *testing.M) { os.Exit(reference.Main(m)) }

// The server of this project keeps every rule.
func TestReferenceServer(t *testing.T) {
	t.Parallel()
	servertest.TestServer(t, reference.Start(t))
}

// A run says why there is nothing to check, and what it left out.
func TestRun(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, o := range []servertest.Options{
		{}, {BaseURL: "127.0.0.1:1"}, {BaseURL: "ftp://127.0.0.1:1"}, {BaseURL: "http://127.0.0.1:1/path"}, {BaseURL: "http://127.0.0.1:1"},
		{BaseURL: "http://bb.example"}, // on another machine, without a token
	} {
		_, err := servertest.Run(t.Context(), o)
		is.True(err != nil)
	}
	other := httptest.NewServer(http.NotFoundHandler()) // no kernel
	defer other.Close()
	_, err := servertest.Run(t.Context(), servertest.Options{BaseURL: other.URL})
	is.True(err != nil)

	results, err := servertest.Run(t.Context(), servertest.Options{BaseURL: reference.Start(t), Short: true})
	is.NoErr(err)
	is.Equal(len(results), len(servertest.Rules()))
	for i, r := range results {
		is.Equal(r.Check, servertest.Rules()[i].Check)
		is.Equal(r.Skipped != "", r.Check == "http.sse.heartbeat") // what takes seconds is left out
	}
}
