package fakemodel_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
)

// everywhere runs a test over all APIs, streamed and whole.
func everywhere(t *testing.T, test func(t *testing.T, c client, stream bool)) {
	t.Helper()
	all := clients()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, stream := range []bool{true, false} {
			form := map[bool]string{true: "streamed", false: "whole"}[stream]
			t.Run(name+"/"+form, func(t *testing.T) { test(t, all[name], stream) })
		}
	}
}

// echo stands for the tools of an agent.
func echo(c call) string { return c.name + " got " + c.input }

// TestWords runs each word against each API, and says what an agent sees, answer by answer.
func TestWords(t *testing.T) {
	type seen struct {
		text, thought string
		calls         []string // names
		inputs        []string // parts of their inputs
	}
	bash := []string{"bash"}
	for _, test := range []struct {
		rule, script string
		want         []seen
	}{
		{"say", "SAY hello world", []seen{{text: "hello world"}}},
		{"say-lines", "SAY one\n\n  SAY two", []seen{{text: "one\ntwo"}}},
		{"echo", "What is this?\nIt is  a test", []seen{{text: "What is this?\nIt is  a test"}}},
		{"echo-unknown-line", "SAY one\nwhatever", []seen{{text: "one\nwhatever"}}},
		{"echo-wrong-argument", "FAIL to see\nTWO birds\nSTEPS 0\nSTEPS 1001\nRATE x\nFAIL 200\nRUN", []seen{{
			text: "FAIL to see\nTWO birds\nSTEPS 0\nSTEPS 1001\nRATE x\nFAIL 200\nRUN",
		}}},
		{"think", "THINK hard about it\nSAY done", []seen{{thought: "hard about it", text: "done"}}},
		{"run", "RUN ls -l", []seen{
			{calls: bash, inputs: []string{`"command":"ls -l"`}},
			{text: `result: bash got `},
		}},
		{"run-and-more", "SAY first\nRUN a\nSAY then\nRUN b\nSAY last", []seen{
			{text: "first", calls: bash, inputs: []string{`"command":"a"`}},
			{text: "result: …\nthen", calls: bash, inputs: []string{`"command":"b"`}},
			{text: "result: …\nlast"},
		}},
		{"edit", "EDIT a/b.txt", []seen{
			{calls: []string{"write"}, inputs: []string{`"content":"edited by the fake model\n","filePath":"a/b.txt"`}},
			{text: "result: "},
		}},
		{"edit-text", "EDIT b.txt some words", []seen{
			{calls: []string{"write"}, inputs: []string{`"content":"some words\n"`}},
			{text: "result: "},
		}},
		{"plan", "PLAN one; two", []seen{
			{calls: []string{"todowrite"}, inputs: []string{
				`{"content":"one","priority":"high","status":"in_progress"},{"content":"two","priority":"high","status":"pending"}`,
			}},
			{text: "result: "},
		}},
		{"plan-default", "PLAN", []seen{{calls: []string{"todowrite"}, inputs: []string{"look around"}}, {text: "result: "}}},
		{"agent", "AGENT SAY hi", []seen{
			{calls: []string{"task"}, inputs: []string{`"prompt":"SAY hi","subagent_type":"general"`}},
			{text: "result: "},
		}},
		{"agent-default", "AGENT", []seen{{calls: []string{"task"}, inputs: []string{"SAY the sub-agent"}}, {text: "result: "}}},
		{"call", `CALL odowrite {"todos":[]}`, []seen{{calls: []string{"todowrite"}, inputs: []string{`{"todos":[]}`}}, {text: "result: "}}},
		{"call-default", "CALL todowrite", []seen{{calls: []string{"todowrite"}, inputs: []string{`"todos":`}}, {text: "result: "}}},
		{"two", "TWO", []seen{
			{calls: []string{"bash", "bash"}, inputs: []string{"echo one", "echo two"}},
			{text: "result 1: bash got …\nresult 2: bash got "},
		}},
		{"steps", "STEPS 3\nSAY end", []seen{
			{calls: bash, inputs: []string{"echo step 1"}},
			{text: "result: ", calls: bash, inputs: []string{"echo step 2"}},
			{text: "result: ", calls: bash, inputs: []string{"echo step 3"}},
			{text: "result: …\nend"},
		}},
		{"bad", "BAD", []seen{{calls: bash, inputs: []string{`{"command": "echo one`}}, {text: "result: "}}},
		{"unknown", "UNKNOWN", []seen{{calls: []string{"tool_that_nobody_offers"}, inputs: []string{"{}"}}, {text: "result: "}}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			everywhere(t, func(t *testing.T, c client, stream bool) {
				is := is.New(t)
				replies := work(t, fakemodel.New(fakemodel.Options{}).Start(t), c, test.script, stream, echo)
				is.Equal(len(replies), len(test.want)) // answers
				for i, want := range test.want {
					got := replies[i]
					if !matches(got.text, want.text) {
						t.Errorf("answer %d says %q, not %q", i, got.text, want.text)
					}
					is.Equal(got.thought, want.thought)
					is.Equal(len(got.calls), len(want.calls)) // calls
					for j, call := range got.calls {
						is.Equal(call.name, want.calls[j])
						if !strings.Contains(call.input, want.inputs[j]) {
							t.Errorf("call %d of answer %d has %s, not %s", j, i, call.input, want.inputs[j])
						}
						is.Equal(json.Valid([]byte(call.input)), test.rule != "bad") // JSON
					}
					is.Equal(got.stop, stops(c, len(got.calls) > 0))
				}
			})
		})
	}
}

