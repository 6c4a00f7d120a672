package echo_test

import (
	"testing"

	"github.com/matryer/is"

	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/bb-kernel/bb/pluginsdk"
)

func TestPluginBringsTheProvider(t *testing.T) {
	for _, profile := range echo.Profiles() {
		t.Run(string(profile), func(t *testing.T) {
			is := is.New(t)
			p, err := echo.Plugin(echo.PluginOptions{Command: []string{"echo-bridge"}, Profile: profile})
			is.NoErr(err)
			loaded, err := pluginsdk.Load(t.Context(), p, pluginsdk.Backend{})
			is.NoErr(err)
			is.Equal(len(loaded.Providers), 1)
			is.Equal(loaded.Providers[0].Declaration.ID, "echo")
			is.Equal(loaded.Providers[0].Program.Command, []string{"echo-bridge"})
		})
	}
	is := is.New(t)
	_, err := echo.Plugin(echo.PluginOptions{Profile: "loud"})
	is.True(err != nil)
	p, err := echo.Plugin(echo.PluginOptions{})
	is.NoErr(err)
	_, err = pluginsdk.Load(t.Context(), p, pluginsdk.Backend{})
	is.True(err != nil) // it has no command
}
