package kernelcontract_test

import (
	"testing"

	"github.com/matryer/is"

	kc "github.com/bb-kernel/bb/kernelcontract"
)

// Every auth with every kind of evidence.
func TestAuthAdmits(t *testing.T) {
	for _, tt := range []struct {
		via                     kc.Via
		operator, machine, none bool
	}{
		{kc.ViaLoopback, true, true, true},
		{kc.ViaOrigin, true, true, true},
		{kc.ViaGateSession, true, true, true},
		{kc.ViaToken, true, true, true},
		{kc.ViaHostProxy, true, true, true},
		{kc.ViaGateMachine, true, true, true},
		{kc.ViaTool, true, true, true},
		{kc.ViaHost, false, true, true},
		{kc.ViaPlugin("x"), true, true, true},
		{kc.ViaAnonymous, false, false, true},
		{kc.ViaOffline, true, true, true},
		{kc.ViaProcess, true, true, true},
		{"made-up", false, false, true},
		{"", false, false, true},
	} {
		t.Run(string(tt.via), func(t *testing.T) {
			is := is.New(t)
			is.Equal(kc.AuthOperator.Admits(tt.via), tt.operator)
			is.Equal(kc.Auth("").Admits(tt.via), tt.operator) // the zero value
			is.Equal(kc.AuthMachine.Admits(tt.via), tt.machine)
			is.Equal(kc.AuthNone.Admits(tt.via), tt.none)
		})
	}
}

func TestPrincipal(t *testing.T) {
	for _, tt := range []struct {
		actor string
		kind  kc.ActorKind
		name  string
	}{
		{"user:local", kc.User, "local"}, {"user:host:h1", kc.User, "host:h1"}, {"agent:t:1", kc.Agent, "t:1"}, {"plugin:x", kc.Plugin, "x"},
		{"system:host:h1", kc.System, "host:h1"}, {"agent", kc.Agent, ""}, {"", "", ""},
	} {
		t.Run(tt.actor, func(t *testing.T) {
			is := is.New(t)
			p := kc.Principal{Actor: tt.actor}
			is.Equal(p.Kind(), tt.kind)
			is.Equal(p.Name(), tt.name)
		})
	}
}

func TestViaPlugin(t *testing.T) {
	is := is.New(t)
	is.Equal(kc.ViaPlugin("notes"), kc.Via("plugin:notes"))
	is.True(kc.ViaPlugin("notes").IsPlugin())
	is.True(!kc.ViaToken.IsPlugin())
}

func TestAdmitsActor(t *testing.T) {
	is := is.New(t)
	people := kc.Access{Actors: []kc.ActorKind{kc.User, kc.System}}
	is.True(people.AdmitsActor(kc.User))
	is.True(!people.AdmitsActor(kc.Agent))
	is.True(kc.Access{}.AdmitsActor(kc.Agent))                         // nil: all
	is.True(!kc.Access{Actors: []kc.ActorKind{}}.AdmitsActor(kc.User)) // empty: none
}

func TestContextValue(t *testing.T) {
	is := is.New(t)
	c := kc.Context{ThreadID: "t", ProjectID: "p", EnvironmentID: "e", HostID: "h", CWD: "/w"}
	want := []string{"t", "p", "e", "h", "/w"}
	current := []string{"the current thread", "the current project", "the current environment", "the current host", "the working directory"}
	for i, k := range kc.ContextKeys() {
		is.Equal(c.Value(k), want[i])
		is.Equal(k.Current(), current[i])
	}
	is.Equal(c.Value("weather"), "")
	is.Equal(kc.ContextKey("weather").Current(), "weather")
}
