package grammar_test

import (
	"fmt"

	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// An author's side refuses a list in which text comes before its item.
func Example() {
	c := grammar.New(nil)
	key := protocol.ItemKey{ProviderItemID: "m1"}
	violation := c.CheckAll(protocol.Deltas{
		&protocol.TurnOpen{},
		&protocol.ItemText{Key: key, Stream: protocol.Text, Text: "Hello"},
	})
	fmt.Println(violation.Rule)
	fmt.Println(violation)
	// Output:
	// item/opens-before-delta
	// deltas[1]: item.text: item/opens-before-delta: the item of providerItemId "m1" was never opened in this turn: send item.open first
}
