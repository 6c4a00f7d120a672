package fold_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline/fold"
)

// step is an event as a table has it: type, turn, item, parent, payload.
type step [5]string

func events(steps []step) []threadapi.Event {
	out := make([]threadapi.Event, len(steps))
	for i, s := range steps {
		e := threadapi.Event{ThreadID: "t", Seq: int64(i + 1), At: time.Unix(int64(i+1), 0).UTC(), Type: s[0], ItemID: s[2], ParentItemID: s[3], Payload: json.RawMessage(s[4])}
		e.Scope.Kind = "thread"
		if s[1] != "" {
			e.Scope = threadapi.Scope{Kind: "turn", TurnID: s[1]}
		}
		out[i] = e
	}
	return out
}

// all folds events and returns the rows, open or not, as they are stored and read again in between.
func all(t testing.TB, evs []threadapi.Event) []threadapi.Row {
	t.Helper()
	f := fold.New()
	kept := map[int64]*fold.Row{}
	var order []int64
	for i := range evs {
		f.Apply(&evs[i])
		for _, r := range f.TakeDue() {
			if kept[r.Seq] == nil {
				order = append(order, r.Seq)
			}
			kept[r.Seq] = r
		}
	}
	rows := []threadapi.Row{}
	for _, seq := range order {
		row := kept[seq].Public()
		again, err := fold.Decode(kept[seq].Encode())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(t, again.Public()), show(t, row); got != want {
			t.Fatalf("stored and read again:\n%s\nand was\n%s", got, want)
		}
		rows = append(rows, row)
	}
	return rows
}

