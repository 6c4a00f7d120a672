package kernelcontract_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/matryer/is"

	kc "github.com/bb-kernel/bb/kernelcontract"
)

var getNote = &kc.Query[noteInput, noteOutput]{Ref: "demo/notes.get", Summary: "Get a note"}

var addNote = &kc.Mutation[noteInput, noteOutput]{Ref: "demo/notes.add", Summary: "Add a note"}

var followNotes = &kc.Stream[noteInput, noteOutput]{Ref: "demo/notes.follow", Summary: "Follow notes", Cursor: func(o noteOutput) string { return "c" + o.ID }}

func TestUnaryHandler(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	h := getNote.Handle(func(ctx context.Context, in noteInput) (noteOutput, error) {
		if in.ID == "bad" {
			return noteOutput{}, kc.NotFound.Errorf("no %s", in.ID)
		}
		return noteOutput{ID: in.ID + in.Text}, nil
	})
	is.Equal(h.Ref(), "demo/notes.get")
	is.True(h.Method() == kc.Method(getNote))
	is.True(!h.IsNil())
	is.Equal(h.Raw(), nil)

	out, err := h.Call(ctx, json.RawMessage(`{"id":"1","text":"x"}`))
	is.NoErr(err)
	is.Equal(out, noteOutput{ID: "1x"}) // typed
	out, err = h.Call(ctx, nil)
	is.NoErr(err)
	is.Equal(out, noteOutput{})
	_, err = h.Call(ctx, json.RawMessage(`{"id":"bad"}`))
	is.True(errors.Is(err, kc.NotFound))
	_, err = h.Call(ctx, json.RawMessage(`{"id":1}`))
	is.True(errors.Is(err, kc.InvalidInput))
	_, err = h.Open(ctx, nil)
	is.True(errors.Is(err, kc.Internal))
	is.True(!addNote.Handle(func(context.Context, noteInput) (noteOutput, error) { return noteOutput{}, nil }).IsNil())
}

func TestNilHandlers(t *testing.T) {
	is := is.New(t)
	is.True(getNote.Handle(nil).IsNil())
	is.True(addNote.Handle(nil).IsNil())
	is.True(followNotes.Handle(nil).IsNil())
	is.True(kc.Handler{}.IsNil())
	is.Equal(getNote.Handle(nil).Ref(), "demo/notes.get") // still names what it lacks
	_, err := getNote.Handle(nil).Call(t.Context(), nil)
	is.True(errors.Is(err, kc.Internal))
}

func TestCustomHandler(t *testing.T) {
	is := is.New(t)
	m := &kc.Custom[string]{Ref: "kernel/x.raw", Summary: "s", Path: "/internal/x"}
	h := m.Handle("the handler")
	is.Equal(h.Raw(), "the handler")
	is.True(!h.IsNil())
	_, err := h.Call(t.Context(), nil)
	is.True(errors.Is(err, kc.Internal))
}

// counts yields n notes, then err unless it is nil.
func counts(n int, err error) iter.Seq2[noteOutput, error] {
	return func(yield func(noteOutput, error) bool) {
		for i := range n {
			if !yield(noteOutput{ID: string(rune('1' + i))}, nil) {
				return
			}
		}
		if err != nil && !yield(noteOutput{}, err) {
			return
		}
		if err != nil {
			yield(noteOutput{ID: "after the error"}, nil)
		}
	}
}

