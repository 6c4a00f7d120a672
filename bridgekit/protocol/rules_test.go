package protocol_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/bb-kernel/bb/bridgekit/protocol"
)

// exampleNamed returns the type and the JSON of an example.
func exampleNamed(t testing.TB, name string) (string, string) {
	for _, e := range Examples() {
		if e.Name == name {
			return e.Type, string(e.JSON)
		}
	}
	t.Fatalf("there is no example %q", name)
	return "", ""
}

// issuesOf returns "path code" for each issue of an error of decodeAs.
func issuesOf(err error) []string {
	var issues []Issue
	var whole *Error
	var delta *DeltaError
	switch {
	case errors.As(err, &whole):
		issues = whole.Issues
	case errors.As(err, &delta):
		issues = delta.Issues
	}
	texts := []string{}
	for _, i := range issues {
		texts = append(texts, strings.TrimSpace(i.Path+" "+string(i.Code)))
	}
	return texts
}

// change is an example with a part of its JSON replaced.
type change struct {
	example, old, new string
	want              string // the issues, joined by commas; "" for none
}

// wrong are strings at and above a size.
func long(n int) string { return strings.Repeat("x", n) }

// TestRule shows for each rule what it refuses and what it still allows.
func TestRule(t *testing.T) {
	key := `"providerItemId":"m1","channel":null,"parentRef":null`
	for _, rule := range []struct {
		id      string
		changes []change
	}{
		{"strict", []change{
			{"delta session.reset", `}`, `,"x":1}`, "x unrecognized_key"},
			{"delta item.open", `"text":""`, `"text":"","x":1`, "item.x unrecognized_key"},
			{"delta item.open", `"icon":"message"`, `"icon":"message","x":1`, "presentation.x unrecognized_key"},
			{"delta item.open", key, key + `,"x":1`, "key.x unrecognized_key"},
			{"delta usage", `"totalTokens":9007199254740993,"inputTokens":2`, `"totalTokens":9007199254740993,"x":0,"inputTokens":2`, "last.x unrecognized_key"},
			{"delta item.open of command", `"kind":"unknown"`, `"kind":"unknown","x":1`, "item.actions[0].x unrecognized_key"},
			{"delta provider.rateLimits", `"status":"blocked","kind"`, `"status":"blocked","x":1,"kind"`, "rateLimits.x unrecognized_key"},
			{"thread/delta params", `{"threadId":"t1"`, `{"threadId":"t1","x":1`, "x unrecognized_key"},
			{"delta session.reset", `"kind":"session.reset"`, `"Kind":"session.reset"`, "kind required"},
		}},
		{"additive", []change{
			{"turn/start params", `"clientRequestId"`, `"x":{"y":[null]},"clientRequestId"`, ""},
			{"turn/start params", `"mode":"accept-edits"`, `"mode":"accept-edits","x":1`, ""},
			{"turn/start params", `"type":"text"`, `"type":"text","x":1`, ""},
			{"interaction approval of command", `"kind":"read"`, `"kind":"read","x":1`, ""},
			{"interaction approval of command", `"itemKey":{`, `"itemKey":{"x":1,`, ""},
			{"initialize result", `"protocol":3`, `"protocol":3,"x":1`, ""},
			{"resolution deny", `"granted":null`, `"granted":null,"x":1`, ""},
		}},
		{"required", []change{
			{"delta item.open", `,"presentation":{"label":"Writing","icon":"message"}`, ``, "presentation required"},
			{"delta turn.open", `"turnKey":"turn-1",`, ``, "turnKey required"},
			{"delta item.open", `"kind":"item.open",`, ``, "kind required"},
			{"turn/start params", `"clientRequestId":"r1",`, ``, "clientRequestId required"},
			{"provider declaration", `"visibility":"installed",`, ``, "visibility required"},
		}},
		{"null", []change{
			{"delta item.open", `"item":{"kind":"message","text":""}`, `"item":null`, "item invalid_type"},
			{"delta item.open", `{"label":"Writing","icon":"message"}`, `null`, "presentation invalid_type"},
			{"delta item.progress", `"item":{"kind":"plan","text":"x","path":null}`, `"item":null`, ""},
			{"delta item.open", `"label":"Writing"`, `"label":"Writing","title":null`, "presentation.title invalid_type"},
			{"thread/resume params", `"reasoningLevel":"high"`, `"reasoningLevel":""`, "options.reasoningLevel too_small"},
			{"thread/fork params", `"sourceCheckpointId":"cp-1"`, `"sourceCheckpointId":null`, ""},
			{"provider/recovery params", `"threadId":"t1"`, `"threadId":null`, ""},
			{"provider/recovery params", `"threadId":"t1"`, `"threadId":""`, "threadId too_small"},
			{"provider declaration", `"family":"demo"`, `"family":null`, ""},
		}},
		{"types", []change{
			{"delta thread.name", `"Fix the build"`, `7`, "name invalid_type"},
			{"delta context.window", `"estimated":true`, `"estimated":"true"`, "estimated invalid_type"},
			{"delta todo", `[{"text":"Read","status":"active"}]`, `{}`, "steps invalid_type"},
			{"delta todo", `{"text":"Read","status":"active"}`, `[]`, "steps[0] invalid_type"},
			{"delta todo", `"active"`, `"done"`, "steps[0].status invalid_value"},
			{"delta todo", `"kind":"todo"`, `"kind":"todos"`, "kind invalid_value"},
			{"delta todo", `"kind":"todo"`, `"kind":1`, "kind invalid_type"},
			{"turn/start params", `"type":"text"`, `"type":"sound"`, "input[0].type invalid_value"},
			{"turn/start params", `"providerOptions":{`, `"providerOptions":[],"x":{`, "options.providerOptions invalid_type"},
		}},
		{"integers", []change{
			{"delta usage", `"inputTokens":2`, `"inputTokens":-1`, "last.inputTokens too_small"},
			{"delta usage", `"inputTokens":2`, `"inputTokens":2.5`, "last.inputTokens invalid_type"},
			{"delta usage", `"inputTokens":2`, `"inputTokens":2.0`, ""},
			{"delta usage", `"inputTokens":2`, `"inputTokens":2e3`, ""},
			{"delta usage", `"inputTokens":2`, `"inputTokens":9223372036854775807`, ""},
			{"delta usage", `"inputTokens":2`, `"inputTokens":9223372036854775808`, "last.inputTokens too_big"},
			{"delta usage", `"inputTokens":2`, `"inputTokens":1e400`, "last.inputTokens too_big"},
			{"delta usage", `"inputTokens":2`, `"inputTokens":1e-400`, "last.inputTokens invalid_type"},
			{"delta usage", `"inputTokens":2`, `"inputTokens":"2"`, "last.inputTokens invalid_type"},
			{"delta item.open of command", `"exitCode":-1`, `"exitCode":-9223372036854775808`, ""},
			{"delta item.open of command", `"exitCode":-1`, `"exitCode":-9223372036854775809`, "item.exitCode too_small"},
			{"delta usage", `"amount":0.25`, `"amount":1e400`, "cost.amount too_big"},
			{"delta usage", `"amount":0.25`, `"amount":1e-400`, ""},
		}},
		{"duplicates", []change{
			{"delta thread.name", `"name":"Fix the build"`, `"name":"a","name":"b"`, "name duplicate_key"},
			{"delta thread.name", `"kind":"thread.name"`, `"kind":"thread.name","kind":"thread.name"`, "kind duplicate_key"},
			{"delta thread.name", `"name":"Fix the build"`, `"name":"a","n\u0061me":"b"`, "name duplicate_key"},
			{"delta provider.unhandled", `{"n":9007199254740993}`, `{"a":[{"b":1,"b":2}]}`, "raw.a[0].b duplicate_key"},
			{"initialize result", `"protocol":3`, `"protocol":3,"x":1,"x":2`, "x duplicate_key"},
			{"thread/start params", `"env":{`, `"env":{"A":"1","A":"2",`, "env.A duplicate_key"},
			{"turn/start params", `"sandbox":`, `"sandbox":1,"sandbox":`, "options.providerOptions.sandbox duplicate_key"},
			{"thread/delta params", `{"threadId":"t1"`, `{"threadId":"t1","threadId":"t1"`, "threadId duplicate_key"},
		}},
		{"scope", []change{
			{"delta item.open", `"scope":"turn",`, ``, "scope required"},
			{"delta item.open", `"scope":"turn"`, `"scope":"session"`, "scope invalid_value"},
			{"delta item.open", `"scope":"turn"`, `"scope":null`, "scope invalid_type"},
			{"delta item.open", `,"turnKey":null`, ``, "turnKey required"},
			{"delta item.open", `"turnKey":null`, `"turnKey":""`, "turnKey too_small"},
			{"delta item.open", `"turnKey":null`, `"turnKey":1`, "turnKey invalid_type"},
			{"delta item.output", `"scope":"thread"`, `"scope":"thread","turnKey":null`, "turnKey unrecognized_key"},
			{"delta item.output", `"scope":"thread"`, `"turnKey":"t","scope":"thread"`, "turnKey unrecognized_key"},
			{"interaction/request params of the thread", `,"turnKey":null`, ``, "turnKey required"},
			{"interaction/request params of the thread", `"turnKey":null`, `"turnKey":"t"`, "turnKey invalid_value"},
			{"interaction/request params", `,"scope":"turn"`, ``, "scope required"},
		}},
		{"turn-key", []change{
			{"delta turn.open", `"turn-1"`, `null`, ""},
			{"delta turn.open", `"turn-1"`, `""`, "turnKey too_small"},
			{"delta turn.open", `"parentRef":null`, `"parentRef":"m1"`, "parentRef invalid_type"},
		}},
		{"item-key", []change{
			{"delta item.text", `"providerItemId":"m1"`, `"providerItemId":null`, "key invalid_value"},
			{"delta item.text", key, `"providerItemId":null,"channel":"c","parentRef":null`, ""},
			{"delta item.text", key, `"providerItemId":null,"channel":null,"parentRef":"p"`, ""},
			{"delta item.text", `"providerItemId":"m1"`, `"providerItemId":""`, "key.providerItemId too_small"},
			{"delta item.text", `"providerItemId":"m1"`, `"providerItemId":"a\u001fb"`, "key.providerItemId invalid_format"},
			{"delta item.text", `"channel":null`, `"channel":"\u001f"`, "key.channel invalid_format"},
			{"delta item.text", `"parentRef":null`, `"parentRef":"a\u001f\u001f"`, "key.parentRef invalid_format"},
			{"tool/call params", `"providerItemId":"c1","channel":"stdout","parentRef":"task1"`, `"providerItemId":null,"channel":null,"parentRef":null`, "itemKey invalid_value"},
			{"tool/call params", `{"providerItemId":"c1","channel":"stdout","parentRef":"task1"}`, `null`, ""},
		}},
		{"settles-turn", []change{
			{"delta provider.error", `"willRetry":false`, `"willRetry":true`, "settlesTurn invalid_value"},
			{"delta provider.error", `"scope":"turn","turnKey":null`, `"scope":"thread"`, "settlesTurn invalid_value"},
			{"delta provider.error", `"willRetry":false,"settlesTurn":true`, `"willRetry":true,"settlesTurn":false`, ""},
		}},
		{"presentation", []change{
			{"delta item.open", `"label":"Writing"`, `"label":""`, "presentation.label too_small"},
			{"delta item.open", `"icon":"message"`, `"icon":""`, "presentation.icon too_small"},
			{"delta item.close", `"tint":"success"`, `"tint":"pink"`, "presentation.tint invalid_value"},
			{"delta item.close", `,"title":"go test","detail":"12 passed","suppress":true,"tint":"success"`, ``, ""},
		}},
		{"item-kinds", []change{
			{"delta item.open", `"kind":"message"`, `"kind":"note"`, "item.kind invalid_value"},
			{"delta item.open", `"kind":"message"`, `"kind":"Echo/chart"`, "item.kind invalid_value"},
			{"delta item.open", `"kind":"message"`, `"kind":"a/b/c"`, "item.kind invalid_value"},
			{"delta item.open", `"kind":"message"`, `"kind":"/b"`, "item.kind invalid_value"},
			{"delta item.open of echo/chart", `"kind":"echo/chart"`, `"kind":"e-1/2"`, ""},
			{"delta item.open of echo/chart", `"payload"`, `"text"`, "item.payload required,item.text unrecognized_key"},
			{"delta item.open of command", `"intent":"terminal"`, `"intent":"shell"`, "item.intent invalid_value"},
			{"delta item.open of command", `"approval":"waiting"`, `"approval":"approved"`, "item.approval invalid_value"},
			{"delta item.open of file_change", `"change":"update"`, `"change":"rename"`, "item.changes[0].change invalid_value"},
			{"delta item.open of task", `"role":"delegation"`, `"role":"child"`, "item.role invalid_value"},
			{"delta item.open of compaction", `"trigger":"auto"`, `"trigger":null`, ""},
			{"delta item.open of compaction", `"preTokens":90000`, `"preTokens":-1`, "item.preTokens too_small"},
			{"delta item.close", `"status":"completed"`, `"status":"pending"`, "status invalid_value"},
			{"delta item.close", `"status":"completed"`, `"status":"denied"`, "status invalid_value"},
		}},
		{"extension-state", []change{
			{"delta extension.state", `"echo/chart"`, `"chart"`, "extensionKind invalid_format"},
			{"delta extension.state", `{"n":1}`, `null`, ""},
		}},
		{"limit-text", []change{
			{"delta item.output", `"ok\n"`, `"` + long(MaxDeltaText) + `"`, ""},
			{"delta item.output", `"ok\n"`, `"` + long(MaxDeltaText+1) + `"`, "text too_big"},
			{"delta item.text", `"text":"Hel\"lo\n"`, `"text":"` + long(MaxDeltaText) + `"`, ""},
			{"delta item.text", `"text":"Hel\"lo\n"`, `"text":"é` + long(MaxDeltaText-1) + `"`, "text too_big"},
		}},
		{"limit-diff", []change{
			{"delta turn.diff", `"--- a\n+++ b\n"`, `"` + long(MaxDiff) + `"`, ""},
			{"delta turn.diff", `"--- a\n+++ b\n"`, `"` + long(MaxDiff+1) + `"`, "diff too_big"},
			{"delta item.open of file_change", `"--- a.go\n+++ b.go\n"`, `"` + long(MaxDiff+1) + `"`, "item.changes[0].diff too_big"},
		}},
		{"limit-raw", []change{
			{"delta provider.unhandled", `{"n":9007199254740993}`, `"` + long(MaxRaw-2) + `"`, ""},
			{"delta provider.unhandled", `{"n":9007199254740993}`, `"` + long(MaxRaw-1) + `"`, "raw too_big"},
		}},
		{"limit-extension", []change{
			{"delta extension.state", `{"n":1}`, `"` + long(MaxExtension-2) + `"`, ""},
			{"delta extension.state", `{"n":1}`, `"` + long(MaxExtension-1) + `"`, "payload too_big"},
			{"delta item.open of echo/chart", `{"points":[1,2.5,1e3]}`, `"` + long(MaxExtension-1) + `"`, "item.payload too_big"},
		}},
		{"limit-interaction", []change{
			{"interaction of a plugin", `{"options":["a"]}`, `"` + long(MaxInteraction-2) + `"`, ""},
			{"interaction of a plugin", `{"options":["a"]}`, `"` + long(MaxInteraction-1) + `"`, "data too_big"},
			{"resolution submitted", `{"choice":"a"}`, `"` + long(MaxInteraction-1) + `"`, "data too_big"},
			{"resolution answer", `"red"`, `"` + long(MaxInteraction) + `"`, "answers too_big"},
		}},
		{"approval", []change{
			{"interaction approval of plan", `["allow_once","allow_for_session","deny"]`, `[]`, "decisions too_small"},
			{"interaction approval of plan", `"allow_for_session"`, `"allow_once"`, "decisions[1] invalid_value"},
			{"interaction approval of plan", `"allow_for_session"`, `"allow_always"`, "decisions[1] invalid_value"},
			{"interaction approval of plan", `"reason":"needed"`, `"reason":null`, ""},
			{"interaction approval of plan", `"kind":"plan"`, `"kind":"tool_use"`, "subject.kind invalid_value"},
			{"interaction approval of command", `"kind":"listFiles"`, `"kind":"list"`, "subject.actions[1].kind invalid_value"},
			{"interaction approval of permission_grant", `"permissions":{`, `"permissions":null,"x":{`, "subject.permissions invalid_type"},
		}},
		{"question", []change{
			{"interaction question", `"id":"why"`, `"id":"colour"`, "questions[1].id invalid_value"},
			{"interaction question", `"allowFreeText":true`, `"allowFreeText":false`, "questions[1].options too_small"},
			{"interaction question", `"value":"blue"`, `"value":"red"`, "questions[0].options[1].value invalid_value"},
			{"interaction question", `"questions":[`, `"questions":[],"x":[`, "questions too_small"},
			{"interaction question", `"options":[]`, `"options":[` + options(MaxOptions) + `]`, ""},
			{"interaction question", `"options":[]`, `"options":[` + options(MaxOptions+1) + `]`, "questions[1].options too_big"},
			{"interaction question", `"questions":[`, `"questions":[` + strings.Repeat(`{"id":"q","prompt":"p","shortLabel":null,"multiSelect":false,"options":[],"allowFreeText":true},`, 3), "questions too_big"},
		}},
		{"open-interaction", []change{
			{"interaction of a plugin", `"Pick"`, `"` + strings.Repeat("é", MaxTitle) + `"`, ""},
			{"interaction of a plugin", `"Pick"`, `"` + long(MaxTitle+1) + `"`, "title too_big"},
			{"interaction of a plugin", `"echo/permission"`, `"permission"`, "kind invalid_value"},
		}},
		{"answer", []change{
			{"resolution answer", `["red"]`, `["a","b","c","d"]`, ""},
			{"resolution answer", `["red"]`, `["a","b","c","d","e"]`, "answers.colour.selected too_big"},
			{"resolution answer", `["red"]`, `["red","red"]`, "answers.colour.selected[1] invalid_value"},
			{"resolution answer", `"I like it"`, `" \u00a0\n"`, "answers.why.freeText invalid_format"},
			{"resolution answer", `"I like it"`, `""`, "answers.why.freeText invalid_format"},
			{"resolution answer", `"I like it"`, `"` + strings.Repeat("é", MaxFreeText) + `"`, ""},
			{"resolution answer", `"I like it"`, `"` + long(MaxFreeText+1) + `"`, "answers.why.freeText too_big"},
		}},
		{"decision", []change{
			{"resolution deny", `"granted":null`, `"granted":{"network":null,"fileSystem":null}`, "granted invalid_value"},
			{"resolution deny", `"deny"`, `"allow_once"`, ""},
			{"resolution deny", `"deny"`, `"cancel"`, "decision invalid_value"},
		}},
		{"permission-policy", []change{
			{"permission accept-edits", `"user"`, `"automatic"`, "reviewer invalid_value"},
			{"permission accept-edits", `"workspace"`, `"full"`, "scope invalid_value"},
			{"permission accept-edits", `"deny"`, `null`, "escalation invalid_value"},
			{"permission accept-edits", `"deny"`, `"ask"`, ""},
			{"permission auto", `"automatic"`, `"user"`, "reviewer invalid_value"},
			{"permission full", `"reviewer":null`, `"reviewer":"user"`, "reviewer invalid_value"},
			{"permission full", `"escalation":null`, `"escalation":"ask"`, "escalation invalid_value"},
			{"permission full", `"scope":"full"`, `"scope":"workspace"`, "scope invalid_value"},
			{"permission full", `"mode":"full"`, `"mode":"plan"`, "mode invalid_value"},
		}},
		{"turn-input", []change{
			{"turn/start params", `[{"type":"text","text":"Hello","mentions":[],"visibility":"user"}]`, `[]`, "input too_small"},
			{"turn/start params", `"actions":[]`, `"actions":["compact"]`, ""},
			{"turn/start params", `"actions":[]`, `"actions":["compact","compact"]`, "actions[1] invalid_value"},
			{"turn/start params", `"actions":[]`, `"actions":["dance"]`, "actions[0] invalid_value"},
			{"turn/start params", `"visibility":"user"`, `"visibility":"all"`, "input[0].visibility invalid_value"},
			{"turn/steer params", `"turnId":"turn-1"`, `"turnId":""`, "turnId too_small"},
			{"input text", `"start":4`, `"start":10`, "mentions[0].start too_big"},
			{"input text", `"start":4`, `"start":-1`, "mentions[0].start too_small"},
			{"input localFile", `"sizeBytes":3`, `"sizeBytes":-3`, "sizeBytes too_small"},
		}},
		{"session", []change{
			{"thread/start params", `"name":"notes_add"`, `"name":""`, "tools[0].name too_small"},
			{"thread/start params", `"tools":[`, `"tools":[{"name":"notes_add","description":"","inputSchema":{},"presentation":{"label":{"pending":"a","completed":"b"},"icon":"c","intent":"generic","suppress":false}},`, "tools[1].name invalid_value"},
			{"thread/start params", `"instructionMode":"append"`, `"instructionMode":"prefix"`, "instructionMode invalid_value"},
			{"thread/start params", `"inputSchema":{"type":"object"}`, `"inputSchema":true`, "tools[0].inputSchema invalid_type"},
			{"thread/start params", `"providerId":"echo"`, `"providerId":""`, "providerId too_small"},
			{"thread/stop params", `"interrupt"`, `"pause"`, "intent invalid_value"},
			{"thread/name/set params", `"Fix the build"`, `" "`, "title invalid_format"},
			{"thread/goal/set params", `"All tests pass"`, `""`, "goal invalid_format"},
			{"skills/configure params", `"roots":[`, `"roots":[{"id":"r","path":"/x","label":""},`, "roots[1].id invalid_value"},
			{"shutdown params", `5000`, `-1`, "graceMs too_small"},
		}},
		{"handshake", []change{
			{"initialize params", `"min":3`, `"min":4`, "protocol.min too_big"},
			{"initialize params", `["echo"]`, `[]`, "providerIds too_small"},
			{"initialize params", `["echo"]`, `["echo","echo"]`, "providerIds[1] invalid_value"},
			{"initialize result", `"fork":"checkpoint"`, `"fork":"any"`, "capabilities.fork invalid_value"},
			{"initialize result", `"steer":"native"`, `"steer":true`, "capabilities.steer invalid_type"},
			{"initialize result", `"approvalEnforcedBy":"runtime",`, ``, "capabilities.approvalEnforcedBy required"},
		}},
		{"declaration", []change{
			{"provider declaration", `"id":"echo"`, `"id":"Echo"`, "id invalid_format"},
			{"provider declaration", `"id":"echo"`, `"id":"1echo"`, "id invalid_format"},
			{"provider declaration", `"displayName":"Echo"`, `"displayName":" "`, "displayName invalid_format"},
			{"provider declaration", `["accept-edits","auto","full"]`, `[]`, "permissionModes too_small"},
			{"provider declaration", `["accept-edits","auto","full"]`, `["auto","auto"]`, "permissionModes[1] invalid_value"},
			{"provider declaration", `"serviceTiers":[`, `"serviceTiers":[{"id":"fast","label":"F","description":null},`, "serviceTiers[1].id invalid_value"},
			{"provider declaration", `"reasoningLevels":[{`, `"reasoningLevels":[{"id":"high","label":"H","description":null},{`, "reasoningLevels[1].id invalid_value"},
			{"provider declaration", `["compact","plan","goal"]`, `["compact","compact"]`, "actions[1] invalid_value"},
			{"provider declaration", `"catalog":"bridge"`, `"catalog":"server"`, "models.catalog invalid_value"},
			{"provider declaration", `"format":"skill-md"`, `"format":"zip"`, "skills.roots[0].format invalid_value"},
			{"provider declaration", `"echo/chart":`, `"chart":`, "extensionKinds.chart invalid_format"},
			{"provider declaration", `{"item":{"type":"object"},"state":null}`, `{"item":null,"state":null}`, "extensionKinds.echo/chart invalid_value"},
			{"provider declaration", `"ECHO_API_KEY"`, `"A","BB_TOKEN"`, "env.passthrough[1] invalid_value"},
			{"provider declaration", `"visibility":"installed"`, `"visibility":"never"`, "visibility invalid_value"},
			{"provider declaration", `"bridgeOptions":{`, `"bridgeOptions":null,"x":{`, "bridgeOptions invalid_type"},
			{"provider declaration", `"id":"echo","displayName":"Echo"`, `"id":"","displayName":""`, "displayName invalid_format,id invalid_format"},
		}},
		{"maintenance", []change{
			{"provider/health result", `"status":"ready"`, `"status":"fine"`, "health.status invalid_value"},
			{"provider/usage result", `"status":"ok"`, `"status":"expired"`, ""},
			{"provider/usage result", `"windows":[`, `"other":[`, "usage.windows required"},
			{"provider/usage result error", `"message":"no answer"`, `"other":1`, "usage.message required"},
			{"provider/usage result signed out", `"unauthenticated"`, `"ok"`, "usage.accountEmail required,usage.planLabel required,usage.windows required"},
			{"provider/installation/status result", `"label":"Update"`, `"label":"Upgrade"`, "status.installAction.label invalid_value"},
			{"provider/installation/run result", `"available":true`, `"available":false`, "message required"},
			{"provider/installation/run result", `"available":true`, `"available":"true"`, "available invalid_type"},
			{"provider/installation/run result unavailable", `"available":false`, `"available":true`, "command required,verification required"},
			{"provider/installation/run result", `"args":["i","-g","echo"]`, `"args":[` + strings.Repeat(`"x",`, MaxInstallArgs-1) + `"x"]`, ""},
			{"provider/installation/run result", `"args":["i","-g","echo"]`, `"args":[` + strings.Repeat(`"x",`, MaxInstallArgs) + `"x"]`, "command.args too_big"},
			{"provider/installation/run result", `"version_at_least","version"`, `"version_at_least","v"`, "verification.version required"},
			{"provider/installation/run result changed", `"previousVersion"`, `"version"`, "verification.previousVersion required"},
			{"provider/installation/run result", `"command":{`, `"command":null,"x":{`, "command invalid_type"},
			{"model/list result", `"models":[`, `"models":[{"id":"large","label":"L","description":"","reasoningLevels":[],"defaultReasoningLevel":null,"serviceTiers":[],"isDefault":false},`, "models[1].id invalid_value"},
			{"skills/discover result", `"scope":"project"`, `"scope":"all"`, "skills[0].scope invalid_value"},
		}},
		{"tool-result", []change{
			{"tool/call result", `"content":[`, `"content":[],"x":[`, "content too_small"},
			{"tool/call result", `"type":"text"`, `"type":"sound"`, "content[0].type invalid_value"},
			{"tool/call result", `"mimeType":"image/png"`, `"mimeType":""`, "content[1].mimeType too_small"},
			{"tool/call result", `"type":"text","text":"Added"`, `"type":"text"`, "content[0].text required"},
		}},
		{"notifications", []change{
			{"thread/identity params", `"providerThreadId":"s1"`, `"providerThreadId":""`, "providerThreadId too_small"},
			{"session/replaced params", `"contextLost":true`, `"contextLost":1`, "contextLost invalid_type"},
			{"provider/recovery params", `"reauthenticate"`, `"retry"`, "hint invalid_value"},
			{"interaction/withdrawn params", `"requestKey":"q1"`, `"requestKey":""`, "requestKey too_small"},
			{"provider/raw params", `"unknown"`, `"some"`, "coverage invalid_value"},
			{"bridge/log params", `"warn"`, `"fatal"`, "level invalid_value"},
			{"bridge/log params", `,"data":{"n":1}`, ``, "data required"},
			{"delta provider.error", `"rate_limit"`, `"quota"`, "category invalid_value"},
			{"delta provider.warning", `"compaction-skipped"`, `"other"`, "category invalid_value"},
			{"delta provider.modelFallback", `"refusal"`, `"mood"`, "reason invalid_value"},
			{"delta provider.rateLimits", `"subscription-window"`, `"week"`, "rateLimits.kind invalid_value"},
			{"delta provider.rateLimits", `"overageStatus":"rejected"`, `"overageStatus":null`, ""},
		}},
	} {
		t.Run(rule.id, func(t *testing.T) {
			refused := false
			for _, c := range rule.changes {
				typ, text := exampleNamed(t, c.example)
				if !strings.Contains(text, c.old) {
					t.Fatalf("%s has no %s:\n%s", c.example, c.old, text)
				}
				_, err := decodeAs(typ, []byte(strings.Replace(text, c.old, c.new, 1)))
				got := strings.Join(issuesOf(err), ",")
				if got != c.want {
					t.Errorf("%s with %.80s: got %q, want %q (%.300v)", c.example, c.new, got, c.want, err)
				}
				refused = refused || c.want != ""
			}
			if !refused && rule.id != "additive" {
				t.Error("nothing shows what the rule refuses")
			}
		})
	}
}

func options(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"value":"v%d","label":"l","description":null}`, i))
	}
	return strings.Join(list, ",")
}

// TestDeltaKinds shows that the 22 kinds and the 8 scoped ones are those of the specification.
func TestDeltaKinds(t *testing.T) {
	var kinds, scoped []string
	for _, d := range sampleDeltas() {
		kinds = append(kinds, string(d.Kind()))
		wire, err := Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(wire), `"scope":`) {
			scoped = append(scoped, string(d.Kind()))
		}
	}
	if want := strings.Fields("input.accepted turn.open turn.boundary turn.diff item.open item.text item.output item.progress item.close " +
		"usage context.window context.cleared todo thread.name extension.state provider.rateLimits provider.modelFallback " +
		"provider.error provider.warning provider.unhandled session.ended session.reset"); !slices.Equal(kinds, want) {
		t.Errorf("the kinds are %v", kinds)
	}
	if want := strings.Fields("item.open item.text item.output item.progress item.close provider.error provider.warning provider.unhandled"); !slices.Equal(scoped, want) {
		t.Errorf("the scoped kinds are %v", scoped)
	}
}