func show(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const presented = `"presentation":{"label":"L","icon":"I","title":"T","detail":"D","suppress":true,"tint":"info"}`

func begin(item string) string { return `{"item":` + item + `,` + presented + `}` }
func end(status, item string, partial bool) string {
	return fmt.Sprintf(`{"status":%q,"item":%s,%s,"partial":%v}`, status, item, presented, partial)
}

// TestFold has the rules by which events become rows; want is kind, status, turn and data of each row.
func TestFold(t *testing.T) {
	const started, text, output, progress, completed = "item.started", "item.text", "item.output", "item.progress", "item.completed"
	add := func(s string) string { return `{"stream":"text","text":"` + s + `"}` }
	out := func(mode, s string) string { return `{"mode":"` + mode + `","text":"` + s + `"}` }
	for name, test := range map[string]struct {
		steps []step
		want  []string
	}{
		"text of a message": {[]step{{started, "u", "i", "", begin(`{"kind":"message","text":""}`)}, {text, "u", "i", "", add("a")}, {text, "u", "i", "", add("b<")}},
			[]string{`message open u {"kind":"message","text":"ab<"}`}},
		"text of a plan": {[]step{{started, "u", "i", "", begin(`{"kind":"plan","text":"a","path":null}`)}, {text, "u", "i", "", add("b")}},
			[]string{`plan open u {"kind":"plan","text":"ab","path":null}`}},
		"text and summary of reasoning": {[]step{{started, "", "i", "", begin(`{"kind":"reasoning","text":"","summary":""}`)}, {text, "", "i", "", add("a")}, {text, "", "i", "", `{"stream":"summary","text":"s"}`}},
			[]string{`reasoning open  {"kind":"reasoning","text":"a","summary":"s"}`}},
		"output of a command": {[]step{{started, "u", "i", "", begin(`{"kind":"command","output":null}`)}, {output, "u", "i", "", out("append", "a")}, {output, "u", "i", "", out("append", "b")}},
			[]string{`command open u {"kind":"command","output":"ab"}`}},
		"replaced output": {[]step{{started, "u", "i", "", begin(`{"kind":"command","output":"x"}`)}, {output, "u", "i", "", out("replace", "a")}, {output, "u", "i", "", out("append", "b")}},
			[]string{`command open u {"kind":"command","output":"ab"}`}},
		"output replaced by nothing": {[]step{{started, "u", "i", "", begin(`{"kind":"command","output":"x"}`)}, {output, "u", "i", "", out("replace", "")}},
			[]string{`command open u {"kind":"command","output":""}`}},
		"result of a tool": {[]step{{started, "u", "i", "", begin(`{"kind":"tool","result":null,"error":null}`)}, {output, "u", "i", "", out("append", "a")}},
			[]string{`tool open u {"kind":"tool","result":"a","error":null}`}},
		"summary of a task": {[]step{{started, "u", "i", "", begin(`{"kind":"task","summary":"x"}`)}, {output, "u", "i", "", out("append", "a")}},
			[]string{`task open u {"kind":"task","summary":"xa"}`}},
		"a kind without a place": {[]step{{started, "u", "i", "", begin(`{"kind":"acme/chart","payload":{}}`)}, {text, "u", "i", "", add("a")}, {output, "u", "i", "", out("append", "a")}},
			[]string{`acme/chart open u {"kind":"acme/chart","payload":{}}`}},
		"a payload replaces what was folded": {[]step{{started, "u", "i", "", begin(`{"kind":"message","text":""}`)}, {text, "u", "i", "", add("a")}, {progress, "u", "i", "", `{"message":null,"item":{"kind":"message","text":"p"},"presentation":null}`}, {text, "u", "i", "", add("b")}},
			[]string{`message open u {"kind":"message","text":"pb"}`}},
		"progress changes the kind": {[]step{{started, "u", "i", "", begin(`{"kind":"message","text":"a"}`)}, {progress, "u", "i", "", `{"message":null,"item":{"kind":"command","output":null},"presentation":null}`}, {output, "u", "i", "", out("append", "o")}},
			[]string{`command open u {"kind":"command","output":"o"}`}},
		"the end replaces what was folded": {[]step{{started, "u", "i", "", begin(`{"kind":"message","text":""}`)}, {text, "u", "i", "", add("a")}, {completed, "u", "i", "", end("completed", `{"kind":"message","text":"whole"}`, false)}},
			[]string{`message completed u {"kind":"message","text":"whole"}`}},
		"a partial end keeps what was folded": {[]step{{started, "u", "i", "", begin(`{"kind":"command","output":null}`)}, {output, "u", "i", "", out("append", "a")}, {completed, "u", "i", "", end("interrupted", `{"kind":"command","output":null}`, true)}},
			[]string{`command interrupted u {"kind":"command","output":"a"}`}},
		"an end without a beginning": {[]step{{completed, "u", "i", "", end("failed", `{"kind":"message","text":"a"}`, false)}},
			[]string{`message failed u {"kind":"message","text":"a"}`}},
		"what comes late changes nothing": {[]step{{completed, "u", "i", "", end("completed", `{"kind":"message","text":"a"}`, false)}, {text, "u", "i", "", add("b")}, {progress, "u", "i", "", `{"message":"m"}`}, {completed, "u", "i", "", end("failed", `{"kind":"message","text":"b"}`, false)}},
			[]string{`message completed u {"kind":"message","text":"a"}`}},
		"an item that begins anew keeps its place": {[]step{{completed, "u", "i", "", end("completed", `{"kind":"message","text":"a"}`, false)}, {completed, "u", "j", "", end("completed", `{"kind":"message","text":"j"}`, false)}, {started, "u", "i", "", begin(`{"kind":"message","text":""}`)}, {text, "u", "i", "", add("b")}},
			[]string{`message open u {"kind":"message","text":"b"}`, `message completed u {"kind":"message","text":"j"}`}},
		"unknown items": {[]step{{text, "u", "i", "", add("b")}, {output, "u", "i", "", out("append", "a")}, {progress, "u", "i", "", `{}`}}, nil},
		"what was sent": {[]step{{"input.sent", "u", "", "", `{"input":[{"type":"text","text":"hi"}]}`}, {"input.sent", "u", "", "", `{"input":[]}`}},
			[]string{`user completed u {"input":[{"type":"text","text":"hi"}]}`}},
		"the latest steps of a turn": {[]step{{"thread.todo", "u", "", "", `{"n":1}`}, {"thread.todo", "u", "", "", `{"n":2}`}, {"thread.todo", "v", "", "", `{"n":3}`}, {"turn.completed", "u", "", "", `{"status":"completed"}`}},
			[]string{`todo completed u {"n":2}`, `todo open v {"n":3}`}},
		"the latest usage between turns": {[]step{{"thread.usage", "", "", "", `{"n":1}`}, {"thread.usage", "", "", "", `{"n":2}`}, {"turn.started", "u", "", "", `{}`}, {"thread.usage", "", "", "", `{"n":3}`}},
			[]string{`usage completed  {"n":2}`, `usage open  {"n":3}`}},
		"turns": {[]step{{"turn.completed", "a", "", "", `{"status":"completed"}`}, {"turn.completed", "b", "", "", `{"status":"merged"}`}, {"turn.completed", "c", "", "", `{"status":"failed"}`}, {"turn.completed", "d", "", "", `{"status":"interrupted"}`}},
			[]string{`turn failed c {"status":"failed"}`, `turn interrupted d {"status":"interrupted"}`}},
		"an answer": {[]step{{"interaction.opened", "u", "i", "", `{"interactionId":"x","request":{"q":1}}`}, {"interaction.resolved", "u", "i", "", `{"interactionId":"x","resolution":{"kind":"approval"},"by":"user:a"}`}},
			[]string{`interaction completed u {"request":{"q":1},"resolution":{"kind":"approval"},"by":"user:a"}`}},
		"a question": {[]step{{"interaction.opened", "u", "", "", `{"interactionId":"x","request":{"q":1}}`}},
			[]string{`interaction open u {"request":{"q":1},"resolution":null,"by":null}`}},
		"no answer": {[]step{{"interaction.opened", "u", "", "", `{"interactionId":"x","request":{}}`}, {"interaction.resolved", "u", "", "", `{"interactionId":"x","resolution":{"kind":"interrupted"},"by":""}`}},
			[]string{`interaction interrupted u {"request":{},"resolution":{"kind":"interrupted"},"by":""}`}},
		"notices": {[]step{{"provider.error", "u", "", "", `{}`}, {"provider.warning", "", "", "", `{}`}, {"provider.modelFallback", "u", "", "", `{}`}, {"turn.input_failed", "u", "", "", `{}`},
			{"thread.context_cleared", "", "", "", `{}`}, {"thread.forked", "", "", "", `{}`}, {"thread.goal", "", "", "", `{}`}, {"thread.session", "", "", "", `{"contextLost":true}`}},
			[]string{"notice completed u {}", "notice completed  {}", "notice completed u {}", "notice completed u {}", "notice completed  {}", "notice completed  {}", "notice completed  {}", `notice completed  {"contextLost":true}`}},
		"what nobody has to see": {[]step{{"thread.session", "", "", "", `{"contextLost":false}`}, {"thread.created", "", "", "", `{}`}, {"turn.diff", "u", "", "", `{}`}, {"provider.unhandled", "", "", "", `{}`},
			{"provider.rateLimits", "", "", "", `{}`}, {"thread.name", "", "", "", `{}`}, {"thread.context_window", "", "", "", `{}`}, {"of.tomorrow", "", "", "", `{}`}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range all(t, events(test.steps)) {
				got = append(got, fmt.Sprintf("%s %s %s %s", r.Kind, r.Status, r.TurnID, r.Data))
				if (r.Status == "open") != (r.SettledAt == nil) {
					t.Errorf("%s is %s and settled at %v", r.ID, r.Status, r.SettledAt)
				}
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestRow has what a row shows beside its data.
func TestRow(t *testing.T) {
	is := is.New(t)
	rows := all(t, events([]step{
		{"item.started", "u", "task", "", begin(`{"kind":"task","summary":null}`)},
		{"item.started", "u", "i", "task", begin(`{"kind":"message","text":""}`)},
		{"item.progress", "u", "i", "task", `{"message":"half","item":null,"presentation":null}`},
		{"provider.error", "u", "", "", `{}`},
		{"item.completed", "u", "i", "task", end("completed", `{"kind":"message","text":"x"}`, true)},
	}))
	is.Equal(rows[0].ParentID, "")
	r := rows[1]
	is.Equal([]string{r.ID, r.ParentID, r.Label, r.Icon, r.Title, r.Detail, r.Tint}, []string{"i", "task", "L", "I", "T", "D", "info"})
	is.Equal([]int64{r.Seq, r.LastSeq, r.StartedAt.Unix(), r.SettledAt.Unix()}, []int64{2, 5, 2, 5})
	is.True(r.Suppress && r.Partial)
	is.Equal(rows[2].ID, "seq-4")
	is.Equal(rows[2].Type, "provider.error")
	t.Run("progress shows its message", func(t *testing.T) {
		rows := all(t, events([]step{
			{"item.started", "u", "i", "", begin(`{"kind":"message","text":""}`)},
			{"item.progress", "u", "i", "", `{"message":"half","item":null,"presentation":null}`},
		}))
		is.New(t).Equal(rows[0].Detail, "half")
	})
}

// TestLongText proves that a row stops growing and says so, in whole characters, and that its end is shown as it is.
func TestLongText(t *testing.T) {
	is := is.New(t)
	piece := strings.Repeat("ö", 50_001)
	steps := []step{{"item.started", "u", "i", "", begin(`{"kind":"command","output":null}`)}}
	for range 20 {
		steps = append(steps, step{"item.output", "u", "i", "", `{"mode":"append","text":"` + piece + `"}`})
	}
	var p struct{ Output string }
	row := all(t, events(steps))[0]
	is.NoErr(json.Unmarshal(row.Data, &p))
	is.True(row.Truncated)
	is.True(len(p.Output) <= fold.MaxText && len(p.Output) > fold.MaxText-4)
	is.True(utf8.ValidString(p.Output))
	whole := strings.Repeat("z", 2*fold.MaxText)
	row = all(t, events(append(steps, step{"item.completed", "u", "i", "", end("completed", `{"kind":"command","output":"`+whole+`"}`, false)})))[0]
	is.NoErr(json.Unmarshal(row.Data, &p))
	is.True(!row.Truncated)
	is.Equal(len(p.Output), len(whole))
}

// TestForgets proves that a fold is as large as what is open.
func TestForgets(t *testing.T) {
	is := is.New(t)
	f := fold.New()
	for i := range 10_000 {
		evs := events([]step{{"item.completed", "u", fmt.Sprint(i), "", end("completed", `{"kind":"message","text":"x"}`, false)}})
		evs[0].Seq = int64(i + 1)
		f.Apply(&evs[0])
		is.Equal(len(f.TakeDue()), 1)
	}
	is.Equal(len(f.Open()), 0)
	is.Equal(len(f.TakeDue()), 0)
	again := events([]step{{"item.started", "u", "9999", "", begin(`{"kind":"message","text":""}`)}, {"item.started", "u", "0", "", begin(`{"kind":"message","text":""}`)}})
	for i := range again {
		again[i].Seq += 20_000
		f.Apply(&again[i])
	}
	rows := f.TakeDue()
	is.Equal([]int64{rows[0].Seq, rows[1].Seq}, []int64{10_000, 20_002}) // one is remembered, the other was too long ago
}

func TestDecodeRefuses(t *testing.T) {
	for _, raw := range []string{"", "{", `{"status":"open"}`, `{"status":"completed","open":{"key":"x"}}`} {
		if _, err := fold.Decode([]byte(raw)); err == nil {
			t.Errorf("%q was taken", raw)
		}
	}
}

// FuzzFold proves that nothing makes a fold panic, that it is deterministic, and that a row is the same when it was stored
// and caught up in between.
func FuzzFold(f *testing.F) {
	types := []string{"item.started", "item.text", "item.output", "item.progress", "item.completed", "thread.todo", "thread.usage", "turn.started", "turn.completed",
		"input.sent", "thread.session", "provider.error", "interaction.opened", "interaction.resolved"}
	f.Add([]byte("\x00\x00\x00"+begin(`{"kind":"message","text":""}`)+"\n\x01\x00\x00"+`{"stream":"text","text":"a"}`+"\n\x04\x00\x00"+end("completed", `{"kind":"message"}`, true)), 1)
	f.Add([]byte("\x00\x00\x00"+begin(`{"kind":"command","output":null}`)+"\n\x02\x00\x00"+`{"mode":"replace","text":"\ud800"}`), 2)
	f.Add([]byte("\x0c\x00\x00"+`{"interactionId":"x","request":{}}`+"\n\x0d\x00\x00"+`{"interactionId":"x"}`), 1)
	f.Add([]byte("\x05\x01\x00{}\n\x08\x01\x00"+`{"status":"failed"}`), 0)
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		var evs []threadapi.Event
		for i, line := range strings.SplitN(string(raw), "\n", 50) {
			if len(line) < 4 || !json.Valid([]byte(line[3:])) {
				return
			}
			e := events([]step{{types[int(line[0])%len(types)], []string{"", "u"}[line[1]%2], []string{"", "i", "j"}[line[2]%3], "", line[3:]}})[0]
			e.Seq = int64(i + 1)
			evs = append(evs, e)
		}
		want := show(t, all(t, evs))
		if again := show(t, all(t, evs)); again != want {
			t.Fatalf("%s, and then %s", want, again)
		}
		if cut < 0 || cut > len(evs) {
			return
		}
		first, second := fold.New(), []*fold.Row(nil)
		for i := range evs[:cut] {
			first.Apply(&evs[i])
		}
		first.TakeDue()
		for _, r := range first.Open() {
			again, err := fold.Decode(r.Encode())
			if err != nil {
				t.Fatal(err)
			}
			second = append(second, again)
		}
		caught := fold.New(second...)
		for i := range evs { // also those that it shows already
			caught.CatchUp(&evs[i])
			if i >= cut {
				first.Apply(&evs[i])
			}
		}
		if n := len(caught.Open()); n > len(second) {
			t.Fatalf("%d rows are open, of %d", n, len(second))
		}
	})
}
