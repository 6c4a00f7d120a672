package fakemodel_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// An object is a JSON object.
type object = map[string]any

// A reply is what a client makes of an answer.
type reply struct {
	status     int // 0 for a stream that failed after it had begun
	errorType  string
	message    string // of the error
	header     http.Header
	text       string
	thought    string
	calls      []call
	stop       string
	in, out    int
	cached     int
	textPieces int
	callPieces int // of the first call
	raw        []any
}

// A call is a tool call; input is the text of a custom tool or JSON.
type call struct{ id, name, namespace, kind, input string }

// A turn is one entry of a history: a message of the user, or an answer with the results of its calls.
type turn struct {
	user    string
	reply   *reply
	results []string
}

// A client is a reference client of one API: it checks the order and the consistency of all that it is sent.
type client interface {
	// path is where requests go.
	path() string
	// body is a request. Tools have been given in the form of the API, or are the usual ones.
	body(history []turn, stream bool) object
	// stream assembles events.
	stream(events []event) (reply, error)
	// whole reads an answer that was not streamed.
	whole(body object) reply
	// failure reads the body of an error.
	failure(body object) (kind, message string)
}

func clients() map[string]client {
	return map[string]client{"responses": responsesClient{}, "chat": chatClient{}, "messages": messagesClient{}}
}

// schemas are the usual tools of an agent.
func schemas() map[string]object {
	text := object{"type": "string"}
	todo := object{"type": "object", "required": []any{"content", "status", "priority"}, "properties": object{
		"content": text, "status": object{"type": "string"}, "priority": object{"enum": []any{"high", "low"}},
	}}
	return map[string]object{
		"bash": {"type": "object", "required": []any{"command", "description"}, "properties": object{
			"command": text, "description": text, "timeout": object{"type": "number"},
		}},
		"write": {"type": "object", "required": []any{"filePath", "content"}, "properties": object{
			"filePath": text, "content": text,
		}},
		"todowrite": {"type": "object", "required": []any{"todos"}, "properties": object{
			"todos": object{"type": "array", "items": todo},
		}},
		"task": {"type": "object", "required": []any{"description", "prompt", "subagent_type"}, "properties": object{
			"description": text, "prompt": text, "subagent_type": text, "command": text,
		}},
	}
}

func names() []string { return []string{"bash", "write", "todowrite", "task"} }

// ask makes one request.
func ask(t *testing.T, url string, c client, history []turn, stream bool) reply {
	t.Helper()
	return post(t, url, c, c.body(history, stream), stream)
}

func post(t *testing.T, url string, c client, body object, stream bool) reply {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+c.path(), bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		failure := reply{status: answer.StatusCode, header: answer.Header}
		failure.errorType, failure.message = c.failure(readObject(t, answer.Body))
		return failure
	}
	var got reply
	if stream {
		if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
			t.Fatalf("a stream has content type %q", kind)
		}
		events, err := readEvents(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = c.stream(events); err != nil {
			t.Fatalf("%v in\n%v", err, events)
		}
	} else {
		got = c.whole(readObject(t, answer.Body))
	}
	got.header = answer.Header
	if got.errorType == "" {
		got.status = answer.StatusCode
	}
	return got
}

// work is an agent: it asks, runs the tools, and asks again until no tool is wanted.
func work(t *testing.T, url string, c client, script string, stream bool, run func(call) string) []reply {
	t.Helper()
	history := []turn{{user: script}}
	var replies []reply
	for range 50 {
		got := ask(t, url, c, history, stream)
		replies = append(replies, got)
		if len(got.calls) == 0 {
			return replies
		}
		done := turn{reply: &got}
		for _, call := range got.calls {
			done.results = append(done.results, run(call))
		}
		history = append(history, done)
	}
	t.Fatalf("%s never ends", script)
	return nil
}

