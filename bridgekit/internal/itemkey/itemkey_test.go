package itemkey_test

import (
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/internal/itemkey"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

func TestKeys(t *testing.T) {
	is := is.New(t)
	long := strings.Repeat("x", 1<<20)
	for _, k := range []protocol.ItemKey{
		{ProviderItemID: "a"}, {Channel: "a"}, {ParentRef: "a"}, {ProviderItemID: "a", Channel: "b", ParentRef: "c"},
		{ProviderItemID: long}, {Channel: long}, {ParentRef: long},
	} {
		got := string(itemkey.Append([]byte("prefix"), k))
		is.True(strings.HasPrefix(got, "prefix"))
		is.Equal(got[len("prefix"):], itemkey.Kept(k.String())) // both ways to the key agree
		is.True(len(got) < 300)                                 // what is kept is bounded
	}
	is.True(itemkey.Kept(long) != itemkey.Kept(long+"x"))
}