func TestStreamHandler(t *testing.T) {
	ctx := t.Context()
	handle := func(seq iter.Seq2[noteOutput, error], err error) kc.Handler {
		return followNotes.Handle(func(context.Context, noteInput) (iter.Seq2[noteOutput, error], error) { return seq, err })
	}
	t.Run("items with cursors", func(t *testing.T) {
		is := is.New(t)
		seq, err := handle(counts(2, nil), nil).Open(ctx, nil)
		is.NoErr(err)
		var got []kc.Event[any]
		for ev, err := range seq {
			is.NoErr(err)
			got = append(got, ev)
		}
		is.Equal(got, []kc.Event[any]{{Cursor: "c1", Item: noteOutput{ID: "1"}}, {Cursor: "c2", Item: noteOutput{ID: "2"}}})
	})
	t.Run("an error ends it", func(t *testing.T) {
		is := is.New(t)
		seq, err := handle(counts(1, kc.Conflict), nil).Open(ctx, nil)
		is.NoErr(err)
		var errs []error
		n := 0
		for _, err := range seq {
			n++
			if err != nil {
				errs = append(errs, err)
			}
		}
		is.Equal(n, 2)
		is.Equal(errs, []error{kc.Conflict})
	})
	t.Run("leaving it early", func(t *testing.T) {
		is := is.New(t)
		seq, err := handle(counts(9, nil), nil).Open(ctx, nil)
		is.NoErr(err)
		for range seq {
			break
		}
	})
	t.Run("an error before it opens", func(t *testing.T) {
		_, err := handle(nil, kc.NotFound).Open(ctx, nil)
		is.New(t).True(errors.Is(err, kc.NotFound))
	})
	t.Run("no sequence", func(t *testing.T) {
		_, err := handle(nil, nil).Open(ctx, nil)
		is.New(t).True(errors.Is(err, kc.Internal))
	})
	t.Run("an input that does not decode", func(t *testing.T) {
		_, err := handle(counts(1, nil), nil).Open(ctx, json.RawMessage(`[]`))
		is.New(t).True(errors.Is(err, kc.InvalidInput))
	})
	t.Run("without a cursor", func(t *testing.T) {
		is := is.New(t)
		m := &kc.Stream[noteInput, noteOutput]{Ref: "demo/notes.watch", Summary: "s"}
		seq, err := m.Handle(func(context.Context, noteInput) (iter.Seq2[noteOutput, error], error) { return counts(1, nil), nil }).Open(ctx, nil)
		is.NoErr(err)
		for ev := range seq {
			is.Equal(ev.Cursor, "")
		}
	})
}

// plainCaller is a Caller and nothing more.
type plainCaller struct {
	ref, since string
	in         any
	items      []string // JSON
	err        error
}

func (c *plainCaller) Call(_ context.Context, ref string, in, out any) error {
	c.ref, c.in = ref, in
	if c.err != nil {
		return c.err
	}
	return json.Unmarshal([]byte(c.items[0]), out)
}

func (c *plainCaller) Open(_ context.Context, ref string, in any, since string) iter.Seq2[kc.Event[json.RawMessage], error] {
	return func(yield func(kc.Event[json.RawMessage], error) bool) {
		c.ref, c.in, c.since = ref, in, since
		for i, item := range c.items {
			if !yield(kc.Event[json.RawMessage]{Cursor: string(rune('a' + i)), Item: json.RawMessage(item)}, nil) {
				return
			}
		}
		if c.err != nil {
			yield(kc.Event[json.RawMessage]{}, c.err)
		}
	}
}

// signatureCaller takes signatures.
type signatureCaller struct {
	plainCaller
	sig kc.Signature
}

func (c *signatureCaller) CallSignature(ctx context.Context, sig kc.Signature, in, out any) error {
	c.sig = sig
	return c.Call(ctx, sig.Ref, in, out)
}

func (c *signatureCaller) OpenSignature(ctx context.Context, sig kc.Signature, in any, since string) iter.Seq2[kc.Event[json.RawMessage], error] {
	c.sig = sig
	return c.Open(ctx, sig.Ref, in, since)
}

