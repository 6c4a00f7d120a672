package codex_test

import (
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

// TestErrors holds the category of each error of Codex.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		info     string
		category protocol.ErrorCategory
	}{
		{`"contextWindowExceeded"`, protocol.ErrorContextWindowExceeded},
		{`"sessionBudgetExceeded"`, protocol.ErrorBudgetExceeded},
		{`"usageLimitExceeded"`, protocol.ErrorRateLimit},
		{`"rateLimitExceeded"`, protocol.ErrorRateLimit},
		{`"serverOverloaded"`, protocol.ErrorOverloaded},
		{`"flexUnavailable"`, protocol.ErrorOverloaded},
		{`"cyberPolicy"`, protocol.ErrorPolicy},
		{`"unauthorized"`, protocol.ErrorUnauthorized},
		{`"internalServerError"`, protocol.ErrorInternal},
		{`"threadRollbackFailed"`, protocol.ErrorThreadRollbackFailed},
		{`"sandboxError"`, protocol.ErrorSandbox},
		{`"other"`, protocol.ErrorUnknown},
		{`null`, protocol.ErrorUnknown},
		{`{"httpConnectionFailed":{"httpStatusCode":null}}`, protocol.ErrorStreamDisconnected},
		{`{"httpConnectionFailed":{"httpStatusCode":401}}`, protocol.ErrorUnauthorized},
		{`{"httpConnectionFailed":{"httpStatusCode":402}}`, protocol.ErrorBilling},
		{`{"responseStreamConnectionFailed":{"httpStatusCode":503}}`, protocol.ErrorOverloaded},
		{`{"responseStreamDisconnected":{"httpStatusCode":null}}`, protocol.ErrorStreamDisconnected},
		{`{"responseStreamDisconnected":{"httpStatusCode":500}}`, protocol.ErrorInternal},
		{`{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`, protocol.ErrorRateLimit},
		{`{"responseTooManyFailedAttempts":{"httpStatusCode":null}}`, protocol.ErrorTooManyFailedAttempts},
		{`{"novelty":{"httpStatusCode":429}}`, protocol.ErrorRateLimit},
		{`7`, protocol.ErrorUnknown},
	} {
		t.Run(strings.Trim(test.info, `"`), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			c := playing(t, scene{Turns: [][]string{{
				`{"method":"error","params":{$T,"willRetry":true,"error":{"message":"again","codexErrorInfo":` + test.info + `}}}`,
				`{"method":"error","params":{$T,"willRetry":false,"error":{"message":"no sk-abcdefghijkl","codexErrorInfo":` + test.info + `,"additionalDetails":"Bearer abcdefghijkl"}}}`,
				`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"tu-1","status":"failed"}}}`}}})
			is.Equal(c.say(c.open("t"), "go"), protocol.Failed)
			errors := find[*protocol.ProviderError](c, "t")
			is.Equal(len(errors), 2)
			is.True(errors[0].WillRetry && !errors[0].SettlesTurn)
			is.True(!errors[1].WillRetry && errors[1].SettlesTurn)
			is.Equal(errors[1].Category, test.category)
			is.Equal(errors[1].Message, "no [hidden]") // keys do not get into errors
			is.Equal(*errors[1].Detail, "Bearer [hidden]")
			c.clean()
		})
	}
}

