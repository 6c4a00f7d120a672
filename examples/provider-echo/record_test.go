package echo_test

import (
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/bb-kernel/bb/bridgekit/replay"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/matryer/is"
)

// TestReplayOfARecordingIsWhatHappened records a conversation and compares its replay with what core saw.
func TestReplayOfARecordingIsWhatHappened(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	c := start(t, echo.Full, t.TempDir(), record.Variable+"="+dir, "ECHO_API_KEY=not-for-your-eyes")
	ref := c.open("t")
	for _, prompt := range []string{"say not-for-your-eyes", "items", "early", "ask all", "approve command", `tool {"a":1}`, "error overloaded", "nothing"} {
		c.say(ref, prompt)
	}
	is.NoErr(c.bridge.Stop(c.ctx))

	recording, err := record.Read(dir, "echo", "t")
	is.NoErr(err)
	d, err := echo.Declaration(echo.Full)
	is.NoErr(err)
	kinds, err := extension.New(d)
	is.NoErr(err)
	result, err := replay.Thread(recording, replay.Options{Kinds: kinds, Steer: protocol.SteerNative})
	is.NoErr(err)
	is.Equal(len(result.Violations), 0)
	for _, e := range recording.Entries {
		is.True(!strings.Contains(e.Line, "not-for-your-eyes")) // secrets stay out of recordings
	}

	live := replay.Result{Events: c.events["t"]}
	is.Equal(result.Counts(), live.Counts())
	is.Equal(result.Rows(), live.Rows())
	for i, e := range result.Events {
		is.Equal(e.Type, live.Events[i].Type)
	}
}
