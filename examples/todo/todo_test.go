package main

import (
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/plugintest"
)

func TestWhatIsDoneLeavesTheList(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := plugintest.Load(t, Plugin(), plugintest.Options{})

	milk, err := Add.Call(ctx, host, AddInput{Text: "buy milk"})
	is.NoErr(err)
	_, err = Done.Call(ctx, host, DoneInput{ID: milk.ID})
	is.NoErr(err)

	open, err := List.Call(ctx, host, ListInput{})
	is.NoErr(err)
	is.Equal(open, []Item{})
	all, err := List.Call(ctx, host, ListInput{All: true})
	is.NoErr(err)
	is.Equal(all, []Item{{ID: 1, Text: "buy milk", Done: true}})
}

func TestDoneRefusesAnUnknownItem(t *testing.T) {
	is := is.New(t)
	host := plugintest.Load(t, Plugin(), plugintest.Options{})
	_, err := Done.Call(t.Context(), host, DoneInput{ID: 7})
	is.True(errors.Is(err, kernelcontract.NotFound))
	_, err = Done.Call(t.Context(), host, DoneInput{ID: 0}) // the schema says minimum:"1"
	is.True(errors.Is(err, kernelcontract.InvalidInput))
}

func TestTheListSurvivesARestart(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := plugintest.Load(t, Plugin(), plugintest.Options{})
	_, err := Add.Call(ctx, host, AddInput{Text: "buy milk"})
	is.NoErr(err)
	is.NoErr(host.Restart(ctx))
	items, err := List.Call(ctx, host, ListInput{})
	is.NoErr(err)
	is.Equal(len(items), 1)
}

func TestEverySurfaceIsDerived(t *testing.T) {
	plugintest.ExpectDerivedSurfaces(t, Todo, plugintest.Samples{
		"add":  Item{ID: 1, Text: "buy milk"},
		"list": []Item{{ID: 1, Text: "buy milk"}},
		"done": Item{ID: 1, Text: "buy milk", Done: true},
	})
}
