package grammar_test

import (
	"testing"

	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The baseline is the validation of the same values, which CheckAll does first.
func BenchmarkCheckAll(b *testing.B) {
	list := protocol.Deltas{decoded(opens(scope, "a", msg)).Delta, decoded(text(scope, "a", "text")).Delta, decoded(closes(scope, "a", msg)).Delta}
	b.Run("validate", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			for _, d := range list {
				protocol.Validate(d)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		c := grammar.New(nil)
		b.ReportAllocs()
		for range b.N {
			if v := c.CheckAll(list); v != nil {
				b.Fatal(v)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	c := grammar.New(nil)
	c.Check(decoded(opens(scope, "a", msg)))
	d := decoded(text(scope, "a", "text"))
	b.ReportAllocs()
	for range b.N {
		if v := c.Check(d); v != nil {
			b.Fatal(v)
		}
	}
}
