package httpapi

import (
	"testing"
	"time"

	"github.com/matryer/is"
)

// TestFlushIsDue proves how long items may wait for further ones: a producer that is never quite idle shows it in no
// other way.
func TestFlushIsDue(t *testing.T) {
	is := is.New(t)
	now := time.Now()
	is.True(!(&eventWriter{buf: make([]byte, FlushBytes-1), oldest: now}).due(now.Add(FlushDelay - 1)))
	is.True((&eventWriter{buf: make([]byte, FlushBytes), oldest: now}).due(now))
	is.True((&eventWriter{buf: make([]byte, 1), oldest: now}).due(now.Add(FlushDelay)))
	is.Equal(FlushBytes, 32<<10)
	is.Equal(FlushDelay, 5*time.Millisecond)
}