func readObject(t *testing.T, r io.Reader) object {
	t.Helper()
	var body object
	if err := json.NewDecoder(r).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

// An event is a server-sent event.
type event struct {
	name string
	data string
	body object // nil when the data are no object
}

func readEvents(r io.Reader) ([]event, error) {
	var events []event
	var current event
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		line := scanner.Text()
		switch {
		case line == "":
			_ = json.Unmarshal([]byte(current.data), &current.body)
			events = append(events, current)
			current = event{}
		case strings.HasPrefix(line, "event: "):
			current.name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			current.data += line[len("data: "):]
		default:
			return nil, fmt.Errorf("unexpected line %q", line)
		}
	}
	return events, scanner.Err()
}

// in digs a value out of nested objects and lists; nil when it is not there.
func in(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			o, _ := v.(object)
			v = o[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func text(v any, path ...any) string {
	s, _ := in(v, path...).(string)
	return s
}

func number(v any, path ...any) int {
	n, _ := in(v, path...).(float64)
	return int(n)
}

type responsesClient struct{}

func (responsesClient) path() string { return "/v1/responses" }

func (responsesClient) body(history []turn, stream bool) object {
	var input, tools []any
	for _, turn := range history {
		if turn.reply == nil {
			input = append(input, object{"type": "message", "role": "user",
				"content": []any{object{"type": "input_text", "text": turn.user}}})
			continue
		}
		input = append(input, turn.reply.raw...)
		for i, result := range turn.results {
			kind := strings.Replace(turn.reply.calls[i].kind, "_call", "_call_output", 1)
			input = append(input, object{"type": kind, "call_id": turn.reply.calls[i].id, "output": result})
		}
	}
	for _, name := range names() {
		tools = append(tools, object{"type": "function", "name": name, "parameters": schemas()[name]})
	}
	return object{"model": "any", "input": input, "tools": tools, "stream": stream, "store": false}
}

func (c responsesClient) stream(events []event) (reply, error) {
	var got reply
	var items []any // done
	open, parts := "", map[string]string{}
	for i, e := range events {
		if e.body == nil || e.name != text(e.body, "type") || number(e.body, "sequence_number") != i {
			return got, fmt.Errorf("event %d has another name or number than its body", i)
		}
		if i == 0 && e.name != "response.created" || i == 1 && e.name != "response.in_progress" {
			return got, fmt.Errorf("event %d is %s", i, e.name)
		}
		id := text(e.body, "item_id")
		if id != "" && id != open {
			return got, fmt.Errorf("%s is for %q within %q", e.name, id, open)
		}
		delta := text(e.body, "delta")
		switch e.name {
		case "response.created", "response.in_progress":
			if text(e.body, "response", "status") != "in_progress" {
				return got, fmt.Errorf("%s is not in progress", e.name)
			}
		case "response.output_item.added":
			if open != "" || number(e.body, "output_index") != len(items) {
				return got, fmt.Errorf("an item begins within %q", open)
			}
			open, parts = text(e.body, "item", "id"), map[string]string{}
		case "response.content_part.added", "response.reasoning_summary_part.added":
			parts["part"] = "open"
		case "response.output_text.delta", "response.reasoning_summary_text.delta":
			if parts["part"] != "open" {
				return got, fmt.Errorf("a text comes outside a part")
			}
			parts["text"] += delta
			got.textPieces++
		case "response.output_text.done", "response.reasoning_summary_text.done":
			if parts["text"] != text(e.body, "text") {
				return got, fmt.Errorf("the text is %q, its pieces are %q", text(e.body, "text"), parts["text"])
			}
		case "response.content_part.done", "response.reasoning_summary_part.done":
			if parts["text"] != text(e.body, "part", "text") {
				return got, fmt.Errorf("the part is another than its pieces")
			}
			parts["part"] = "done"
		case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
			parts["arguments"] += delta
			if len(got.calls) == 0 {
				got.callPieces++
			}
		case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
			if parts["arguments"] != text(e.body, "arguments")+text(e.body, "input") {
				return got, fmt.Errorf("the arguments are others than their pieces")
			}
		case "response.output_item.done":
			item := in(e.body, "item")
			if text(item, "id") != open || parts["part"] == "open" {
				return got, fmt.Errorf("the item %q ends within %q", text(item, "id"), open)
			}
			assembled := text(item, "content", 0, "text") + text(item, "summary", 0, "text") +
				text(item, "arguments") + text(item, "input")
			if assembled != parts["text"]+parts["arguments"] {
				return got, fmt.Errorf("the item is another than its pieces")
			}
			items, open = append(items, item), ""
			pieces, callPieces := got.textPieces, got.callPieces
			got = c.read(items)
			got.textPieces, got.callPieces = pieces, callPieces
		case "response.failed":
			got.errorType, got.message = text(e.body, "response", "error", "code"), text(e.body, "response", "error", "message")
			return got, nil
		case "response.completed":
			done := c.whole(in(e.body, "response").(object))
			if i != len(events)-1 || open != "" || done.text != got.text || len(done.calls) != len(got.calls) {
				return got, fmt.Errorf("the response is another than its items")
			}
			done.textPieces, done.callPieces = got.textPieces, got.callPieces
			return done, nil
		default:
			return got, fmt.Errorf("unknown event %s", e.name)
		}
	}
	return got, fmt.Errorf("the stream has no end")
}

func (c responsesClient) whole(body object) reply {
	output, _ := body["output"].([]any)
	got := c.read(output)
	got.stop = text(body, "status")
	got.in, got.out = number(body, "usage", "input_tokens"), number(body, "usage", "output_tokens")
	got.cached = number(body, "usage", "input_tokens_details", "cached_tokens")
	return got
}

func (responsesClient) read(items []any) reply {
	got := reply{raw: items}
	for _, item := range items {
		switch kind := text(item, "type"); kind {
		case "message":
			got.text += text(item, "content", 0, "text")
		case "reasoning":
			got.thought += text(item, "summary", 0, "text")
		case "local_shell_call":
			command, _ := json.Marshal(in(item, "action", "command"))
			got.calls = append(got.calls, call{id: text(item, "call_id"), kind: kind, input: string(command)})
		default:
			got.calls = append(got.calls, call{
				id: text(item, "call_id"), name: text(item, "name"), namespace: text(item, "namespace"), kind: kind,
				input: text(item, "arguments") + text(item, "input"),
			})
		}
	}
	return got
}

func (responsesClient) failure(body object) (string, string) {
	return text(body, "error", "type"), text(body, "error", "message")
}

type chatClient struct{}

func (chatClient) path() string { return "/v1/chat/completions" }

func (chatClient) body(history []turn, stream bool) object {
	messages := []any{object{"role": "system", "content": "You work."}}
	var tools []any
	for _, turn := range history {
		if turn.reply == nil {
			messages = append(messages, object{"role": "user", "content": turn.user})
			continue
		}
		var calls []any
		for _, call := range turn.reply.calls {
			calls = append(calls, object{"id": call.id, "type": "function",
				"function": object{"name": call.name, "arguments": call.input}})
		}
		messages = append(messages, object{"role": "assistant", "content": turn.reply.text, "tool_calls": calls})
		for i, result := range turn.results {
			messages = append(messages, object{"role": "tool", "tool_call_id": turn.reply.calls[i].id, "content": result})
		}
	}
	for _, name := range names() {
		tools = append(tools, object{"type": "function", "function": object{"name": name, "parameters": schemas()[name]}})
	}
	body := object{"model": "any", "messages": messages, "tools": tools}
	if stream {
		body["stream"], body["stream_options"] = true, object{"include_usage": true}
	}
	return body
}

func (c chatClient) stream(events []event) (reply, error) {
	var got reply
	for i, e := range events {
		if e.name != "" {
			return got, fmt.Errorf("chat completions have no event names")
		}
		if e.data == "[DONE]" {
			if i != len(events)-1 || got.stop == "" || got.in == 0 {
				return got, fmt.Errorf("the stream ends too early")
			}
			return got, nil
		}
		if in(e.body, "error") != nil {
			got.errorType, got.message = c.failure(e.body)
			return got, nil
		}
		if text(e.body, "object") != "chat.completion.chunk" || text(e.body, "model") != "any" {
			return got, fmt.Errorf("not a chunk: %s", e.data)
		}
		if usage := in(e.body, "usage"); usage != nil {
			c.usage(&got, usage)
			continue
		}
		if got.stop != "" {
			return got, fmt.Errorf("a chunk comes after the last")
		}
		delta := in(e.body, "choices", 0, "delta")
		if i == 0 && text(delta, "role") != "assistant" {
			return got, fmt.Errorf("the first chunk has no role")
		}
		got.stop = text(e.body, "choices", 0, "finish_reason")
		got.thought += text(delta, "reasoning_content")
		if piece := text(delta, "content"); piece != "" {
			got.text += piece
			got.textPieces++
		}
		if in(delta, "tool_calls") == nil {
			continue
		}
		piece := in(delta, "tool_calls", 0)
		at := number(piece, "index")
		if id := text(piece, "id"); id != "" {
			if at != len(got.calls) {
				return got, fmt.Errorf("call %s has index %d", id, at)
			}
			got.calls = append(got.calls, call{id: id, name: text(piece, "function", "name"), kind: text(piece, "type")})
		}
		if at != len(got.calls)-1 {
			return got, fmt.Errorf("a piece is for call %d", at)
		}
		got.calls[at].input += text(piece, "function", "arguments")
		if at == 0 {
			got.callPieces++
		}
	}
	return got, fmt.Errorf("the stream has no end")
}

func (c chatClient) whole(body object) reply {
	message := in(body, "choices", 0, "message")
	got := reply{
		text: text(message, "content"), thought: text(message, "reasoning_content"),
		stop: text(body, "choices", 0, "finish_reason"),
	}
	calls, _ := in(message, "tool_calls").([]any)
	for _, v := range calls {
		got.calls = append(got.calls, call{
			id: text(v, "id"), name: text(v, "function", "name"), kind: text(v, "type"), input: text(v, "function", "arguments"),
		})
	}
	c.usage(&got, body["usage"])
	return got
}

func (chatClient) usage(got *reply, usage any) {
	got.in, got.out = number(usage, "prompt_tokens"), number(usage, "completion_tokens")
	got.cached = number(usage, "prompt_tokens_details", "cached_tokens")
}

func (chatClient) failure(body object) (string, string) {
	return text(body, "error", "type"), text(body, "error", "message")
}

type messagesClient struct{}

func (messagesClient) path() string { return "/v1/messages" }

func (messagesClient) body(history []turn, stream bool) object {
	var messages, tools []any
	for _, turn := range history {
		if turn.reply == nil {
			messages = append(messages, object{"role": "user", "content": []any{object{"type": "text", "text": turn.user}}})
			continue
		}
		var results []any
		for i, result := range turn.results {
			results = append(results, object{"type": "tool_result", "tool_use_id": turn.reply.calls[i].id,
				"content": []any{object{"type": "text", "text": result}}})
		}
		messages = append(messages, object{"role": "assistant", "content": turn.reply.raw},
			object{"role": "user", "content": results})
	}
	for _, name := range names() {
		tools = append(tools, object{"name": name, "input_schema": schemas()[name]})
	}
	return object{"model": "any", "max_tokens": 1000, "messages": messages, "tools": tools, "stream": stream}
}

func (c messagesClient) stream(events []event) (reply, error) {
	var message object
	var blocks []any
	var got reply
	broken := map[int]string{} // inputs that are no JSON
	partial, open, stopped := "", false, false
	for i, e := range events {
		if e.body == nil || e.name != text(e.body, "type") {
			return got, fmt.Errorf("event %d has another name than its body", i)
		}
		if i == 0 && e.name != "message_start" {
			return got, fmt.Errorf("the first event is %s", e.name)
		}
		if i == 1 && e.name != "ping" {
			return got, fmt.Errorf("the second event is %s", e.name)
		}
		if strings.HasPrefix(e.name, "content_block") && number(e.body, "index") != len(blocks)-1 &&
			!(e.name == "content_block_start" && number(e.body, "index") == len(blocks)) {
			return got, fmt.Errorf("%s has a wrong index", e.name)
		}
		switch e.name {
		case "message_start":
			message, _ = in(e.body, "message").(object)
			if in(message, "stop_reason") != nil || number(message, "usage", "output_tokens") != 1 {
				return got, fmt.Errorf("the message begins at its end")
			}
		case "ping":
		case "content_block_start":
			if open {
				return got, fmt.Errorf("a block begins in another")
			}
			blocks, open, partial = append(blocks, in(e.body, "content_block")), true, ""
		case "content_block_delta":
			block, _ := blocks[len(blocks)-1].(object)
			delta := in(e.body, "delta")
			switch text(delta, "type") {
			case "text_delta":
				block["text"] = text(block, "text") + text(delta, "text")
				got.textPieces++
			case "thinking_delta":
				block["thinking"] = text(block, "thinking") + text(delta, "thinking")
			case "signature_delta":
				block["signature"] = text(delta, "signature")
			case "input_json_delta":
				partial += text(delta, "partial_json")
				if len(blocks) == 1 || text(blocks[len(blocks)-2], "type") != "tool_use" {
					got.callPieces++
				}
			default:
				return got, fmt.Errorf("unknown delta %v", delta)
			}
		case "content_block_stop":
			block, _ := blocks[len(blocks)-1].(object)
			if text(block, "type") == "thinking" && text(block, "signature") == "" {
				return got, fmt.Errorf("a thought has no signature")
			}
			if text(block, "type") == "tool_use" {
				var input any
				if json.Unmarshal([]byte(partial), &input) != nil {
					broken[len(blocks)-1] = partial
				} else {
					block["input"] = input
				}
			}
			open = false
		case "message_delta":
			message["stop_reason"] = in(e.body, "delta", "stop_reason")
			message["usage"].(object)["output_tokens"] = in(e.body, "usage", "output_tokens")
			stopped = true
		case "message_stop":
			if !stopped || open || i != len(events)-1 {
				return got, fmt.Errorf("the message stops too early")
			}
			message["content"] = blocks
			done := c.whole(message)
			n := 0
			for at, block := range blocks {
				if text(block, "type") == "tool_use" {
					if b, ok := broken[at]; ok {
						done.calls[n].input = b
					}
					n++
				}
			}
			done.textPieces, done.callPieces = got.textPieces, got.callPieces
			return done, nil
		case "error":
			message["content"] = blocks
			got = c.whole(message)
			got.errorType, got.message = c.failure(e.body)
			return got, nil
		default:
			return got, fmt.Errorf("unknown event %s", e.name)
		}
	}
	return got, fmt.Errorf("the stream has no end")
}

func (messagesClient) whole(body object) reply {
	got := reply{stop: text(body, "stop_reason"), out: number(body, "usage", "output_tokens")}
	got.cached = number(body, "usage", "cache_read_input_tokens")
	got.in = number(body, "usage", "input_tokens") + got.cached
	got.raw, _ = body["content"].([]any)
	for _, block := range got.raw {
		switch kind := text(block, "type"); kind {
		case "text":
			got.text += text(block, "text")
		case "thinking":
			got.thought += text(block, "thinking")
		case "tool_use":
			input, _ := json.Marshal(in(block, "input"))
			if s, ok := in(block, "input").(string); ok {
				input = []byte(s)
			}
			got.calls = append(got.calls, call{id: text(block, "id"), name: text(block, "name"), kind: kind, input: string(input)})
		}
	}
	return got
}

func (messagesClient) failure(body object) (string, string) {
	if text(body, "type") != "error" {
		return "", ""
	}
	return text(body, "error", "type"), text(body, "error", "message")
}
