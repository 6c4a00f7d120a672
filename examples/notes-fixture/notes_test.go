package notes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	notes "github.com/bb-kernel/bb/examples/notes-fixture"
	"github.com/bb-kernel/bb/examples/notes-fixture/notesapi"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/plugintest"
)

// load runs the plugin with a greeter that knows one person.
func load(t *testing.T) *plugintest.Host {
	t.Helper()
	greet := contracts.Greet.Handle(func(_ context.Context, in contracts.GreetInput) (contracts.GreetOutput, error) {
		if in.Name == "nobody" {
			return contracts.GreetOutput{}, contracts.Muted
		}
		return contracts.GreetOutput{Message: in.Salutation + ", " + in.Name + "!"}, nil
	})
	return plugintest.Load(t, notes.Plugin(), plugintest.Options{
		Services: []kernelcontract.Implementation{{Service: contracts.Greeter, Handlers: []kernelcontract.Handler{greet}}},
		Context:  kernelcontract.Context{ThreadID: "t-1", CWD: "/home/bb"},
	})
}

func add(t *testing.T, host *plugintest.Host, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := notesapi.Add.Call(t.Context(), host, notesapi.AddInput{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(list []notesapi.Note) (ids []string) {
	for _, n := range list {
		ids = append(ids, n.ID)
	}
	return ids
}

func TestNotesAreAddedListedShownAndRemoved(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := load(t)
	none, err := notesapi.List.Call(ctx, host, notesapi.ListInput{})
	is.NoErr(err)
	is.Equal(len(none), 0)

	add(t, host, "one", "two", "three")
	all, err := notesapi.List.Call(ctx, host, notesapi.ListInput{})
	is.NoErr(err)
	is.Equal(ids(all), []string{"3", "2", "1"}) // the newest first
	page, err := notesapi.List.Call(ctx, host, notesapi.ListInput{Limit: 1, Before: "3"})
	is.NoErr(err)
	is.Equal(ids(page), []string{"2"})

	n, err := notesapi.Get.Call(ctx, host, notesapi.IDInput{ID: "2"})
	is.NoErr(err)
	is.Equal(n.Text, "two")
	is.True(!n.CreatedAt.IsZero())

	_, err = notesapi.Remove.Call(ctx, host, notesapi.IDInput{ID: "2"})
	is.NoErr(err)
	add(t, host, "four")
	all, err = notesapi.List.Call(ctx, host, notesapi.ListInput{})
	is.NoErr(err)
	is.Equal(ids(all), []string{"4", "3", "1"}) // an id is never given twice
}

func TestUnknownIDsAreNotFound(t *testing.T) {
	host := load(t)
	add(t, host, "one")
	for _, id := range []string{"2", "0", "01", "-1", "one", "99999999999999999999"} {
		t.Run(id, func(t *testing.T) {
			is, ctx := is.New(t), t.Context()
			_, err := notesapi.Get.Call(ctx, host, notesapi.IDInput{ID: id})
			is.True(errors.Is(err, kernelcontract.NotFound))
			_, err = notesapi.Remove.Call(ctx, host, notesapi.IDInput{ID: id})
			is.True(errors.Is(err, kernelcontract.NotFound))
		})
	}
	is := is.New(t)
	_, err := notesapi.List.Call(t.Context(), host, notesapi.ListInput{Before: "one"})
	is.True(errors.Is(err, kernelcontract.NotFound))
	_, err = notesapi.GetAttachment.Call(t.Context(), host, notesapi.AttachmentInput{ID: "none"})
	is.True(errors.Is(err, kernelcontract.NotFound))
}

func TestAddGreetsThroughTheInjectedPlugin(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := load(t)
	n, err := notesapi.Add.Call(ctx, host, notesapi.AddInput{Text: "milk is out", Greet: "bb"})
	is.NoErr(err)
	is.Equal(n.Text, "Hello, bb! milk is out")
	_, err = notesapi.Add.Call(ctx, host, notesapi.AddInput{Text: "milk is out", Greet: "nobody"})
	is.True(errors.Is(err, contracts.Muted))
}

func TestPluginNeedsHelloSlot(t *testing.T) {
	_, err := plugintest.TryLoad(t, notes.Plugin(), plugintest.Options{})
	is.New(t).True(err != nil)
}

func TestNotesSurviveARestart(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := load(t)
	add(t, host, "one")
	is.NoErr(host.Restart(ctx))
	add(t, host, "two")
	all, err := notesapi.List.Call(ctx, host, notesapi.ListInput{})
	is.NoErr(err)
	is.Equal(ids(all), []string{"2", "1"})
}

func TestFollowYieldsOldNotesThenNewOnes(t *testing.T) {
	is := is.New(t)
	host := load(t)
	add(t, host, "one", "two")
	var got []string
	for n, err := range notesapi.Follow.Stream(t.Context(), host, notesapi.FollowInput{Limit: 4}) {
		is.NoErr(err)
		got = append(got, n.Text)
		if n.ID == "2" {
			add(t, host, "three", "four") // wakes the stream, which has no more to read
		}
	}
	is.Equal(got, []string{"one", "two", "three", "four"})
}

func TestFollowResumesAfterACursor(t *testing.T) {
	for _, tt := range []struct {
		name, since string
		limit       int
		want        []string
	}{
		{"before the first", "0", 3, []string{"1", "2", "3"}},
		{"after a note", "1", 2, []string{"2", "3"}},
		{"after a removed note", "2", 1, []string{"3"}},
		{"what is left of a limit", "1.2", 9, []string{"2", "3"}},
		{"after the last of a limit", "3.0", 3, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a stream that waits for more ends with it
			defer cancel()
			host := load(t)
			add(t, host, "one", "two", "three")
			if tt.name == "after a removed note" {
				_, err := notesapi.Remove.Call(ctx, host, notesapi.IDInput{ID: "2"})
				is.NoErr(err)
			}
			var got []string
			for ev, err := range notesapi.Follow.Events(ctx, host, notesapi.FollowInput{Limit: tt.limit}, tt.since) {
				is.NoErr(err)
				got = append(got, ev.Item.ID)
			}
			is.Equal(got, tt.want)
		})
	}
}

// A follower that is cut off after every note and resumes from its cursor sees what one that is not cut off sees.
func TestFollowLosesAndRepeatsNothingAcrossReconnects(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := load(t)
	add(t, host, "one", "two", "three", "four", "five")
	var got []string
	for cursor, done := "", false; !done; {
		done = true
		for ev, err := range notesapi.Follow.Events(ctx, host, notesapi.FollowInput{Limit: 4}, cursor) {
			is.NoErr(err)
			got = append(got, ev.Item.ID)
			cursor, done = ev.Cursor, false
			break
		}
	}
	is.Equal(got, []string{"1", "2", "3", "4"})
}

func TestFollowBeyondTheEndWaits(t *testing.T) {
	is := is.New(t)
	host := load(t)
	add(t, host, "one")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ids := make(chan string, 8)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ev, err := range notesapi.Follow.Events(ctx, host, notesapi.FollowInput{}, "3") {
			if err == nil {
				ids <- ev.Item.ID
			}
		}
	})
	add(t, host, "two", "three", "four")
	is.Equal(<-ids, "4")
	cancel()
	wg.Wait() // the stream ends with its context
	is.Equal(len(ids), 0)
}

