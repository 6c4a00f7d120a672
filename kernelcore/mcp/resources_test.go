package mcp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/matryer/is"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bb-kernel/bb/kernelcore"
)

// The docs of the catalog are resources, as they are now.
func TestResourcesAreTheDocs(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		is := is.New(t)
		s := serve(t, kernelcore.Options{})
		changed := make(chan struct{}, 16)
		c := s.connect(t, version, s.transport(""), &sdk.ClientOptions{
			ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { changed <- struct{}{} },
		})
		uris := func() string {
			list, err := c.ListResources(t.Context(), nil)
			is.NoErr(err)
			var all []string
			for _, r := range list.Resources {
				is.Equal(r.MIMEType, "text/markdown")
				all = append(all, r.URI)
			}
			return strings.Join(all, " ")
		}
		is.True(strings.Contains(uris(), "bb://reference/other"))
		is.True(strings.Contains(uris(), "bb://guide/kernel/using-bb"))
		for uri, want := range map[string]string{"bb://reference/other": "## other/", "bb://guide/kernel/using-bb": "# Using bb"} {
			got, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			is.NoErr(err)
			is.True(strings.Contains(got.Contents[0].Text, want)) // its text
		}
		_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "bb://reference/nobody"})
		is.True(err != nil)
		is.NoErr(s.Disable(t.Context(), "other"))
		receive(t, changed, "the change")
		is.True(!strings.Contains(uris(), "bb://reference/other"))
		_, err = c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "bb://reference/other"})
		is.True(err != nil)
	})
}