// matches compares with a pattern: … is any text, and a colon with a space at the end may be followed by any.
func matches(got, pattern string) bool {
	before, after, ok := strings.Cut(pattern, "…")
	if !ok {
		return got == pattern || (strings.HasSuffix(pattern, " ") || strings.HasSuffix(pattern, ": ")) && strings.HasPrefix(got, pattern)
	}
	if !strings.HasPrefix(got, before) {
		return false
	}
	if strings.HasSuffix(after, " ") {
		return strings.Contains(got, after)
	}
	return strings.HasSuffix(got, after)
}

func stops(c client, calls bool) string {
	switch c.(type) {
	case chatClient:
		return map[bool]string{true: "tool_calls", false: "stop"}[calls]
	case messagesClient:
		return map[bool]string{true: "tool_use", false: "end_turn"}[calls]
	}
	return "completed"
}

func TestFail(t *testing.T) {
	t.Run("status", func(t *testing.T) {
		everywhere(t, func(t *testing.T, c client, stream bool) {
			is := is.New(t)
			url := fakemodel.New(fakemodel.Options{}).Start(t)
			for status, kinds := range map[int][2]string{ // OpenAI, Anthropic
				400: {"invalid_request_error", "invalid_request_error"}, 401: {"invalid_request_error", "authentication_error"},
				402: {"invalid_request_error", "billing_error"}, 403: {"invalid_request_error", "permission_error"},
				404: {"invalid_request_error", "not_found_error"}, 413: {"invalid_request_error", "request_too_large"},
				429: {"requests", "rate_limit_error"}, 500: {"server_error", "api_error"},
				504: {"server_error", "timeout_error"}, 529: {"server_error", "overloaded_error"},
			} {
				got := ask(t, url, c, []turn{{user: fmt.Sprintf("FAIL %d", status)}}, stream)
				is.Equal(got.status, status)
				is.Equal(got.message, fmt.Sprintf("the script asked for status %d", status))
				is.Equal(got.errorType, pick(c, kinds))
			}
			is.Equal(ask(t, url, c, []turn{{user: "FAIL"}}, stream).status, 500) // by default
		})
	})
	t.Run("within", func(t *testing.T) {
		everywhere(t, func(t *testing.T, c client, stream bool) {
			is := is.New(t)
			got := ask(t, fakemodel.New(fakemodel.Options{}).Start(t), c, []turn{{user: "SAY so far\nFAIL 503\nSAY never"}}, stream)
			is.Equal(got.message, "the script asked for status 503")
			if stream {
				is.Equal(got.text, "so far")
				is.Equal(got.status, 0) // the stream had begun
			} else {
				is.Equal(got.status, 503)
			}
		})
	})
	t.Run("after-a-tool", func(t *testing.T) {
		everywhere(t, func(t *testing.T, c client, stream bool) {
			is := is.New(t)
			replies := work(t, fakemodel.New(fakemodel.Options{}).Start(t), c, "RUN x\nFAIL 500", stream, echo)
			is.Equal(len(replies), 2)
			is.Equal(replies[1].status, 500)
		})
	})
}

// pick is the word of OpenAI or of Anthropic.
func pick(c client, words [2]string) string {
	if _, ok := c.(messagesClient); ok {
		return words[1]
	}
	return words[0]
}

func TestRate(t *testing.T) {
	everywhere(t, func(t *testing.T, c client, stream bool) {
		is := is.New(t)
		url := fakemodel.New(fakemodel.Options{RetryAfter: 1500e6}).Start(t)
		for range 2 { // the count begins anew after a success
			for range 2 {
				got := ask(t, url, c, []turn{{user: "RATE 2\nSAY in"}}, stream)
				is.Equal(got.status, http.StatusTooManyRequests)
				is.Equal(got.header.Get("Retry-After"), "2") // rounded up
				is.Equal(got.header.Get("Retry-After-Ms"), "1500")
				is.Equal(got.errorType, pick(c, [2]string{"requests", "rate_limit_error"}))
				is.True(strings.Contains(got.message, "try again in 1.5s"))
			}
			is.Equal(ask(t, url, c, []turn{{user: "RATE 2\nSAY in"}}, stream).text, "in")
		}
		is.Equal(ask(t, url, c, []turn{{user: "RATE"}}, stream).status, http.StatusTooManyRequests)
		is.Equal(ask(t, url, c, []turn{{user: "RATE"}}, stream).text, "done")
	})
}

