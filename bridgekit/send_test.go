package bridgekit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// withThread starts a thread, runs fn with it and returns the other side.
func withThread(t *testing.T, fn func(*bridgekit.Thread)) *core {
	t.Helper()
	threads := make(chan *bridgekit.Thread, 1)
	c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
		start := b.ThreadStart
		b.ThreadStart = func(ctx context.Context, th *bridgekit.Thread, p protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
			threads <- th
			return start(ctx, th, p)
		}
	}))
	c.begin("t1")
	fn(<-threads)
	return c
}

func open(key string) *protocol.ItemOpen {
	return &protocol.ItemOpen{Key: protocol.ItemKey{ProviderItemID: key}, Item: &protocol.Message{}, Presentation: protocol.Presentation{Label: "Writing", Icon: "pen"}}
}

func text(key, s string) *protocol.ItemText {
	return &protocol.ItemText{Key: protocol.ItemKey{ProviderItemID: key}, Stream: protocol.Text, Text: s}
}

// deltas returns the deltas of all lines, and how many lines there were.
func (c *core) deltas() (ds protocol.Deltas, lines int) {
	c.t.Helper()
	for _, m := range c.lines() {
		if m.Method != protocol.MethodThreadDelta {
			continue
		}
		var p protocol.DeltaParams
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.t.Fatal(err)
		}
		lines++
		ds = append(ds, p.Deltas...)
	}
	return ds, lines
}

