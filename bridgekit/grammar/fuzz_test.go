package grammar_test

import (
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// deltaOf turns a byte into one of the deltas that the rules look at; two more bytes choose key and scope.
func deltaOf(kind, a, b byte) string {
	s := []string{scope, scope, thread, keyed("x"), keyed("y")}[b%5]
	id := []string{"a", "b", "c"}[a%3]
	item := []string{msg, cmd, note, reasoning, `{"kind":"acme/other","payload":1}`}[a/3%5]
	k := []string{"", "x", "y"}[a%3]
	switch kind % 12 {
	case 0:
		return turnOpen(k)
	case 1:
		return boundary(k)
	case 2, 3:
		return opens(s, id, item)
	case 4:
		return closes(s, id, item)
	case 5:
		return text(s, id, []string{"text", "summary"}[a/3%2])
	case 6:
		return output(s, id)
	case 7:
		return progress(s, id, []string{item, "null"}[a/64%2])
	case 8:
		return fails(s)
	case 9:
		return state([]string{"acme/mode", "acme/other"}[a%2], []string{`{"text":""}`, `{}`}[a/2%2])
	case 10:
		return []string{reset, ended}[a%2]
	}
	return without(opens(s, id, item), []string{presentation, s + ",", `"kind"`, key(id)}[a/3%4])
}

// FuzzGrammar holds an author's lists, cut at random, against core's judgement of one delta after the other.
func FuzzGrammar(f *testing.F) {
	f.Add([]byte("abc"), uint64(0))
	for i := range 30 {
		var b []byte
		for j := range 300 {
			b = append(b, byte(i*37+j*j*11+j*i*5+j>>2))
		}
		f.Add(b, uint64(i)*0x9e3779b97f4a7c15)
	}
	declared := kinds(f)
	f.Fuzz(func(t *testing.T, data []byte, cuts uint64) {
		live, author := grammar.New(declared), grammar.New(declared)
		var list protocol.Deltas
		send := func() { // the list holds only what core let pass
			if v := author.CheckAll(list); v != nil {
				t.Fatalf("core let pass what an author may not send: %v", v)
			}
			list = nil
		}
		for i := 0; i+3 <= len(data); i += 3 {
			d := decoded(deltaOf(data[i], data[i+1], data[i+2]))
			v := live.Check(d)
			again := live.Check(d)
			if v != nil {
				if again == nil || again.Rule != v.Rule || v.Detail == "" || !strings.Contains(v.Error(), string(v.Rule)) {
					t.Fatalf("%v, then %v", v, again)
				}
				if d.Err == nil {
					got := author.CheckAll(append(list, d.Delta))
					if got == nil || got.Rule != v.Rule || got.Index != len(list) {
						t.Fatalf("core says %v, the author's side %v", v, got)
					}
				}
				continue
			}
			list = append(list, d.Delta)
			if again == nil {
				list = append(list, d.Delta)
			}
			if cuts>>(uint(i)%64)&1 == 1 {
				send()
			}
		}
		send()
	})
}

// FuzzRaw feeds any bytes as a delta.
func FuzzRaw(f *testing.F) {
	for i := range 60 {
		f.Add([]byte(deltaOf(byte(i), byte(i*7), byte(i*3))))
	}
	f.Add([]byte(`{"kind":"item.open","key":{"providerItemId":"a","channel":{}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := decoded(string(raw))
		if v := grammar.New(nil).Check(d); d.Err != nil && v == nil {
			t.Fatal("a delta that could not be read passed")
		}
	})
}