func TestImage(t *testing.T) {
	const data = "data:image/png;base64,AAAA"
	is := is.New(t)
	url := fakemodel.New(fakemodel.Options{}).Start(t)
	for _, test := range []struct {
		c       client
		message object
	}{
		{responsesClient{}, object{"role": "user", "content": []any{
			object{"type": "input_text", "text": "IMAGE"}, object{"type": "input_image", "image_url": data},
			object{"type": "input_image", "image_url": "https://example.com/x"},
		}}},
		{chatClient{}, object{"role": "user", "content": []any{
			object{"type": "text", "text": "IMAGE"}, object{"type": "image_url", "image_url": object{"url": data}},
			object{"type": "image_url", "image_url": object{"url": "https://example.com/x"}},
		}}},
		{messagesClient{}, object{"role": "user", "content": []any{
			object{"type": "text", "text": "IMAGE"},
			object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": "AAAA"}},
			object{"type": "image", "source": object{"type": "url", "url": "https://example.com/x"}},
		}}},
	} {
		body := test.c.body(nil, false)
		body["messages"], body["input"] = []any{test.message}, []any{test.message}
		is.Equal(post(t, url, test.c, body, false).text, "2 images: image/png, image")
	}
}

func TestConversation(t *testing.T) {
	t.Run("the-last-message-decides", func(t *testing.T) {
		everywhere(t, func(t *testing.T, c client, stream bool) {
			is := is.New(t)
			url := fakemodel.New(fakemodel.Options{}).Start(t)
			first := ask(t, url, c, []turn{{user: "RUN a"}}, stream)
			history := []turn{{user: "RUN a"}, {reply: &first, results: []string{"x"}}, {user: "RUN b"}}
			second := ask(t, url, c, history, stream)
			is.Equal(len(second.calls), 1) // the round before does not count
			is.True(second.calls[0].id != first.calls[0].id)
			history = append(history, turn{reply: &second, results: []string{"y"}})
			is.Equal(ask(t, url, c, history, stream).text, "result: y")
		})
	})
	t.Run("ids-are-the-same-in-every-run", func(t *testing.T) {
		everywhere(t, func(t *testing.T, c client, stream bool) {
			is := is.New(t)
			var ids [2][]string
			for i := range ids {
				for _, reply := range work(t, fakemodel.New(fakemodel.Options{}).Start(t), c, "TWO\nSTEPS 2", stream, echo) {
					for _, call := range reply.calls {
						ids[i] = append(ids[i], call.id)
					}
				}
			}
			is.Equal(ids[0], ids[1])
			is.Equal(len(slices.Compact(slices.Sorted(slices.Values(ids[0])))), 4) // distinct
		})
	})
	t.Run("foreign-ids-count-too", func(t *testing.T) {
		everywhere(t, func(t *testing.T, c client, stream bool) {
			is := is.New(t)
			url := fakemodel.New(fakemodel.Options{}).Start(t)
			history := []turn{{user: "TWO\nRUN b\nSAY end"}}
			for range 2 {
				got := ask(t, url, c, history, stream)
				encoded, err := json.Marshal(got.raw)
				is.NoErr(err)
				for i := range got.calls { // as agents do that make ids of their own
					own := fmt.Sprintf("toolu_%d_%d", len(history), i)
					encoded = []byte(strings.ReplaceAll(string(encoded), got.calls[i].id, own))
					got.calls[i].id = own
				}
				is.NoErr(json.Unmarshal(encoded, &got.raw))
				history = append(history, turn{reply: &got, results: []string{"r", "r"}[:len(got.calls)]})
			}
			is.Equal(ask(t, url, c, history, stream).text, "result: r\nend")
		})
	})
	t.Run("calls-sent-back-one-by-one", func(t *testing.T) {
		is := is.New(t)
		c := responsesClient{}
		url := fakemodel.New(fakemodel.Options{}).Start(t)
		got := ask(t, url, c, []turn{{user: "TWO\nSAY end"}}, true)
		body := c.body([]turn{{user: "TWO\nSAY end"}}, true)
		input, _ := body["input"].([]any)
		for i, item := range got.raw {
			input = append(input, item, object{"type": "function_call_output", "call_id": got.calls[i].id, "output": fmt.Sprint(i)})
		}
		body["input"] = input
		is.Equal(post(t, url, c, body, true).text, "result 1: 0\nresult 2: 1\nend")
	})
	t.Run("context-of-agents-is-not-said", func(t *testing.T) {
		everywhere(t, func(t *testing.T, c client, stream bool) {
			url := fakemodel.New(fakemodel.Options{}).Start(t)
			for _, message := range []string{
				"<system-reminder>\nSAY no\n</system-reminder>\nSAY yes",
				"SAY yes\n<system-reminder>SAY no</system-reminder>",
				"<environment_context a=\"b\"><cwd>/x</cwd></environment_context> <user_instructions>SAY no</user_instructions>SAY yes",
			} {
				is.New(t).Equal(ask(t, url, c, []turn{{user: message}}, stream).text, "yes")
			}
			for _, message := range []string{
				"<environment_context>SAY no</environment_context>",
				"# AGENTS.md instructions for /x\n\nSAY no",
			} {
				is.New(t).Equal(ask(t, url, c, []turn{{user: "SAY yes"}, {user: message}}, stream).text, "yes")
			}
			for _, message := range []string{"<b>bold</b>", "<a-b", "<a-b>", "x </a-b>", "a > b", "</>"} {
				is.New(t).Equal(ask(t, url, c, []turn{{user: message}}, stream).text, message) // words of the user
			}
		})
	})
	t.Run("titles-are-no-scripts", func(t *testing.T) {
		everywhere(t, func(t *testing.T, c client, stream bool) {
			is := is.New(t)
			body := c.body([]turn{{user: "FAIL"}}, stream)
			delete(body, "tools")
			const order = "You are a Title generator."
			body["instructions"], body["system"] = order, order
			if list, ok := body["messages"].([]any); ok {
				if _, ok := c.(chatClient); ok {
					body["messages"] = append([]any{object{"role": "system", "content": order}}, list...)
				}
			}
			url := fakemodel.New(fakemodel.Options{}).Start(t)
			is.Equal(post(t, url, c, body, stream).text, "A title")
			body["tools"] = c.body(nil, stream)["tools"]
			is.Equal(post(t, url, c, body, stream).status, 500) // an agent at work, whatever it is told of titles
		})
	})
	t.Run("long-results-are-cut", func(t *testing.T) {
		is := is.New(t)
		replies := work(t, fakemodel.New(fakemodel.Options{}).Start(t), chatClient{}, "RUN x", true,
			func(call) string { return "x" + strings.Repeat("ä", 5000) })
		is.Equal(replies[1].text, "result: x"+strings.Repeat("ä", 2047)+"…") // no character is torn
	})
	t.Run("a-turn-without-words", func(t *testing.T) {
		is := is.New(t)
		body := chatClient{}.body(nil, false)
		is.Equal(post(t, fakemodel.New(fakemodel.Options{}).Start(t), chatClient{}, body, false).text, "nothing was said")
	})
}

