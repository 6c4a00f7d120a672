package sse_test

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"

	"github.com/bb-kernel/bb/sdk/sse"
)

func frames() []byte {
	var b bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&b, "id: %d\nevent: item\ndata: {\"id\":\"%d\",\"text\":\"a note of the usual length, long enough to be real\"}\n\n", i, i)
	}
	return b.Bytes()
}

// BenchmarkRead compares the parser with reading the same stream line by line and doing nothing with it.
func BenchmarkRead(b *testing.B) {
	stream := frames()
	b.Run("events", func(b *testing.B) {
		b.SetBytes(int64(len(stream)))
		b.ReportAllocs()
		for b.Loop() {
			r := sse.NewReader(bytes.NewReader(stream), sse.Options{})
			n := 0
			for {
				if _, err := r.Next(); err != nil {
					break
				}
				n++
			}
			if n != 1000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("baseline lines", func(b *testing.B) {
		b.SetBytes(int64(len(stream)))
		b.ReportAllocs()
		for b.Loop() {
			s := bufio.NewScanner(bytes.NewReader(stream))
			n := 0
			for s.Scan() {
				n++
			}
			if n != 4000 {
				b.Fatal(n)
			}
		}
	})
}