func TestTypedCalls(t *testing.T) {
	ctx, in := t.Context(), noteInput{ID: "1"}
	t.Run("through a plain caller", func(t *testing.T) {
		is := is.New(t)
		c := &plainCaller{items: []string{`{"id":"7"}`}}
		out, err := getNote.Call(ctx, c, in)
		is.NoErr(err)
		is.Equal(out, noteOutput{ID: "7"})
		is.Equal(c.ref, "demo/notes.get")
		is.Equal(c.in, in)
		_, err = addNote.Call(ctx, c, in)
		is.NoErr(err)
		is.Equal(c.ref, "demo/notes.add")
	})
	t.Run("errors come back", func(t *testing.T) {
		_, err := getNote.Call(ctx, &plainCaller{err: kc.NotFound.Errorf("no")}, in)
		is.New(t).True(errors.Is(err, kc.NotFound))
	})
	t.Run("through a caller that takes signatures", func(t *testing.T) {
		is := is.New(t)
		c := &signatureCaller{plainCaller: plainCaller{items: []string{`{"id":"7"}`}}}
		_, err := getNote.Call(ctx, c, in)
		is.NoErr(err)
		is.Equal(c.sig.Kind, kc.KindQuery)
		s, err := c.sig.Input()
		is.NoErr(err)
		is.Equal(s.Properties[0].Name, "id")
		_, err = addNote.Call(ctx, c, in)
		is.NoErr(err)
		is.Equal(c.sig.Kind, kc.KindMutation)
		for _, err := range followNotes.Stream(ctx, c, in) {
			is.NoErr(err)
		}
		is.Equal(c.sig.Kind, kc.KindStream)
		is.True(c.sig.Resumable)
		is.Equal(c.sig.Ref, "demo/notes.follow")
	})
	t.Run("streams", func(t *testing.T) {
		is := is.New(t)
		c := &plainCaller{items: []string{`{"id":"1"}`, `{"id":"2"}`}}
		var ids []string
		for n, err := range followNotes.Stream(ctx, c, in) {
			is.NoErr(err)
			ids = append(ids, n.ID)
		}
		is.Equal(ids, []string{"1", "2"})
		is.Equal(c.since, "")
	})
	t.Run("events with cursors", func(t *testing.T) {
		is := is.New(t)
		c := &plainCaller{items: []string{`{"id":"1"}`, `{"id":"2"}`}}
		var got []kc.Event[noteOutput]
		for ev, err := range followNotes.Events(ctx, c, in, "41") {
			is.NoErr(err)
			got = append(got, ev)
		}
		is.Equal(got, []kc.Event[noteOutput]{{Cursor: "a", Item: noteOutput{ID: "1"}}, {Cursor: "b", Item: noteOutput{ID: "2"}}})
		is.Equal(c.since, "41")
	})
	t.Run("a stream's error is the last pair", func(t *testing.T) {
		is := is.New(t)
		var errs []error
		for _, err := range followNotes.Stream(ctx, &plainCaller{items: []string{`{"id":"1"}`}, err: kc.Conflict}, in) {
			errs = append(errs, err)
		}
		is.Equal(errs, []error{nil, kc.Conflict})
	})
	t.Run("an item of another type ends the stream", func(t *testing.T) {
		is := is.New(t)
		var codes []kc.Code
		for _, err := range followNotes.Stream(ctx, &plainCaller{items: []string{`7`, `{"id":"2"}`}}, in) {
			codes = append(codes, kc.CodeOf(err))
		}
		is.True(slices.Equal(codes, []kc.Code{kc.Internal}))
	})
	t.Run("one call a range", func(t *testing.T) {
		is := is.New(t)
		c := &plainCaller{items: []string{`{"id":"1"}`}}
		seq := followNotes.Stream(ctx, c, in)
		is.Equal(c.ref, "") // nothing happened yet
		for range seq {
			break
		}
		is.Equal(c.ref, "demo/notes.follow")
	})
}

func TestCallFrom(t *testing.T) {
	is := is.New(t)
	is.Equal(*kc.CallFrom(t.Context()), kc.CallInfo{}) // never nil
	info := &kc.CallInfo{ID: "c1", Since: "41"}
	is.True(kc.CallFrom(kc.WithCall(t.Context(), info)) == info)
}

func TestRenderText(t *testing.T) {
	render := func(t *testing.T, v any) (string, error) {
		t.Helper()
		s := notes(note(func(m *kc.Query[noteInput, noteOutput]) {
			m.RenderText = func(o noteOutput, r kc.Render) string { return "note " + o.ID }
		}))
		def, err := s.Def()
		if err != nil {
			t.Fatal(err)
		}
		return def.Methods[0].RenderText(v, kc.Render{})
	}
	t.Run("typed", func(t *testing.T) {
		is := is.New(t)
		s, err := render(t, noteOutput{ID: "1"})
		is.NoErr(err)
		is.Equal(s, "note 1")
	})
	t.Run("JSON", func(t *testing.T) {
		is := is.New(t)
		s, err := render(t, json.RawMessage(`{"id":"1"}`))
		is.NoErr(err)
		is.Equal(s, "note 1")
	})
	t.Run("neither", func(t *testing.T) {
		is := is.New(t)
		_, err := render(t, 7)
		is.True(errors.Is(err, kc.Internal))
		_, err = render(t, json.RawMessage(`[]`))
		is.True(errors.Is(err, kc.Internal))
	})
}

func BenchmarkHandlerCall(b *testing.B) {
	type in struct {
		Name string `json:"name"`
	}
	fn := func(_ context.Context, in in) (noteOutput, error) { return noteOutput{ID: in.Name}, nil }
	m := &kc.Query[in, noteOutput]{Ref: "demo/notes.get", Summary: "s"}
	h := m.Handle(fn)
	raw := json.RawMessage(`{"name":"bb"}`)
	ctx := b.Context()
	b.Run("handler", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = h.Call(ctx, raw)
		}
	})
	b.Run("baseline=json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v in
			_ = json.Unmarshal(raw, &v)
			_, _ = fn(ctx, v)
		}
	})
}

func BenchmarkDef(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = notes(note(nil)).Def()
	}
}