func TestPieces(t *testing.T) {
	everywhere(t, func(t *testing.T, c client, stream bool) {
		if !stream {
			return
		}
		is := is.New(t)
		url := fakemodel.New(fakemodel.Options{}).Start(t)
		got := ask(t, url, c, []turn{{user: "SAY äöü äöü äöü äöü äöü"}}, true)
		is.Equal(got.text, "äöü äöü äöü äöü äöü") // no character is torn
		is.True(got.textPieces > 3)
		is.True(ask(t, url, c, []turn{{user: "RUN some command"}}, true).callPieces > 3)
		long := strings.Repeat("ä€ ", 100_000)
		got = ask(t, url, c, []turn{{user: "SAY " + long}}, true)
		is.Equal(got.text, strings.TrimSpace(long))
		is.True(got.textPieces <= 201) // no flood
	})
}

func TestUsage(t *testing.T) {
	everywhere(t, func(t *testing.T, c client, stream bool) {
		is := is.New(t)
		got := ask(t, fakemodel.New(fakemodel.Options{}).Start(t), c, []turn{{user: "SAY 12345678"}}, stream)
		body, err := json.Marshal(c.body([]turn{{user: "SAY 12345678"}}, stream))
		is.NoErr(err)
		is.Equal(got.in, (len(body)+3)/4)
		is.Equal(got.out, 2)
		usage := fakemodel.Usage{Input: 1000, Cached: 400, Output: 70, Reasoning: 20}
		got = ask(t, fakemodel.New(fakemodel.Options{Usage: usage}).Start(t), c, []turn{{user: "SAY 12345678"}}, stream)
		is.Equal([]int{got.in, got.cached, got.out}, []int{1000, 400, 70})
	})
}
