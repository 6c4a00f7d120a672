package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestGivenUpCallsAreForgotten looks inside, since a table that only grows shows nowhere else.
func TestGivenUpCallsAreForgotten(t *testing.T) {
	is := is.New(t)
	fromPeer, toTest := io.Pipe()
	fromTest, toPeer := io.Pipe()
	seen := make(chan struct{})
	p := NewPeer(fromTest, toTest, Options{Notify: func(context.Context, Notification) { seen <- struct{}{} }})
	ran := make(chan error, 1)
	go func() { ran <- p.Run(context.Background()) }()
	lines := bufio.NewReader(fromPeer)
	for range keepLate + 10 {
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error, 1)
		go func() {
			_, err := p.Call(ctx, "m", nil)
			failed <- err
		}()
		_, err := lines.ReadString('\n')
		is.NoErr(err)
		cancel()
		is.True(errors.Is(<-failed, context.Canceled))
	}
	for range 2 { // the second shows that everything before the first line was done
		_, err := io.Copy(toPeer, strings.NewReader(`{"jsonrpc":"2.0","method":"n"}`+"\n"))
		is.NoErr(err)
		<-seen
	}
	p.mu.Lock()
	is.Equal(len(p.calls), 0)
	is.Equal(len(p.expired), 0)
	is.Equal(len(p.late), keepLate)
	p.mu.Unlock()
	is.Equal(reflect.ValueOf(p.conn).Elem().FieldByName("pending").Len(), 0) // that of the library
	p.Close()
	is.NoErr(<-ran)
}

func TestALongLinesBufferIsGivenBack(t *testing.T) {
	is := is.New(t)
	lines := NewLineReader(io.MultiReader(strings.NewReader(strings.Repeat("x", 4*keepBuffer)+"\n"), strings.NewReader("a\n")), 0)
	line, err := lines.Next()
	is.NoErr(err)
	is.Equal(len(line), 4*keepBuffer)
	_, err = lines.Next()
	is.NoErr(err)
	is.Equal(len(lines.buf), firstBuffer)
}
