package codex_test

import (
	"encoding/json"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

// TestQuestions holds what each request of the app-server is asked as, and what each answer becomes.
func TestQuestions(t *testing.T) {
	command := item("started", `"type":"commandExecution","id":"c","command":"make","cwd":"/w","status":"inProgress"`)
	session := []protocol.DecisionKind{protocol.AllowOnce, protocol.AllowForSession, protocol.Deny}
	once := []protocol.DecisionKind{protocol.AllowOnce, protocol.Deny}
	key := protocol.ItemKey{ProviderItemID: "c"}
	files := `"itemId":"c","reason":"why","permissions":{"network":null,"fileSystem":{"read":["/r"],"write":["/w"]}}`
	granted := &protocol.GrantProfile{FileSystem: &protocol.FileSystemGrant{Read: []string{"/r"}, Write: []string{}}}
	for _, test := range []struct {
		name     string
		method   string
		fields   string
		subject  protocol.Subject // nil: it is not asked
		offered  []protocol.DecisionKind
		decision protocol.Decision
		answer   string
	}{
		{"command-once", "item/commandExecution/requestApproval", `"itemId":"c","availableDecisions":["accept","cancel"]`, &protocol.CommandSubject{ItemKey: key, Command: "make", Cwd: protocol.Ptr("/w"), Actions: protocol.CommandActions{}}, once, protocol.Decision{Kind: protocol.AllowOnce}, `{"decision":"accept"}`},
		{"command-session", "item/commandExecution/requestApproval", `"itemId":"c","availableDecisions":["accept","acceptForSession",{"acceptWithExecpolicyAmendment":{}}]`, &protocol.CommandSubject{ItemKey: key, Command: "make", Cwd: protocol.Ptr("/w"), Actions: protocol.CommandActions{}}, session, protocol.Decision{Kind: protocol.AllowForSession}, `{"decision":"acceptForSession"}`},
		{"command-denied", "item/commandExecution/requestApproval", `"itemId":"c","command":"make x"`, &protocol.CommandSubject{ItemKey: key, Command: "make x", Cwd: protocol.Ptr("/w"), Actions: protocol.CommandActions{}}, once, protocol.Decision{Kind: protocol.Deny}, `{"decision":"decline"}`},
		{"network", "item/commandExecution/requestApproval", `"itemId":"c","networkApprovalContext":{"host":"example.org","protocol":"https"}`, &protocol.PermissionSubject{ItemKey: key, ToolName: protocol.Ptr("network"), Permissions: protocol.GrantProfile{Network: &protocol.NetworkGrant{Enabled: protocol.Ptr(true)}}}, once, protocol.Decision{Kind: protocol.AllowOnce}, `{"decision":"accept"}`},
		{"file-session", "item/fileChange/requestApproval", `"itemId":"c","grantRoot":"/w"`, &protocol.FileChangeSubject{ItemKey: key, WriteScope: protocol.Ptr("/w")}, session, protocol.Decision{Kind: protocol.AllowForSession}, `{"decision":"acceptForSession"}`},
		{"permission-turn", "item/permissions/requestApproval", files, &protocol.PermissionSubject{ItemKey: key, Permissions: protocol.GrantProfile{FileSystem: &protocol.FileSystemGrant{Read: []string{"/r"}, Write: []string{"/w"}}}}, session, protocol.Decision{Kind: protocol.AllowOnce}, `{"permissions":{"fileSystem":{"read":["/r"],"write":["/w"]}},"scope":"turn"}`},
		{"permission-narrowed", "item/permissions/requestApproval", files, &protocol.PermissionSubject{ItemKey: key, Permissions: protocol.GrantProfile{FileSystem: &protocol.FileSystemGrant{Read: []string{"/r"}, Write: []string{"/w"}}}}, session, protocol.Decision{Kind: protocol.AllowForSession, Granted: granted}, `{"permissions":{"fileSystem":{"read":["/r"],"write":[]}},"scope":"session"}`},
		{"permission-denied", "item/permissions/requestApproval", files, &protocol.PermissionSubject{ItemKey: key, Permissions: protocol.GrantProfile{FileSystem: &protocol.FileSystemGrant{Read: []string{"/r"}, Write: []string{"/w"}}}}, session, protocol.Decision{Kind: protocol.Deny}, `{"permissions":{},"scope":"turn"}`},
		{"elicitation-yes", "mcpServer/elicitation/request", `"serverName":"s","mode":"form","message":"Allow?","requestedSchema":{"type":"object","properties":{}}`, &protocol.PermissionSubject{ItemKey: protocol.ItemKey{ProviderItemID: "elicitation-1"}, ToolName: protocol.Ptr("s")}, once, protocol.Decision{Kind: protocol.AllowOnce}, `{"action":"accept","content":{},"_meta":null}`},
		{"elicitation-no", "mcpServer/elicitation/request", `"serverName":"s","mode":"form","message":"Allow?","requestedSchema":{"type":"object","properties":{}}`, &protocol.PermissionSubject{ItemKey: protocol.ItemKey{ProviderItemID: "elicitation-1"}, ToolName: protocol.Ptr("s")}, once, protocol.Decision{Kind: protocol.Deny}, `{"action":"decline","content":null,"_meta":null}`},
		{"elicitation-form", "mcpServer/elicitation/request", `"serverName":"s","mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{}}}`, nil, nil, protocol.Decision{}, `{"action":"decline","content":null,"_meta":null}`},
		{"unknown", "item/novelty/request", `"itemId":"c"`, nil, nil, protocol.Decision{}, `{"code":-32601,"message":"this client has no method item/novelty/request"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			c := playing(t, scene{Turns: [][]string{{command, request(test.method, test.fields), "!answer"}}})
			c.answer = func(protocol.Interaction) (protocol.Resolution, error) { return &test.decision, nil }
			is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
			is.Equal(c.said("t"), test.answer)
			if test.subject == nil {
				is.Equal(len(c.questions), 0)
				return
			}
			is.Equal(len(c.questions), 1)
			q := c.questions[0].(*protocol.Approval)
			is.Equal(q.Decisions, test.offered)
			got, err := json.Marshal(q.Subject)
			is.NoErr(err)
			want, err := json.Marshal(test.subject)
			is.NoErr(err)
			is.Equal(string(got), string(want))
			c.clean()
		})
	}
}

func TestQuestionsToTheUserComeInBatches(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	one := func(id, options string) string {
		return `{"id":"` + id + `","header":"H","question":"Which?","isOther":false,"options":` + options + `}`
	}
	five := `[{"label":"a","description":""},{"label":"b","description":""},{"label":"c","description":""},{"label":"d","description":""},{"label":"e","description":""}]`
	c := playing(t, scene{Turns: [][]string{{request("item/tool/requestUserInput", `"itemId":"q","questions":[`+one("1", "null")+`,`+one("2", five)+`,`+one("3", "null")+`,`+one("4", "null")+`,`+one("5", "null")+`]`), "!answer"}}})
	c.answer = func(q protocol.Interaction) (protocol.Resolution, error) {
		answers := map[string]protocol.Answer{}
		for _, one := range q.(*protocol.Questions).Questions {
			answers[one.ID] = protocol.Answer{Selected: []string{}, FreeText: protocol.Ptr("own " + one.ID)}
		}
		return &protocol.Answers{Answers: answers}, nil
	}
	is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
	is.Equal(len(c.questions), 2) // four are what a person answers at a glance
	second := c.questions[0].(*protocol.Questions).Questions[1]
	is.Equal(len(second.Options), 4)
	is.True(second.AllowFreeText) // for the fifth
	is.Equal(c.said("t"), `{"answers":{"1":{"answers":["own 1"]},"2":{"answers":["own 2"]},"3":{"answers":["own 3"]},"4":{"answers":["own 4"]},"5":{"answers":["own 5"]}}}`)
	c.clean()
}

func TestQuestionsThatEnd(t *testing.T) {
	ask := request("item/commandExecution/requestApproval", `"itemId":"c","command":"make"`)
	t.Run("taken-back", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		c := playing(t, scene{Turns: [][]string{{ask, `{"method":"serverRequest/resolved","params":{"threadId":"th","requestId":7}}`, "!answer"}}})
		c.answer = nil
		is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
		c.await("the withdrawal", func() bool { return len(c.notes) > 0 && c.notes[len(c.notes)-1] == protocol.MethodInteractionWithdrawn })
		c.clean()
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		c := playing(t, scene{Turns: [][]string{{ask, "!answer"}}})
		c.answer = nil
		ref := c.open("t")
		turn, err := c.send(ref, "go")
		is.NoErr(err)
		c.await("the question", func() bool { return len(c.questions) == 1 })
		c.stop(ref, protocol.Interrupt)
		is.Equal(c.settled(ref, turn), protocol.Interrupted)
		c.clean()
	})
	t.Run("without-a-turn", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		c := playing(t, scene{Before: []string{ask}})
		is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
		is.Equal(len(c.questions), 0)
	})
}
