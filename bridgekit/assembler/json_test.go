package assembler_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

func TestEventEnvelope(t *testing.T) {
	east := time.FixedZone("east", 3600)
	for name, c := range map[string]struct {
		event assembler.Event
		want  string
	}{
		"of a thread": {assembler.Event{ThreadID: "th", At: at, Type: assembler.TypeContextCleared, Payload: &assembler.ContextCleared{}},
			`{"threadId":"th","at":"2026-01-02T03:04:05Z","type":"thread.context_cleared","scope":{"kind":"thread"},"payload":{}}`},
		"of an item": {assembler.Event{ThreadID: "th", At: at.In(east), Type: assembler.TypeItemText, Scope: assembler.Scope{TurnID: "T1"}, ItemID: "e-2", ParentItemID: "e-1",
			Payload: &assembler.ItemText{Stream: protocol.Text, Text: "a"}},
			`{"threadId":"th","at":"2026-01-02T03:04:05Z","type":"item.text","scope":{"kind":"turn","turnId":"T1"},"itemId":"e-2","parentItemId":"e-1","payload":{"stream":"text","text":"a"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			raw, err := json.Marshal(c.event)
			is.NoErr(err)
			is.Equal(string(raw), c.want)
		})
	}
}

func TestEventPayloads(t *testing.T) {
	p := shown("Doing")
	stored := func(i protocol.Item, id string) assembler.StoredItem {
		return assembler.StoredItem{Item: i, ProviderItemID: id}
	}
	for _, c := range []struct {
		payload assembler.Payload
		want    string
	}{
		{&assembler.TurnStarted{Origin: assembler.OriginAgent}, `{"origin":"agent","clientRequestId":null}`},
		{&assembler.TurnStarted{Origin: assembler.OriginClient, ClientRequestID: protocol.Ptr("c")}, `{"origin":"client","clientRequestId":"c"}`},
		{&assembler.InputAccepted{ClientRequestID: "c"}, `{"clientRequestId":"c"}`},
		{&assembler.InputFailed{ClientRequestID: "c", Message: "m"}, `{"clientRequestId":"c","message":"m"}`},
		{&assembler.TurnDiff{Diff: "d"}, `{"diff":"d"}`},
		{&assembler.TurnCompleted{Status: protocol.Completed}, `{"status":"completed","error":null,"checkpointId":null,"mergedInto":null}`},
		{&assembler.TurnCompleted{Status: protocol.Failed, Error: &protocol.TurnError{Message: "m"}, CheckpointID: protocol.Ptr("p")},
			`{"status":"failed","error":{"message":"m"},"checkpointId":"p","mergedInto":null}`},
		{&assembler.ItemStarted{Item: stored(&protocol.Message{Text: "t"}, "a"), Presentation: p},
			`{"item":{"kind":"message","text":"t","providerItemId":"a"},"presentation":{"label":"Doing","icon":"x"}}`},
		{&assembler.ItemStarted{Item: stored(&protocol.Extension{Name: "a/b", Payload: json.RawMessage(`[1]`)}, ""), Presentation: p},
			`{"item":{"kind":"a/b","payload":[1],"providerItemId":null},"presentation":{"label":"Doing","icon":"x"}}`},
		{&assembler.ItemText{Stream: protocol.Summary, Text: "t"}, `{"stream":"summary","text":"t"}`},
		{&assembler.ItemOutput{Mode: protocol.Replace, Text: "t"}, `{"mode":"replace","text":"t"}`},
		{&assembler.ItemProgress{}, `{"message":null,"item":null,"presentation":null}`},
		{&assembler.ItemCompleted{Status: protocol.Interrupted, Item: stored(&protocol.Message{}, "a"), Presentation: p, Partial: true},
			`{"status":"interrupted","item":{"kind":"message","text":"","providerItemId":"a"},"presentation":{"label":"Doing","icon":"x"},"partial":true}`},
		{&assembler.ContextWindow{Used: protocol.Ptr[int64](1)}, `{"used":1,"size":null,"estimated":false}`},
		{&assembler.Todo{Steps: []protocol.TodoStep{{Text: "t", Status: protocol.TodoActive}}}, `{"steps":[{"text":"t","status":"active"}],"explanation":null}`},
		{&assembler.ThreadName{Name: "n"}, `{"name":"n"}`},
		{&assembler.ExtensionState{Name: "a/b", Payload: json.RawMessage(`1`)}, `{"extensionKind":"a/b","payload":1}`},
		{&assembler.RateLimits{RateLimits: protocol.RateLimitState{Status: protocol.LimitBlocked, Kind: protocol.LimitCredits}},
			`{"rateLimits":{"status":"blocked","kind":"credits","windows":[],"resetsAt":null,"reachedReason":null,"overageStatus":null,"overageReason":null}}`},
		{&assembler.ModelFallback{OriginalModel: "a", FallbackModel: "b", Reason: protocol.FallbackRefusal, Message: "m"},
			`{"originalModel":"a","fallbackModel":"b","reason":"refusal","message":"m"}`},
		{&assembler.Error{Category: protocol.ErrorBilling, Message: "m", SettlesTurn: true},
			`{"category":"billing","message":"m","detail":null,"providerCode":null,"httpStatus":null,"willRetry":false,"settlesTurn":true}`},
		{&assembler.Warning{Category: protocol.WarningConfig}, `{"category":"config","summary":null,"details":null}`},
		{&assembler.Unhandled{RawType: "r", Raw: json.RawMessage(`1`)}, `{"rawType":"r","raw":1,"parentRef":null,"rule":null}`},
	} {
		t.Run(string(c.payload.Type()), func(t *testing.T) {
			is := is.New(t)
			raw, err := json.Marshal(c.payload)
			is.NoErr(err)
			is.Equal(string(raw), c.want)
		})
	}
}

// A list of steps that is empty is [], not null.
func TestTodoWithoutSteps(t *testing.T) {
	is := is.New(t)
	th := newThread(t)
	th.turn()
	raw, err := json.Marshal(th.Apply(&protocol.Todo{}, at)[0].Payload)
	is.NoErr(err)
	is.Equal(string(raw), `{"steps":[],"explanation":null}`)
}
