package pluginsdk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// declare returns a declaration without problems.
func declare(id string) protocol.ProviderDeclaration {
	return protocol.ProviderDeclaration{
		ID: id, DisplayName: "Test", Icon: "flask",
		Capabilities:    protocol.Capabilities{Fork: protocol.ForkNone, ApprovalEnforcedBy: protocol.EnforcedByRuntime, Steer: protocol.SteerNone},
		PermissionModes: []protocol.PermissionMode{protocol.ModeAuto},
		Models:          protocol.ModelSource{Catalog: protocol.CatalogStatic, Scope: protocol.ModelsPerHost},
		Visibility:      protocol.VisibleAlways, BridgeOptions: protocol.JSONObject{"deep": []byte("true")},
	}
}

func provider(setup func(h *pluginsdk.Host), ids ...string) *pluginsdk.Plugin {
	p := &pluginsdk.Plugin{ID: "p", Setup: func(_ context.Context, h *pluginsdk.Host) error {
		setup(h)
		return nil
	}}
	for _, id := range ids {
		p.Providers = append(p.Providers, declare(id))
	}
	return p
}

func TestProvidersAreLoadedInOrder(t *testing.T) {
	is := is.New(t)
	p := provider(func(h *pluginsdk.Host) {
		h.ProvideBridge("two", bridge.Program{Command: []string{"b"}, Options: protocol.JSONObject{}})
		h.ProvideBridge("one", bridge.Program{Command: []string{"a"}})
	}, "one", "two")
	p.InteractionKinds = []string{"p/form"}
	p.Skills = fstest.MapFS{"tidy/SKILL.md": {Data: []byte("# Tidy")}, "tidy/more.txt": {Data: []byte("more")}, "README.md": {}}
	loaded, err := load(t, p)
	is.NoErr(err)
	is.Equal(len(loaded.Providers), 2)
	is.Equal(loaded.Providers[0].Declaration.ID, "one")
	is.Equal(loaded.Providers[0].Program.Command, []string{"a"})
	is.Equal(string(loaded.Providers[0].Program.Options["deep"]), "true") // those of the declaration
	is.Equal(len(loaded.Providers[1].Program.Options), 0)
	is.Equal(loaded.InteractionKinds, []string{"p/form"})
	is.Equal(len(loaded.Skills), 1)
	is.Equal(loaded.Skills[0].Name, "tidy")
	text, err := fs.ReadFile(loaded.Skills[0].FS, "SKILL.md")
	is.NoErr(err)
	is.Equal(string(text), "# Tidy")
}

// Each row breaks one rule of providers; the message must name the thing.
func TestProviderLoadErrors(t *testing.T) {
	fine := func(h *pluginsdk.Host) { h.ProvideBridge("one", bridge.Program{Command: []string{"a"}}) }
	for _, tt := range []struct {
		name   string
		plugin func() *pluginsdk.Plugin
		want   string
	}{
		{"missing", func() *pluginsdk.Plugin { return provider(func(*pluginsdk.Host) {}, "one") }, "the provider one has no bridge"},
		{"extra", func() *pluginsdk.Plugin { return provider(fine) }, `a bridge was provided for "one"`},
		{"repeated", func() *pluginsdk.Plugin { return provider(func(h *pluginsdk.Host) { fine(h); fine(h) }, "one") }, "the provider one has two bridges"},
		{"empty command", func() *pluginsdk.Plugin {
			return provider(func(h *pluginsdk.Host) { h.ProvideBridge("one", bridge.Program{}) }, "one")
		}, "the bridge of provider one: it has no command"},
		{"declared twice", func() *pluginsdk.Plugin { return provider(fine, "one", "one") }, `the provider "one" is declared twice`},
		{"declaration problem", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			p.Providers[0].DisplayName = ""
			return p
		}, `the provider "one": declaration.displayName`},
		{"extension kind problem", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			p.Providers[0].ExtensionKinds = map[string]protocol.ExtensionKind{"p/k": {Item: []byte(`{"type": 3}`)}}
			return p
		}, `the provider "one": declaration.extensionKinds`},
		{"foreign interaction kind", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			p.InteractionKinds = []string{"q/form"}
			return p
		}, `the interaction kind "q/form" must be p/`},
		{"repeated interaction kind", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			p.InteractionKinds = []string{"p/form", "p/form"}
			return p
		}, `the interaction kind "p/form" is declared twice`},
		{"too many interaction kinds", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			for i := range pluginsdk.MaxInteractionKinds + 1 {
				p.InteractionKinds = append(p.InteractionKinds, fmt.Sprintf("p/k%d", i))
			}
			return p
		}, "more than 64 interaction kinds"},
		{"skill without its file", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			p.Skills = fstest.MapFS{"tidy/README.md": {}}
			return p
		}, `the skill "tidy" has no SKILL.md`},
		{"skill's name", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			p.Skills = fstest.MapFS{"Tidy Up/SKILL.md": {}}
			return p
		}, `the skill "Tidy Up" must have a folder named like`},
		{"skills that panic", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			p.Skills = panics{}
			return p
		}, "the skills panicked"},
		{"too many skills", func() *pluginsdk.Plugin {
			p := provider(fine, "one")
			files := fstest.MapFS{}
			for i := range pluginsdk.MaxSkills + 1 {
				files[fmt.Sprintf("s%d/SKILL.md", i)] = &fstest.MapFile{}
			}
			p.Skills = files
			return p
		}, "more than 64 skills"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			_, err := load(t, tt.plugin())
			var le *pluginsdk.LoadError
			is.True(errors.As(err, &le))
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error %q does not say %q", err, tt.want)
			}
		})
	}
}

type panics struct{}

func (panics) Open(string) (fs.File, error) { panic("no files") }

func TestProvideBridgeBelongsIntoSetup(t *testing.T) {
	is := is.New(t)
	var kept *pluginsdk.Host
	loaded, err := load(t, provider(func(h *pluginsdk.Host) {
		kept = h
		h.ProvideBridge("one", bridge.Program{Command: []string{"a"}})
	}, "one"))
	is.NoErr(err)
	kept.ProvideBridge("one", bridge.Program{Command: []string{"b"}})
	is.Equal(loaded.Providers[0].Program.Command, []string{"a"})
}
