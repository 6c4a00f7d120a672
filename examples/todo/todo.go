package main

import (
	"context"
	"errors"
	"slices"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

type Item struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
	Done bool   `json:"done"`
}

type AddInput struct {
	Text string `json:"text" description:"What is to be done" minLength:"1" maxLength:"500"`
}

type ListInput struct {
	All bool `json:"all,omitempty" description:"List what is done, too"`
}

type DoneInput struct {
	ID int `json:"id" description:"Which item" minimum:"1"`
}

var Add = &kernelcontract.Mutation[AddInput, Item]{
	Ref: "todo/list.add", Summary: "Add something to do",
	CLI: kernelcontract.CLI{Args: []string{"text..."}},
}

var List = &kernelcontract.Query[ListInput, []Item]{
	Ref: "todo/list.list", Summary: "List what is to be done",
	Tool: &kernelcontract.Tool{Presentation: kernelcontract.Presentation{
		Pending: "Reading the list", Completed: "Read the list", Icon: "list", Intent: "generic"}},
}

var Done = &kernelcontract.Mutation[DoneInput, Item]{
	Ref: "todo/list.done", Summary: "Mark an item as done",
	CLI: kernelcontract.CLI{Args: []string{"id"}},
}

var Todo = &kernelcontract.Service{
	ID: "todo/list", Summary: "Keep a list of things to do", Group: []string{"todo"},
	Methods: []kernelcontract.Method{Add, List, Done},
}

func Plugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{ID: "todo", Version: "0.1.0", Summary: "A list of things to do",
		Services: []*kernelcontract.Service{Todo}, Setup: setup}
}

func setup(ctx context.Context, h *pluginsdk.Host) error {
	l := &list{kv: h.KV()}
	h.Provide(Todo, Add.Handle(l.add), List.Handle(l.list), Done.Handle(l.done))
	return nil
}

type list struct{ kv pluginsdk.KV }

const key = "items"

func (l *list) add(ctx context.Context, in AddInput) (added Item, err error) {
	_, err = pluginsdk.Update(ctx, l.kv, key, func(items []Item) []Item {
		added = Item{ID: len(items) + 1, Text: in.Text}
		return append(items, added)
	})
	return added, err
}

func (l *list) list(ctx context.Context, in ListInput) ([]Item, error) {
	var items []Item
	if err := l.kv.Get(ctx, key, &items); err != nil && !errors.Is(err, kernelcontract.NotFound) {
		return nil, err
	}
	return slices.DeleteFunc(items, func(i Item) bool { return i.Done && !in.All }), nil
}

func (l *list) done(ctx context.Context, in DoneInput) (done Item, err error) {
	_, err = pluginsdk.Update(ctx, l.kv, key, func(items []Item) []Item {
		if in.ID <= len(items) {
			items[in.ID-1].Done = true
			done = items[in.ID-1]
		}
		return items
	})
	if err == nil && !done.Done {
		err = kernelcontract.NotFound.Errorf("there is no item %d: bb todo list --all shows them", in.ID)
	}
	return done, err
}