// TestSend proves what reaches core.
func TestSend(t *testing.T) {
	t.Run("a-turn-that-core-may-steer-has-a-key", func(t *testing.T) {
		is := is.New(t)
		var err, with error
		c := withThread(t, func(t *bridgekit.Thread) {
			err = t.Send(&protocol.InputAccepted{ClientRequestID: "a"}, &protocol.TurnOpen{})
			with = t.Send(&protocol.TurnOpen{TurnKey: protocol.Ptr("k0")})
		})
		is.True(strings.Contains(err.Error(), "deltas[1]: turn.open: it has no turnKey, and provider test declares steer native"))
		is.NoErr(with)
		ds, _ := c.deltas()
		is.Equal(len(ds), 1) // nothing of what was refused
	})
	t.Run("all-or-none", func(t *testing.T) {
		is := is.New(t)
		c := withThread(t, func(th *bridgekit.Thread) {
			is.NoErr(th.Send())
			is.NoErr(th.Send(&protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}, open("m1")))
			err := th.Send(text("m1", "a"), text("m1", "b"), text("never", "c"))
			var v *grammar.Violation
			is.True(errors.As(err, &v))
			is.Equal(v.Index, 2)
			is.Equal(v.Kind, protocol.KindItemText)
			is.Equal(v.Rule, grammar.OpensBeforeDelta)
			is.True(strings.HasPrefix(err.Error(), "deltas[2]: item.text: item/opens-before-delta: "))
			is.NoErr(th.Send(text("m1", "d")))
		})
		c.must(protocol.MethodThreadDiscard, ref("t1"))
		ds, lines := c.deltas()
		is.Equal(lines, 2)
		is.Equal(ds[2], text("m1", "d"))
	})
	t.Run("errors-name-kind-and-rule", func(t *testing.T) {
		is := is.New(t)
		withThread(t, func(th *bridgekit.Thread) {
			is.NoErr(th.Send(&protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}, open("m1")))
			var none *protocol.TurnOpen
			for want, d := range map[string]protocol.Delta{
				"deltas[0]: item.text: events/schema-valid: ":                 text("m1", strings.Repeat("x", protocol.MaxDeltaText+1)),
				"deltas[0]: turn.diff: events/schema-valid: ":                 &protocol.TurnDiff{Diff: strings.Repeat("x", protocol.MaxDiff+1)},
				"deltas[0]: provider.unhandled: events/schema-valid: ":        &protocol.ProviderUnhandled{RawType: "x", Raw: json.RawMessage(`"` + strings.Repeat("x", protocol.MaxRaw) + `"`)},
				"deltas[0]: item.open: item/presentation-present: ":           &protocol.ItemOpen{Key: protocol.ItemKey{ProviderItemID: "m2"}, Item: &protocol.Message{}},
				"deltas[0]: extension.state: item/extension-kind-declared: ":  &protocol.ExtensionState{Name: "a/b", Payload: json.RawMessage(`1`)},
				"deltas[0]: item.text: turn/vouched-keys-only: ":              &protocol.ItemText{Scope: protocol.Scope{Turn: "k"}, Key: protocol.ItemKey{ProviderItemID: "m1"}, Stream: protocol.Text},
				"deltas[0]: turn.open: events/schema-valid: ":                 none,
				"bridgekit: deltas[0]: turn.diff: it has 25165869 bytes as J": &protocol.TurnDiff{Diff: strings.Repeat("\x01", protocol.MaxDiff)},
			} {
				err := th.Send(d)
				if err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("want %s, got %.120v", want, err)
				}
			}
			is.True(th.Send(nil) != nil)
		})
	})
	t.Run("long-lists-are-split", func(t *testing.T) {
		is := is.New(t)
		big := strings.Repeat("<", protocol.MaxDeltaText) // stays one byte a character
		sent := protocol.Deltas{&protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}, open("m1")}
		for range 20 {
			sent = append(sent, text("m1", big))
		}
		sent = append(sent, text("m1", "end"))
		c := withThread(t, func(th *bridgekit.Thread) { is.NoErr(th.Send(sent...)) })
		c.must(protocol.MethodThreadDiscard, ref("t1"))
		ds, lines := c.deltas()
		is.Equal(lines, 3) // seven texts fit one line
		is.Equal(len(ds), len(sent))
		is.Equal(ds[len(ds)-1], text("m1", "end"))
		for _, m := range c.lines() {
			is.True(len(m.line) <= bridgekit.MaxLine)
		}
	})
	t.Run("deltas-wait-for-the-identity", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ThreadStart = func(ctx context.Context, th *bridgekit.Thread, p protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
				is.NoErr(th.Send(&protocol.ThreadName{Name: "a"}))
				is.True(th.Send(text("m", "x")) != nil)
				is.NoErr(th.Send(&protocol.ThreadName{Name: "b"}))
				_, err := th.CallTool(ctx, protocol.ToolCall{RequestKey: "k", Tool: "x"})
				is.True(err != nil && strings.Contains(err.Error(), "no identity"))
				return &agent{th}, protocol.SessionIdentity{ProviderThreadID: "p", SessionRestorable: true}, nil
			}
		}))
		c.begin("t1")
		var got []string
		for _, m := range c.lines()[1:] {
			got = append(got, m.Method+string(m.Params)+string(m.Result))
		}
		is.Equal(got, []string{
			`thread/identity{"threadId":"t1","providerThreadId":"p","sessionRestorable":true}`,
			`thread/delta{"threadId":"t1","deltas":[{"kind":"thread.name","name":"a"}]}`,
			`thread/delta{"threadId":"t1","deltas":[{"kind":"thread.name","name":"b"}]}`,
			`{"providerThreadId":"p","sessionRestorable":true}`,
		})
	})
	t.Run("held-deltas-are-bounded", func(t *testing.T) {
		is := is.New(t)
		c := run(t, bridge(func(b *bridgekit.Bridge[*agent]) {
			b.ThreadStart = func(ctx context.Context, th *bridgekit.Thread, p protocol.SessionParams) (*agent, protocol.SessionIdentity, error) {
				var err error
				for range 10 {
					err = errors.Join(err, th.Send(&protocol.ThreadName{Name: strings.Repeat("x", 1<<20)}))
				}
				return &agent{th}, protocol.SessionIdentity{ProviderThreadID: "p"}, err
			}
		}))
		c.initialize()
		m := c.call(protocol.MethodThreadStart, sessionParams("t1"))
		is.True(m.Error != nil && strings.Contains(m.Error.Message, "return from ThreadStart first"))
		is.Equal(len(c.lines()), 2) // a start that failed says nothing
	})
	t.Run("goroutines-do-not-mix", func(t *testing.T) {
		is := is.New(t)
		c := withThread(t, func(th *bridgekit.Thread) {
			is.NoErr(th.Send(&protocol.TurnOpen{TurnKey: protocol.Ptr("k0")}))
			done := make(chan error)
			for g := range 4 {
				go func() {
					var err error
					for i := range 50 {
						key := fmt.Sprint(g, ".", i)
						err = errors.Join(err, th.Send(open(key), text(key, "1"), text(key, "2")))
					}
					done <- err
				}()
			}
			for range 4 {
				is.NoErr(<-done)
			}
		})
		c.must(protocol.MethodThreadDiscard, ref("t1"))
		ds, _ := c.deltas()
		is.Equal(len(ds), 601)
		for i := 1; i < len(ds); i += 3 {
			is.Equal(ds[i].(*protocol.ItemOpen).Key, ds[i+2].(*protocol.ItemText).Key)
		}
	})
	t.Run("replaced-and-recover", func(t *testing.T) {
		is := is.New(t)
		c := withThread(t, func(th *bridgekit.Thread) {
			is.NoErr(th.Replaced("p2", "compacted", true))
			is.NoErr(th.Recover(protocol.RecoverReauthenticate, "logged out"))
			is.True(th.Recover("pray", "") != nil)
			is.True(th.Replaced("", "", false) != nil)
			go th.CallTool(t.Context(), protocol.ToolCall{RequestKey: "k", Tool: "x", Arguments: json.RawMessage(`{}`)})
		})
		is.Equal(string(c.method(protocol.MethodSessionReplaced).Params), `{"threadId":"t1","providerThreadId":"p2","reason":"compacted","contextLost":true}`)
		is.Equal(string(c.method(protocol.MethodProviderRecovery).Params), `{"threadId":"t1","hint":"reauthenticate","message":"logged out"}`)
		is.True(strings.Contains(string(c.method(protocol.MethodToolCall).Params), `"providerThreadId":"p2"`))
	})
}
