package kernelapi_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/contracttest"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

var samples = map[string]contracttest.Samples{
	"kernel/contract": {
		"manifest":  manifest.Manifest{Format: manifest.Format, Plugins: []manifest.Plugin{{ID: "a", State: manifest.Ready}}},
		"reference": docs.ReferenceDoc{PluginID: "a"},
	},
	"kernel/plugin": {
		"list":    []kernelapi.PluginInfo{{ID: "a", State: manifest.Ready, Source: kernelapi.Installed}},
		"enable":  kernelapi.PluginInfo{ID: "a", State: manifest.Ready, Source: kernelapi.BuiltIn},
		"disable": kernelapi.PluginInfo{ID: "a", State: manifest.Disabled, Source: kernelapi.BuiltIn},
		"install": kernelapi.PluginInfo{ID: "a", State: manifest.Ready, Source: kernelapi.Installed},
		"logs":    kernelapi.LogLine{Seq: 1, Time: time.Unix(0, 0), Level: "info", Message: "b", Attrs: map[string]json.RawMessage{"n": json.RawMessage("1")}},
		"remove":  kernelapi.PluginInfo{ID: "a", State: manifest.Removed, Source: kernelapi.BuiltIn},
	},
	"kernel/secret": {"set": kernelapi.SecretInfo{Name: "a", UpdatedAt: time.Unix(0, 0)}, "delete": kernelcontract.None{}},
	"kernel/host":   {"enroll": kernelapi.EnrolledHost{ID: "a", Name: "a", Key: "k"}, "remove": kernelcontract.None{}},
	"kernel/runtime": {
		"problems": []manifest.Problem{{PluginID: "a", Message: "b"}},
		"shutdown": kernelcontract.None{},
	},
	"kernel/token": {"create": kernelapi.CreatedToken{Name: "a", Token: "t", Scope: kernelapi.ScopeAll}, "revoke": kernelcontract.None{}},
}

func TestServicesDeriveWhole(t *testing.T) {
	for _, s := range kernelapi.Services() {
		t.Run(s.ID, func(t *testing.T) { contracttest.ExpectDerivedSurfaces(t, s, samples[s.ID]) })
	}
}

func TestWords(t *testing.T) {
	is := is.New(t)
	var defs []*kernelcontract.ServiceDef
	for _, s := range kernelapi.Services() {
		def, err := s.Def()
		is.NoErr(err)
		defs = append(defs, def)
	}
	_, conflicts := word.BuildTree(defs)
	is.Equal(len(conflicts), 0)
	usage := map[string]string{}
	for _, s := range defs {
		for _, d := range s.Methods {
			w, err := word.Of(d, s)
			is.NoErr(err)
			if w != nil {
				usage[d.Ref()] = word.UsageLine(w)
			}
		}
	}
	is.Equal(usage, map[string]string{
		"kernel/plugin.list":      "bb plugin list",
		"kernel/plugin.show":      "bb plugin show <id>",
		"kernel/plugin.enable":    "bb plugin enable <id>",
		"kernel/plugin.install":   "bb plugin install <folder|archive> [--timeout <seconds>] [--quiet]",
		"kernel/plugin.logs":      "bb plugin logs <id> [--limit <integer>] [--follow] [--since <cursor>] [--timeout <seconds>] [--quiet]",
		"kernel/plugin.disable":   "bb plugin disable <id>",
		"kernel/plugin.reload":    "bb plugin reload [id]",
		"kernel/plugin.remove":    "bb plugin remove <id> [--yes]",
		"kernel/config.get":       "bb plugin config get <id> <key>",
		"kernel/config.set":       "bb plugin config set <id> <key> <value>",
		"kernel/config.unset":     "bb plugin config unset <id> <key>",
		"kernel/secret.set":       "bb secret set <name>",
		"kernel/secret.list":      "bb secret list",
		"kernel/secret.delete":    "bb secret delete <name> [--yes]",
		"kernel/host.list":        "bb host list",
		"kernel/host.enroll":      "bb host enroll <name> [--proxy]",
		"kernel/host.remove":      "bb host remove <host> [--yes]",
		"kernel/runtime.status":   "bb runtime status",
		"kernel/runtime.problems": "bb runtime problems",
		"kernel/runtime.calls":    "bb runtime calls [--limit <integer>] [--plugin <string>] [--failed]",
		"kernel/runtime.shutdown": "bb runtime shutdown",
		"kernel/token.create":     "bb runtime token create <name> [--scope <all|read>] [--expires-in <duration>]",
		"kernel/token.list":       "bb runtime token list",
		"kernel/token.revoke":     "bb runtime token revoke <name>",
	})
}

// What an agent could escalate itself with is closed to agents and plugins, and none of it is a tool.
func TestAccess(t *testing.T) {
	closed := map[string]bool{
		"kernel/plugin.enable": true, "kernel/plugin.install": true, "kernel/plugin.logs": true, "kernel/plugin.disable": true, "kernel/plugin.reload": true, "kernel/plugin.remove": true,
		"kernel/config.set": true, "kernel/config.unset": true,
		"kernel/secret.set": true, "kernel/secret.list": true, "kernel/secret.delete": true,
		"kernel/host.list": true, "kernel/host.enroll": true, "kernel/host.remove": true,
		"kernel/token.create": true, "kernel/token.list": true, "kernel/token.revoke": true,
		"kernel/runtime.shutdown": true,
	}
	for _, s := range kernelapi.Services() {
		def, err := s.Def()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range def.Methods {
			t.Run(d.Ref(), func(t *testing.T) {
				is := is.New(t)
				is.True(d.Access.AdmitsActor(kernelcontract.User))
				is.True(d.Access.AdmitsActor(kernelcontract.System))
				is.Equal(d.Access.AdmitsActor(kernelcontract.Agent), !closed[d.Ref()])
				is.Equal(d.Access.AdmitsActor(kernelcontract.Plugin), !closed[d.Ref()])
				is.Equal(d.Access.Local, d.Ref() == "kernel/runtime.shutdown")
				is.Equal(d.Tool, nil)
				is.Equal(d.Access.Auth, kernelcontract.AuthOperator)
			})
		}
	}
}
