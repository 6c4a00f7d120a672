// Package itemkey makes the table keys under which grammar and assembler remember items and turns. A bridge chooses its
// keys, and nothing limits their length but the line: what is remembered of one is bounded here.
package itemkey

import (
	"crypto/sha256"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// maxKept is the longest key that is remembered as it is; real ones are a few dozen bytes. Of a longer one the digest is
// kept, so that a table of thousands of keys stays small.
const maxKept = 256

// Append appends the table key of k to dst.
func Append(dst []byte, k protocol.ItemKey) []byte {
	start := len(dst)
	dst = append(dst, k.ProviderItemID...)
	dst = append(dst, protocol.ItemKeySeparator...)
	dst = append(dst, k.Channel...)
	dst = append(dst, protocol.ItemKeySeparator...)
	dst = append(dst, k.ParentRef...)
	if len(dst)-start > maxKept {
		sum := sha256.Sum256(dst[start:])
		dst = append(dst[:start], sum[:]...)
	}
	return dst
}

// Kept returns the table key of s: a turn key, a provider's item id or a key string. Kept of a key's String is what
// Append makes of the key.
func Kept(s string) string {
	if len(s) <= maxKept {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return string(sum[:])
}