// TestReports holds what becomes of what Codex reports beside the items.
func TestReports(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	usage := `{"method":"thread/tokenUsage/updated","params":{$T,"tokenUsage":{"total":{"totalTokens":30,"inputTokens":20,"cachedInputTokens":5,"cacheWriteInputTokens":2,"outputTokens":10,"reasoningOutputTokens":4},"last":{"totalTokens":3,"inputTokens":2,"cachedInputTokens":1,"cacheWriteInputTokens":2,"outputTokens":1,"reasoningOutputTokens":0},"modelContextWindow":100}}}`
	c := playing(t, scene{
		Before: []string{strings.ReplaceAll(usage, "$T", `"threadId":"th","turnId":"old"`)},
		Turns: [][]string{{
			usage, usage,
			`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"windowDurationMins":300,"resetsAt":1000},"secondary":{"usedPercent":85,"windowDurationMins":10080,"resetsAt":null}}}}`,
			`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":10,"windowDurationMins":300,"resetsAt":2000},"secondary":null}}}`,
			`{"method":"model/rerouted","params":{$T,"fromModel":"a","toModel":"b","reason":"highRiskCyberActivity"}}`,
			`{"method":"warning","params":{"threadId":"th","message":"mind"}}`,
			`{"method":"configWarning","params":{"summary":"s","details":"d"}}`,
			`{"method":"deprecationNotice","params":{"summary":"old","details":null}}`,
			`{"method":"mcpServer/startupStatus/updated","params":{"threadId":"th","name":"m","status":"failed","error":"no"}}`,
			`{"method":"thread/name/updated","params":{"threadId":"th","threadName":"N"}}`,
			`{"method":"turn/plan/updated","params":{$T,"explanation":"why","plan":[{"step":"a","status":"completed"},{"step":"b","status":"inProgress"},{"step":"c","status":"pending"}]}}`,
			`{"method":"turn/diff/updated","params":{$T,"diff":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}}`,
			`{"method":"item/completed","params":{"threadId":"other","turnId":"tu-1","item":{"type":"agentMessage","id":"x","text":"of a sub-agent"}}}`,
			`{"method":"novelty","params":{}}`,
			`{"method":"thread/status/changed","params":{"threadId":"th"}}`,
			"!end",
			item("completed", `"type":"agentMessage","id":"late","text":"late"`), usage,
		}}})
	is.Equal(c.say(c.open("t"), "go"), protocol.Completed)
	is.Equal(c.say(protocol.ThreadRef{ThreadID: "t", ProviderThreadID: "th"}, "go"), protocol.Completed)
	all := find[*protocol.Usage](c, "t")
	is.Equal(len(all), 1) // not before a turn, not twice, not behind it
	is.Equal(*all[0].Total, protocol.TokenBreakdown{TotalTokens: 30, InputTokens: 20, CachedInputTokens: 5, OutputTokens: 10, ReasoningOutputTokens: 4})
	is.Equal(*all[0].CacheWriteTokens, int64(2))
	is.Equal(*all[0].ModelContextWindow, int64(100))
	limits := find[*protocol.RateLimits](c, "t")
	is.Equal(limits[0].RateLimits.Status, protocol.LimitBlocked)
	is.Equal(*limits[0].RateLimits.ResetsAt, 1000000.0)
	is.Equal(*limits[0].RateLimits.Windows[0].Label, "5 hours")
	is.Equal(*limits[0].RateLimits.Windows[1].Label, "1 weeks")
	is.Equal(limits[1].RateLimits.Status, protocol.LimitWarning) // what is null is as before
	is.Equal(len(limits[1].RateLimits.Windows), 2)
	is.Equal(find[*protocol.ModelFallback](c, "t")[0].FallbackModel, "b")
	var warnings []string
	for _, w := range find[*protocol.ProviderWarning](c, "t") {
		warnings = append(warnings, string(w.Category)+" "+*w.Summary)
	}
	is.Equal(warnings, []string{"general mind", "config s", "deprecation old", "general the tools of the MCP server m are not there: no"})
	is.Equal(find[*protocol.ThreadName](c, "t")[0].Name, "N")
	todo := find[*protocol.Todo](c, "t")[0]
	is.Equal(*todo.Explanation, "why")
	is.Equal(todo.Steps, []protocol.TodoStep{{Text: "a", Status: protocol.TodoCompleted}, {Text: "b", Status: protocol.TodoActive}, {Text: "c", Status: protocol.TodoPending}})
	is.True(strings.HasPrefix(find[*protocol.TurnDiff](c, "t")[0].Diff, "--- a/x"))
	is.Equal(c.said("t"), "")
	unknown := 0
	for _, note := range c.notes {
		if note == "provider/raw unknown" {
			unknown++
		}
	}
	is.Equal(unknown, 1)
	c.clean()
}
