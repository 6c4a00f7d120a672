// Package notes is notes-fixture: a plugin that uses everything the kernel has. It injects hello-slot, streams notes
// with a resume point, keeps files, and takes inputs of every shape.
package notes

import (
	"context"

	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	"github.com/bb-kernel/bb/examples/notes-fixture/notesapi"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Plugin returns the plugin. It needs hello-slot.
func Plugin() *pluginsdk.Plugin {
	return &pluginsdk.Plugin{
		ID: "notes-fixture", Version: "0.1.0", Summary: "Keeps notes and files",
		Services: []*kernelcontract.Service{notesapi.Notes, notesapi.Attachments, notesapi.Settings},
		Guide:    guide(),
		Setup:    setup,
	}
}

func setup(ctx context.Context, h *pluginsdk.Host) error {
	s := &store{kv: h.KV(), greeter: h.Require(contracts.Greeter), added: newSignal()}
	h.Provide(notesapi.Notes,
		notesapi.Add.Handle(s.add),
		notesapi.List.Handle(s.list),
		notesapi.Get.Handle(s.get),
		notesapi.Remove.Handle(s.remove),
		notesapi.Follow.Handle(s.follow))
	a := attachments{kv: h.KV()}
	h.Provide(notesapi.Attachments,
		notesapi.Put.Handle(a.put),
		notesapi.GetAttachment.Handle(a.get))
	h.Provide(notesapi.Settings,
		notesapi.Apply.Handle(asUnderstood),
		notesapi.Read.Handle(asUnderstood))
	return nil
}

func asUnderstood(ctx context.Context, in notesapi.Shapes) (notesapi.Shapes, error) { return in, nil }
