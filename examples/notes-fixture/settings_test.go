package notes_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/examples/notes-fixture/notesapi"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/plugintest"
)

func ptr[T any](v T) *T { return &v }

// everything sets every field to something that no default is.
func everything() notesapi.Shapes {
	pause := kernelcontract.Duration(90 * time.Second)
	return notesapi.Shapes{
		Title: "a", Subtitle: "b", Parts: []notesapi.Part{{Text: "plain"}, {Text: "hallo", Language: "de"}},
		SomeName: "n", Note: ptr("null"), Quiet: "q", When: ptr(time.Date(2026, 11, 30, 12, 0, 0, 5, time.FixedZone("", 3600))), Pause: &pause,
		Path: "/tmp", Pin: "0042", Color: "blue", Level: notesapi.High,
		Count: 1<<53 + 1, Small: -128, Huge: 1<<64 - 1, Ratio: 0.1, Maximum: ptr(0),
		Enabled: ptr(false), Strict: ptr(false), Loud: true,
		Labels: []string{"x", "y"}, Numbers: []int{-5, 7}, Levels: []notesapi.Level{notesapi.Low, notesapi.Low},
		Point: &notesapi.Point{X: 1, Y: -2, Z: 0.5}, Points: []notesapi.Point{{}, {X: 1}},
		Shape:  &kernelcontract.Union[notesapi.Shape]{Value: notesapi.Shape{Circle: &notesapi.Circle{Radius: 2}}},
		Amount: &notesapi.Amount{Text: "much", IsText: true},
		Vars:   map[string]string{"k": "v=w"}, Weights: map[string]float64{"w": 1.5}, Data: []byte{0, 255},
		Extra: json.RawMessage(`{"any":[1,null]}`), Tree: &notesapi.Tree{Name: "root", Children: []notesapi.Tree{{Name: "leaf"}}},
		ThreadID: "t-9", ProjectID: "p", EnvironmentID: "e", HostID: "h", CWD: "/",
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestEveryShapeIsUnderstood(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := load(t)
	want := everything()
	got, err := notesapi.Apply.Call(ctx, host, want)
	is.NoErr(err)
	is.Equal(asJSON(t, got), asJSON(t, want))
	got, err = notesapi.Read.Call(ctx, host, want)
	is.NoErr(err)
	is.Equal(asJSON(t, got), asJSON(t, want))
}

func TestOmittedShapesGetDefaultsAndContext(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	var got notesapi.Shapes
	is.NoErr(load(t).Call(ctx, "notes-fixture/settings.apply", map[string]any{"title": "a"}, &got))
	is.Equal(got.Color, "red")
	is.Equal(got.Level, notesapi.Low)
	is.Equal(*got.Enabled, true)
	is.Equal(got.Pause.String(), "PT30S")
	is.Equal(got.Note, nil)
	is.Equal(got.Strict, nil)
	is.Equal(got.ThreadID, "t-1")
	is.Equal(got.CWD, "/home/bb")
	is.Equal(got.HostID, "")
}

// Each row is one bad value; the issue names the place.
func TestBadShapesAreRefused(t *testing.T) {
	host := load(t)
	for _, tt := range []struct{ name, in, code string }{
		{"missing", `{}`, "required"},
		{"empty", `{"title":""}`, "too_small"},
		{"unknown", `{"title":"a","titel":"b"}`, "unrecognized_key"},
		{"type", `{"title":1}`, "invalid_type"},
		{"null", `{"title":null}`, "invalid_type"},
		{"enum", `{"title":"a","color":"pink"}`, "invalid_value"},
		{"narrow", `{"title":"a","small":128}`, "too_big"},
		{"unsigned", `{"title":"a","huge":-1}`, "too_small"},
		{"beyond 64 bits", `{"title":"a","count":9223372036854775808}`, "too_big"},
		{"bound", `{"title":"a","ratio":-1}`, "too_small"},
		{"fraction", `{"title":"a","count":1.5}`, "invalid_type"},
		{"pattern", `{"title":"a","pin":"12345"}`, "invalid_format"},
		{"time", `{"title":"a","when":"yesterday"}`, "invalid_format"},
		{"duration", `{"title":"a","pause":"90s"}`, "invalid_format"},
		{"base64", `{"title":"a","data":"%"}`, "invalid_format"},
		{"union kind", `{"title":"a","shape":{"kind":"star"}}`, "invalid_union"},
		{"mixed union", `{"title":"a","amount":true}`, "invalid_union"},
		{"nested key", `{"title":"a","point":{"x":1,"y":2,"w":3}}`, "unrecognized_key"},
		{"map value", `{"title":"a","vars":{"k":1}}`, "invalid_type"},
		{"items", `{"title":"a","numbers":[1,2,3,4,5,6,7,8,9]}`, "too_big"},
		{"duplicate", `{"title":"a","title":"b"}`, "duplicate_key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			err := host.Call(t.Context(), "notes-fixture/settings.apply", json.RawMessage(tt.in), nil)
			is.True(errors.Is(err, kernelcontract.InvalidInput))
			is.Equal(string(kernelcontract.AsError(err).Issues[0].Code), tt.code)
		})
	}
}

func TestEverySurfaceIsDerived(t *testing.T) {
	note := notesapi.Note{ID: "1", Text: "buy milk", CreatedAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	plugintest.ExpectDerivedSurfaces(t, notesapi.Notes, plugintest.Samples{
		"add": note, "list": []notesapi.Note{note}, "get": note, "remove": kernelcontract.None{}, "follow": note,
	})
	plugintest.ExpectDerivedSurfaces(t, notesapi.Attachments, plugintest.Samples{
		"put": notesapi.PutOutput{ID: "a", MIMEType: "text/plain", Bytes: 1}, "get": kernelcontract.Bytes{MIMEType: "text/plain", Data: []byte("a")},
	})
	plugintest.ExpectDerivedSurfaces(t, notesapi.Settings, plugintest.Samples{"apply": everything(), "read": everything()})
}
