package hello_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	hello "github.com/bb-kernel/bb/examples/hello-slot"
	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/plugintest"
)

func TestGreetReadsTheCountOfTheName(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := plugintest.Load(t, hello.Plugin(), plugintest.Options{})

	out, err := contracts.Greet.Call(ctx, host, contracts.GreetInput{Name: "bb"})
	is.NoErr(err)
	is.Equal(out, contracts.GreetOutput{Message: "Hello, bb!", Count: 0})

	_, err = contracts.Count.Call(ctx, host, contracts.CountInput{Name: "bb"})
	is.NoErr(err)
	out, err = contracts.Greet.Call(ctx, host, contracts.GreetInput{Name: "bb", Salutation: "Good day"})
	is.NoErr(err)
	is.Equal(out, contracts.GreetOutput{Message: "Good day, bb!", Count: 1})
}

func TestCountAddsOneACallForEachName(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := plugintest.Load(t, hello.Plugin(), plugintest.Options{})
	for i := 1; i <= 3; i++ {
		out, err := contracts.Count.Call(ctx, host, contracts.CountInput{Name: "bb"})
		is.NoErr(err)
		is.Equal(out, contracts.CountOutput{Name: "bb", Count: i})
	}
	out, err := contracts.Count.Call(ctx, host, contracts.CountInput{Name: "other"})
	is.NoErr(err)
	is.Equal(out.Count, 1)
}

func TestCountSurvivesARestart(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := plugintest.Load(t, hello.Plugin(), plugintest.Options{})
	_, err := contracts.Count.Call(ctx, host, contracts.CountInput{Name: "bb"})
	is.NoErr(err)
	is.NoErr(host.Restart(ctx))
	out, err := contracts.Count.Call(ctx, host, contracts.CountInput{Name: "bb"})
	is.NoErr(err)
	is.Equal(out.Count, 2)
}

func TestGreetRefuses(t *testing.T) {
	host := plugintest.Load(t, hello.Plugin(), plugintest.Options{})
	for _, tt := range []struct {
		name, in string
		code     kernelcontract.Code
	}{
		{"who is muted", "nobody", contracts.Muted},
		{"an empty name", "", kernelcontract.InvalidInput},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			_, err := contracts.Greet.Call(t.Context(), host, contracts.GreetInput{Name: tt.in})
			is.True(errors.Is(err, tt.code))
		})
	}
}

func TestNamesOfAnyLengthAreCountedApart(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := plugintest.Load(t, hello.Plugin(), plugintest.Options{})
	for _, n := range []int{1, pluginsdk.MaxKey - 1, pluginsdk.MaxKey, pluginsdk.MaxKey + 1, 100_000} {
		for _, name := range []string{strings.Repeat("é", n), strings.Repeat("é", n) + "b", strings.Repeat("é", n) + "c"} {
			out, err := contracts.Count.Call(ctx, host, contracts.CountInput{Name: name})
			is.NoErr(err)
			is.Equal(out, contracts.CountOutput{Name: name, Count: 1})
		}
	}
}

func TestMutedTakesTheRowOfForbidden(t *testing.T) {
	is := is.New(t)
	host := plugintest.Load(t, hello.Plugin(), plugintest.Options{})
	_, err := contracts.Greet.Call(t.Context(), host, contracts.GreetInput{Name: "nobody"})
	row := kernelcontract.AsError(err).Row()
	is.Equal(row.HTTPStatus, 403)
	is.Equal(row.Exit, 7)
}

func TestHostGreetRunsOnAHostOnly(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	server := plugintest.Load(t, hello.Plugin(), plugintest.Options{})
	_, err := contracts.HostGreet.Call(ctx, server, contracts.HostGreetInput{Name: "bb"})
	is.True(errors.Is(err, kernelcontract.ServiceUnavailable))

	machine := plugintest.Load(t, hello.Plugin(), plugintest.Options{RunsHost: true})
	out, err := contracts.HostGreet.Call(ctx, machine, contracts.HostGreetInput{Name: "bb"})
	is.NoErr(err)
	is.Equal(out.Message, "Hello from a host, bb!")
}

// The table of the reference plugin: kind, exposure, words and budget of each method.
func TestTableOfMethods(t *testing.T) {
	def, err := contracts.Greeter.Def()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, kind, word string
		tool               bool
		target             kernelcontract.Target
		budget             string
	}{
		{"greet", "query", "greet", true, kernelcontract.OnServer, "30s"},
		{"count", "mutation", "count", false, kernelcontract.OnServer, "1m0s"},
		{"hostGreet", "query", "host-greet", false, kernelcontract.OnHost, "30s"},
	} {
		t.Run(tt.method, func(t *testing.T) {
			is := is.New(t)
			d := def.Method(tt.method)
			is.True(d != nil)
			is.Equal(string(d.Kind), tt.kind)
			is.Equal(d.CLI.Name, tt.word)
			is.Equal(d.CLI.Args, []string{"name"})
			is.Equal(d.Expose, kernelcontract.Exposure{HTTP: true, SDK: true, CLI: true, Tool: tt.tool})
			is.Equal(d.Target, tt.target)
			is.Equal(d.Budget().String(), tt.budget)
		})
	}
}

func ExamplePlugin() {
	fmt.Println(hello.Plugin().ID, hello.Plugin().Services[0].ID)
	// Output: hello-slot hello-slot/greeter
}

func TestEverySurfaceIsDerived(t *testing.T) {
	plugintest.ExpectDerivedSurfaces(t, contracts.Greeter, plugintest.Samples{
		"greet":     contracts.GreetOutput{Message: "Hello, bb!", Count: 1},
		"count":     contracts.CountOutput{Name: "bb", Count: 2},
		"hostGreet": contracts.HostGreetOutput{Message: "Hello from a host, bb!"},
	})
}
