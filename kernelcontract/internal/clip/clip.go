// Package clip shortens text of foreign origin for messages, without splitting a character.
package clip

import (
	"strconv"
	"unicode/utf8"
)

// Bytes returns at most n bytes of s.
func Bytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n] // no character begins near: it is not UTF-8
}

// Text returns s when it has at most n bytes, else its beginning with an ellipsis.
func Text(s string, n int) string {
	if short := Bytes(s, n); len(short) < len(s) {
		return short + "…"
	}
	return s
}

// Quote is Text with quotes around what is shown of s.
func Quote(s string, n int) string {
	short := Bytes(s, n)
	if len(short) < len(s) {
		return strconv.Quote(short) + "…"
	}
	return strconv.Quote(s)
}
