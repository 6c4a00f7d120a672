package acp_test

import (
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
	"github.com/bb-kernel/bb/pluginsdk/plugintest/agents"
	"github.com/matryer/is"
)

// TestExampleAgent plays the scene of the example agent, whose turns all use the same ids of calls.
func TestExampleAgent(t *testing.T) {
	is := is.New(t)
	c := start(t, acp.Options{Command: agents.ACPExample(t), NoResume: true}, t.TempDir())
	ref := c.open("t")
	is.Equal(c.say(ref, "go"), protocol.Completed)
	tools, how := items[*protocol.Tool](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed})
	is.Equal(tools[0].Tool, "Reading project files")
	is.Equal(string(tools[0].Arguments), `{"path":"/project/README.md"}`)
	is.Equal(*tools[0].Result, "# My Project\n\nThis is a sample project...")
	changes, how := items[*protocol.FileChange](c, "t")
	is.Equal(how, []protocol.Status{protocol.Completed})
	is.Equal(changes[0].Changes[0].Path, "/home/user/project/config.json")
	is.Equal(c.questions[0].(*protocol.Approval).Decisions, []protocol.DecisionKind{protocol.AllowOnce, protocol.Deny})
	is.Equal(len(strings.Split(c.said("t"), "|")), 3)

	c.answer = decide(protocol.Deny)
	is.Equal(c.say(ref, "again"), protocol.Completed)
	tools, how = items[*protocol.Tool](c, "t")
	is.Equal(len(tools), 2) // call_1 of the second turn is an item of its own
	is.Equal(how[1], protocol.Completed)
	changes, how = items[*protocol.FileChange](c, "t")
	is.Equal(how[1], protocol.Failed)
	is.Equal(changes[1].Approval, protocol.ApprovalDenied)
	is.True(strings.Contains(c.said("t"), "skip"))

	turn, err := c.send(ref, "and again")
	is.NoErr(err)
	c.stop(ref, protocol.Interrupt)
	is.Equal(c.settled(ref, turn), protocol.Interrupted)
	c.clean()
}