func TestFollowRefusesWhatIsNoCursor(t *testing.T) {
	host := load(t)
	for _, since := range []string{"x", "-1", "1.", "1.x", "1.-2", "1.2.3", "99999999999999999999", "01"} {
		t.Run(since, func(t *testing.T) {
			for _, err := range notesapi.Follow.Events(t.Context(), host, notesapi.FollowInput{}, since) {
				is.New(t).True(errors.Is(err, kernelcontract.InvalidInput))
			}
		})
	}
}

// Notes that are added at once are seen in the order of their ids, none missing: an id is given in the transaction that
// stores the note.
func TestFollowersSeeConcurrentNotesInOrder(t *testing.T) {
	is := is.New(t)
	host := load(t)
	const writers, each = 4, 25
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := notesapi.Add.Call(t.Context(), host, notesapi.AddInput{Text: "x"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var got []string
	for n, err := range notesapi.Follow.Stream(t.Context(), host, notesapi.FollowInput{Limit: writers * each}) {
		is.NoErr(err)
		got = append(got, n.ID)
	}
	wg.Wait()
	for i, id := range got {
		is.Equal(id, fmt.Sprint(i+1))
	}
}

func TestAttachmentsAreKeptAsFiles(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := load(t)
	png := []byte("\x89PNG\r\n\x1a\n\x00\xff")
	put, err := notesapi.Put.Call(ctx, host, notesapi.PutInput{ID: "logo.png", MIMEType: "image/png", Base64: png})
	is.NoErr(err)
	is.Equal(put.Bytes, len(png))
	b, err := notesapi.GetAttachment.Call(ctx, host, notesapi.AttachmentInput{ID: "logo.png"})
	is.NoErr(err)
	is.Equal(b, kernelcontract.Bytes{MIMEType: "image/png", Data: png})

	_, err = notesapi.Put.Call(ctx, host, notesapi.PutInput{ID: "logo.png", MIMEType: "not a type", Base64: png})
	is.True(errors.Is(err, kernelcontract.InvalidInput))
	is.Equal(kernelcontract.AsError(err).Issues[0].Path, []any{"mimeType"})
	_, err = notesapi.Put.Call(ctx, host, notesapi.PutInput{ID: "../up", MIMEType: "image/png", Base64: png})
	is.True(errors.Is(err, kernelcontract.InvalidInput))
}

// The table of the reference plugin: kind, exposure and what else a method says.
func TestTableOfMethods(t *testing.T) {
	all := kernelcontract.Exposure{HTTP: true, SDK: true, CLI: true, Tool: true}
	noTool := kernelcontract.Exposure{HTTP: true, SDK: true, CLI: true}
	for _, tt := range []struct {
		service     *kernelcontract.Service
		method      string
		kind        kernelcontract.Kind
		args        []string
		expose      kernelcontract.Exposure
		destructive bool
		resumable   bool
	}{
		{notesapi.Notes, "add", kernelcontract.KindMutation, []string{"text"}, all, false, false},
		{notesapi.Notes, "list", kernelcontract.KindQuery, nil, all, false, false},
		{notesapi.Notes, "get", kernelcontract.KindQuery, []string{"id"}, all, false, false},
		{notesapi.Notes, "remove", kernelcontract.KindMutation, nil, all, true, false},
		{notesapi.Notes, "follow", kernelcontract.KindStream, nil, all, false, true},
		{notesapi.Attachments, "put", kernelcontract.KindMutation, nil, noTool, false, false},
		{notesapi.Attachments, "get", kernelcontract.KindQuery, nil, noTool, false, false},
		{notesapi.Settings, "apply", kernelcontract.KindMutation, []string{"title", "subtitle", "parts..."}, all, false, false},
		{notesapi.Settings, "read", kernelcontract.KindQuery, []string{"title", "subtitle", "parts..."}, all, false, false},
	} {
		t.Run(tt.service.ID+"."+tt.method, func(t *testing.T) {
			is := is.New(t)
			def, err := tt.service.Def()
			is.NoErr(err)
			d := def.Method(tt.method)
			is.True(d != nil)
			is.Equal(d.Kind, tt.kind)
			is.Equal(d.CLI.Args, tt.args)
			is.Equal(d.Expose, tt.expose)
			is.Equal(d.Destructive, tt.destructive)
			is.Equal(d.Resumable, tt.resumable)
		})
	}
	is := is.New(t)
	def, err := notesapi.Notes.Def()
	is.NoErr(err)
	is.Equal(def.Group, []string{"notes"})
}

func TestGuideHasAChapter(t *testing.T) {
	is := is.New(t)
	chapters := load(t).Loaded().Guide
	is.Equal(len(chapters), 1)
	is.Equal(chapters[0].Name, "notes")
	is.Equal(chapters[0].Title, "Notes")
	is.True(slices.Contains(load(t).Loaded().Requires, "hello-slot/greeter"))
}

func ExamplePlugin() {
	for _, s := range notes.Plugin().Services {
		fmt.Println(s.ID)
	}
	// Output:
	// notes-fixture/notes
	// notes-fixture/attachments
	// notes-fixture/settings
}
