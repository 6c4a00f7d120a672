package replay_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/bb-kernel/bb/bridgekit/replay"
	"github.com/matryer/is"
)

// line is a line of a recording: from core (>) or from the bridge (<), or the end of a run (-).
type line string

const (
	start = `{"jsonrpc":"2.0","id":"1","method":"thread/start","params":{"threadId":"t","providerId":"echo"}}`
	turn  = `{"jsonrpc":"2.0","id":"2","method":"turn/start","params":{"threadId":"t","clientRequestId":"r1"}}`
	steer = `{"jsonrpc":"2.0","id":"3","method":"turn/steer","params":{"threadId":"t","clientRequestId":"r2","turnId":"k"}}`
)

func deltas(ds ...string) line {
	return line(`<{"jsonrpc":"2.0","method":"thread/delta","params":{"threadId":"t","deltas":[` + strings.Join(ds, ",") + `]}}`)
}

func accepted(id string) string { return `{"kind":"input.accepted","clientRequestId":"` + id + `"}` }

const (
	open     = `{"kind":"turn.open","turnKey":"k","parentRef":null}`
	boundary = `{"kind":"turn.boundary","turnKey":"k","status":"completed","error":null,"checkpointId":null}`
	item     = `{"kind":"item.open","scope":"turn","turnKey":"k","key":{"providerItemId":"m","channel":null,"parentRef":null},"item":{"kind":"message","text":""},"presentation":{"label":"Writing","icon":"message"}}`
)

func recorded(t *testing.T, all ...line) *record.Recording {
	t.Helper()
	is := is.New(t)
	dir := t.TempDir()
	clock := time.Unix(1_000_000, 0)
	open := func() (*record.Recorder, *record.Connection) {
		r, err := record.New(record.Options{Dir: dir, Now: func() time.Time { clock = clock.Add(time.Second); return clock }})
		is.NoErr(err)
		return r, r.Connect(record.BridgeToCore, record.CoreToBridge, "echo")
	}
	r, c := open()
	for _, l := range all {
		if l == "-" {
			is.NoErr(r.Close())
			r, c = open()
			continue
		}
		c.Tee(l[0] == '<', []byte(l[1:]))
	}
	is.NoErr(r.Close())
	got, err := record.Read(dir, "echo", "t")
	is.NoErr(err)
	return got
}

func types(events []assembler.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, string(e.Type))
	}
	return strings.Join(all, " ")
}

func TestThread(t *testing.T) {
	const whole = "turn.started turn.input_accepted item.started item.completed turn.completed"
	for name, test := range map[string]struct {
		lines      []line
		options    replay.Options
		events     string
		rows       int
		violations int
	}{
		"a turn": {
			lines:  []line{">" + start, ">" + turn, deltas(accepted("r1"), open, item, boundary)},
			events: whole, rows: 1,
		},
		"deltas that break a rule are dropped and told": {
			lines:  []line{">" + start, ">" + turn, deltas(accepted("r1"), open, `{"kind":"nonsense"}`, item, boundary)},
			events: whole, rows: 1, violations: 1,
		},
		"junk is passed over": {
			lines:  []line{">" + start, "<junk", ">[]", ">" + turn, deltas(accepted("r1"), open, item, boundary)},
			events: whole, rows: 1,
		},
		"a run that ends in the middle settles": {
			lines:  []line{">" + start, ">" + turn, deltas(accepted("r1"), open, item)},
			events: whole, rows: 1,
		},
		"two runs": {
			lines: []line{">" + start, ">" + turn, deltas(accepted("r1"), open, item, boundary), "-",
				">" + start, ">" + turn, deltas(accepted("r1"), open, item, boundary)},
			events: whole + " " + whole, rows: 2,
		},
		"a turn that was refused": {
			lines:  []line{">" + start, ">" + turn, `<{"jsonrpc":"2.0","id":"2","error":{"code":-32000,"message":"no"}}`},
			events: "turn.completed",
		},
		"a native steer": {
			lines:  []line{">" + start, ">" + turn, deltas(accepted("r1"), open), ">" + steer, deltas(accepted("r2"), boundary)},
			events: "turn.started turn.input_accepted turn.input_accepted turn.completed",
		},
		"a queued steer": {
			lines: []line{">" + start, ">" + turn, deltas(accepted("r1"), open), ">" + steer, deltas(boundary, accepted("r2"),
				strings.ReplaceAll(open, `"k"`, `"k2"`), strings.ReplaceAll(boundary, `"k"`, `"k2"`))},
			options: replay.Options{Steer: protocol.SteerQueue},
			events:  "turn.started turn.input_accepted turn.completed turn.started turn.input_accepted turn.completed",
		},
		"a steer that was refused": {
			lines: []line{">" + start, ">" + turn, deltas(accepted("r1"), open), ">" + steer,
				`<{"jsonrpc":"2.0","id":"3","error":{"code":-32001,"message":"no"}}`, deltas(boundary)},
			events: "turn.started turn.input_accepted turn.input_failed turn.completed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			recording := recorded(t, test.lines...)
			r, err := replay.Thread(recording, test.options)
			is.NoErr(err)
			is.Equal(types(r.Events), test.events)
			is.Equal(r.Rows(), test.rows)
			is.Equal(len(r.Violations), test.violations)
			total := 0
			for _, n := range r.Counts() {
				total += n
			}
			is.Equal(total, len(r.Events))

			again, err := replay.Thread(recording, test.options)
			is.NoErr(err)
			first, err := json.Marshal(r.Events)
			is.NoErr(err)
			second, err := json.Marshal(again.Events)
			is.NoErr(err)
			is.Equal(string(second), string(first)) // the same every time
		})
	}
}

func TestViolationsNameTheirEntry(t *testing.T) {
	is := is.New(t)
	r, err := replay.Thread(recorded(t, ">"+start, deltas(accepted("r1"), `{"kind":"nonsense"}`)), replay.Options{})
	is.NoErr(err)
	is.Equal(r.Violations[0].Seq, uint64(2))
	is.Equal(r.Violations[0].Index, 1)
	is.Equal(r.Violations[0].Rule, grammar.SchemaValid)
}

func TestWrongMessagesAreErrors(t *testing.T) {
	is := is.New(t)
	_, err := replay.Thread(recorded(t, ">"+start, `<{"jsonrpc":"2.0","method":"thread/delta","params":{"threadId":"t","deltas":7}}`), replay.Options{})
	is.True(err != nil && strings.Contains(err.Error(), "entry 2"))
}

// Example shows what a recorded turn comes to.
func Example() {
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	r, err := record.New(record.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := r.Connect(record.BridgeToCore, record.CoreToBridge, "echo")
	c.Tee(false, []byte(start))
	c.Tee(false, []byte(turn))
	c.Tee(true, []byte(deltas(accepted("r1"), open, item, boundary)[1:]))
	r.Close()

	recording, err := record.Read(dir, "echo", "t")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := replay.Thread(recording, replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range result.Events {
		fmt.Println(e.Scope.TurnID, e.Type)
	}
	// Output:
	// turn-1 turn.started
	// turn-1 turn.input_accepted
	// turn-1 item.started
	// turn-1 item.completed
	// turn-1 turn.completed
}
