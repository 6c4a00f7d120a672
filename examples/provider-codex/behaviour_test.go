package codex_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

func TestJunkIsSkipped(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := playing(t, scene{Before: []string{"junk", "[1]", "{}", "", `{"method":"item/started","params":[]}`, `{"method":"turn/completed","params":{}}`, `{"jsonrpc":"2.0","method":"thread/name/updated","params":{"threadId":"th","threadName":"N"}}`}})
	is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
	is.Equal(find[*protocol.ThreadName](c, "t")[0].Name, "N") // also with the member that Codex leaves out
	for _, l := range c.logs {
		is.True(!strings.Contains(l.Message, "junk")) // it may hold anything
	}
	is.True(len(c.logs) >= 3)
}

func TestDeathEndsTheTurn(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := playing(t, scene{Stderr: "\x1b[31mpanic\x1b[0m with very-secret-value and sk-abcdefghijkl\n", Turns: [][]string{{item("started", `"type":"commandExecution","id":"c","command":"x"`), "!exit 3"}}})
	ref := c.open("t")
	is.Equal(c.say(ref, "go"), protocol.Failed)
	failure := find[*protocol.ProviderError](c, "t")[0]
	is.Equal(failure.Category, protocol.ErrorStreamDisconnected)
	is.True(strings.HasPrefix(failure.Message, "Codex exited with status 3: panic with [hidden] and [hidden]"))
	_, how := items[*protocol.Command](c, "t")
	is.Equal(how, []protocol.Status{protocol.Failed})
	is.Equal(c.say(ref, "go"), protocol.Completed) // a new one has loaded the thread
	c.clean()
}

func TestThreadThatCannotBeLoadedAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := playing(t, scene{Refuse: "thread/resume", Turns: [][]string{{"!exit 3"}}})
	ref := c.open("t")
	is.Equal(c.say(ref, "go"), protocol.Failed)
	for range 2 { // it stays so
		_, err := c.send(ref, "go")
		var failure *protocol.Error
		is.True(errors.As(err, &failure))
		is.Equal(failure.Recovery, protocol.RecoverResumeFresh)
	}
	c.clean()
}

func TestLongLineEndsTheServer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := playing(t, scene{Turns: [][]string{{"!long"}}})
	is.Equal(c.say(c.open("t"), "go"), protocol.Failed)
	is.True(strings.Contains(find[*protocol.ProviderError](c, "t")[0].Message, "a line of more than 32 MiB"))
}

func TestStubbornServerIsEnded(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := playing(t, scene{Stubborn: true, Turns: [][]string{{item("started", `"type":"commandExecution","id":"c","command":"x"`)}}})
	ref := c.open("t")
	turn, err := c.send(ref, "go")
	is.NoErr(err)
	c.await("the command", func() bool { return len(c.deltas["t"]) > 3 })
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	is.Equal(c.say(ref, "go"), protocol.Completed) // by a new one
}

func TestSilenceEnds(t *testing.T) {
	t.Run("initialize", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		c := playing(t, scene{Deaf: "initialize"})
		_, err := c.bridge.ThreadStart(c.ctx, c.params("t"))
		is.True(errors.Is(err, protocol.BridgeError))
		is.True(strings.Contains(err.Error(), "it said nothing for 10s"))
	})
	t.Run("turn-start", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		c := playing(t, scene{Deaf: "turn/start"})
		ref := c.open("t")
		sent := make(chan error, 1)
		go func() {
			_, err := c.send(ref, "go")
			sent <- err
		}()
		c.await("the turn", func() bool {
			return slices.ContainsFunc(c.deltas["t"], func(d protocol.Delta) bool { _, ok := d.(*protocol.ProviderWarning); return ok })
		})
		c.stop(ref, protocol.Interrupt)
		is.True(<-sent != nil)
	})
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		method string
		code   protocol.Code
		call   func(*core) error
	}{
		{"initialize", protocol.BridgeError, func(c *core) error { _, err := c.bridge.ThreadStart(c.ctx, c.params("t")); return err }},
		{"thread/start", protocol.BridgeError, func(c *core) error { _, err := c.bridge.ThreadStart(c.ctx, c.params("t")); return err }},
		{"thread/resume", protocol.SessionNotRestorable, func(c *core) error {
			_, err := c.bridge.ThreadResume(c.ctx, protocol.ResumeParams{SessionParams: c.params("t"), ProviderThreadID: "th"})
			return err
		}},
		{"thread/fork", protocol.BridgeError, func(c *core) error {
			_, err := c.bridge.ThreadFork(c.ctx, protocol.ForkParams{SessionParams: c.params("t"), SourceProviderThreadID: "th"})
			return err
		}},
		{"turn/start", protocol.BridgeError, func(c *core) error { _, err := c.send(c.open("t"), "go"); return err }},
		{"thread/name/set", protocol.BridgeError, func(c *core) error {
			return c.bridge.ThreadNameSet(c.ctx, protocol.ThreadNameParams{ThreadRef: c.open("t"), Title: "x"})
		}},
		{"thread/archive", protocol.BridgeError, func(c *core) error { return c.bridge.ThreadArchive(c.ctx, c.open("t")) }},
	} {
		t.Run(strings.ReplaceAll(test.method, "/", "-"), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			c := playing(t, scene{Refuse: test.method})
			err := test.call(c)
			is.True(errors.Is(err, test.code))
			is.True(!strings.Contains(err.Error(), "sk-abc")) // keys do not get into errors
		})
	}
	t.Run("compact-with-input", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		c := playing(t, scene{})
		ref := c.open("t")
		err := c.bridge.TurnStart(c.ctx, protocol.TurnStartParams{ThreadID: "t", ProviderThreadID: ref.ProviderThreadID, ClientRequestID: "x", Options: c.options, Input: text("x"), Actions: []protocol.Action{protocol.ActionCompact}})
		is.True(strings.Contains(err.Error(), "takes no input"))
	})
	t.Run("bridge-options", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		c := playing(t, scene{})
		for option, value := range map[string]string{"command": `"x"`, "codexHome": `1`, "env": `{"BB_X":"1"}`, "config": `[]`} {
			c.bridgeO = protocol.JSONObject{option: []byte(value)}
			_, err := c.bridge.ThreadStart(c.ctx, c.params("t"))
			is.True(strings.Contains(err.Error(), "bridgeOptions."+option))
		}
	})
}
