package server

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestDataDirIsTheUsersOfTheSystem(t *testing.T) {
	for _, tt := range []struct {
		name, system string
		env          map[string]string
		want         string // "": an error
	}{
		{"xdg", "linux", map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/bb"},
		{"xdg relative is ignored", "linux", map[string]string{"XDG_DATA_HOME": "x", "HOME": "/h"}, "/h/.local/share/bb"},
		{"home", "linux", map[string]string{"HOME": "/h"}, "/h/.local/share/bb"},
		{"bsd", "freebsd", map[string]string{"HOME": "/h"}, "/h/.local/share/bb"},
		{"no home", "linux", nil, ""},
		{"mac", "darwin", map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/h/Library/Application Support/bb"},
		{"mac without home", "darwin", nil, ""},
		{"windows", "windows", map[string]string{"LocalAppData": `C:\Users\b\AppData\Local`}, `C:\Users\b\AppData\Local\bb`},
		{"windows without", "windows", map[string]string{"HOME": "/h"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, err := dataDir(tt.system, func(name string) string { return tt.env[name] })
			is.Equal(err == nil, tt.want != "")
			is.Equal(got, tt.want)
			if err != nil {
				is.True(strings.Contains(err.Error(), "--data-dir"))
			}
		})
	}
}

func TestHTTPServerBoundsClients(t *testing.T) {
	is := is.New(t)
	srv := newHTTPServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	is.Equal(srv.ReadHeaderTimeout, 10*time.Second)
	is.Equal(srv.WriteTimeout, time.Duration(0)) // streams last; a slow reader is cut by the handler
	is.True(srv.IdleTimeout > 0)
	is.True(srv.MaxHeaderBytes > 32<<10) // a URL that is too long is answered, not cut
}

func TestAgentsReachTheServerByLoopback(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:80": "http://127.0.0.1:80",
		"0.0.0.0:80":   "http://127.0.0.1:80",
		"[::]:80":      "http://127.0.0.1:80",
		"[::1]:80":     "http://[::1]:80",
		"192.0.2.1:80": "http://192.0.2.1:80",
	} {
		t.Run(address, func(t *testing.T) {
			is := is.New(t)
			addr, err := net.ResolveTCPAddr("tcp", address)
			is.NoErr(err)
			is.Equal(localURL(addr, false), want)
			is.True(strings.HasPrefix(localURL(addr, true), "https://"))
		})
	}
}
