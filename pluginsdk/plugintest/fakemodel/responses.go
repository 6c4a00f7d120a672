package fakemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
)

// responses is OpenAI Responses, POST /v1/responses.
type responses struct{ openAI }

type responsesRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"`
	Instructions json.RawMessage `json:"instructions"`
	Stream       bool            `json:"stream"`
	Tools        []responsesTool `json:"tools"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Parallel     *bool           `json:"parallel_tool_calls"`
	Include      []string        `json:"include"`
	Previous     string          `json:"previous_response_id"`
	CacheKey     string          `json:"prompt_cache_key"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Tools       []responsesTool `json:"tools"` // of a namespace
}

type responsesItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"call_id"`
	Output  json.RawMessage `json:"output"`
}

func (responses) decode(body []byte) (*conversation, error) {
	var r responsesRequest
	if err := decodeInto(body, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, refused(http.StatusBadRequest, "model is missing")
	case len(r.Input) == 0:
		return nil, refused(http.StatusBadRequest, "input is missing")
	case r.Previous != "":
		f := refused(http.StatusBadRequest, "response %q is not stored; send the whole conversation", r.Previous)
		f.code = "previous_response_not_found"
		return nil, f
	}
	c := &conversation{
		model: r.Model, stream: r.Stream, size: len(body), cacheKey: r.CacheKey,
		parallel: r.Parallel == nil || *r.Parallel,
		sealed:   slices.Contains(r.Include, "reasoning.encrypted_content"),
	}
	if !offersNone(r.ToolChoice) {
		for _, t := range r.Tools {
			c.tools = append(c.tools, t.offered()...)
		}
	}
	if err := c.instructed(r.Instructions); err != nil {
		return nil, refused(http.StatusBadRequest, "instructions: %v", err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(r.Input), []byte{'"'}) {
		return c, c.said(r.Input)
	}
	var items []responsesItem
	if err := json.Unmarshal(r.Input, &items); err != nil {
		return nil, refused(http.StatusBadRequest, "input is a text or a list of items: %v", err)
	}
	for i, item := range items {
		if err := item.addTo(c); err != nil {
			return nil, refused(http.StatusBadRequest, "input[%d]: %v", i, err)
		}
	}
	return c, nil
}

func (t responsesTool) offered() []Tool {
	switch t.Type {
	case KindFunction, KindCustom:
		return []Tool{{Name: t.Name, Kind: t.Type, Description: t.Description, Schema: t.Parameters}}
	case KindLocalShell:
		return []Tool{{Name: KindLocalShell, Kind: KindLocalShell}}
	}
	var tools []Tool
	for _, sub := range t.Tools {
		if sub.Type == KindFunction || sub.Type == KindCustom {
			tools = append(tools, Tool{
				Name: sub.Name, Namespace: t.Name, Kind: sub.Type, Description: sub.Description, Schema: sub.Parameters,
			})
		}
	}
	return tools
}

func (item responsesItem) addTo(c *conversation) error {
	switch item.Type {
	case "", "message":
		switch item.Role {
		case "user":
			return c.said(item.Content)
		case "system", "developer":
			return c.instructed(item.Content)
		}
	case "function_call", "custom_tool_call", "local_shell_call":
		c.called(item.CallID)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		return c.answered(item.Output)
	}
	return nil
}

func (responses) events(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		s := &responsesStream{yield: yield, on: true}
		s.send("response.created", object{"response": a.response("in_progress", nil)})
		s.send("response.in_progress", object{"response": a.response("in_progress", nil)})
		var output []any
		for i, p := range a.parts {
			switch p.kind {
			case partFail:
				failed := a.response("failed", output)
				code := "server_error"
				if p.n == http.StatusTooManyRequests {
					code = "rate_limit_exceeded"
				}
				failed["error"] = object{"code": code, "message": scripted(p.n).message}
				failed["usage"] = nil
				s.send("response.failed", object{"response": failed})
				return
			case partHang:
				s.item(a, i, p)
				s.pause()
				return
			}
			output = append(output, s.item(a, i, p))
		}
		s.send("response.completed", object{"response": a.response("completed", output)})
	}
}

func (responses) whole(a *answer) any {
	var output []any
	for i, p := range a.parts {
		output = append(output, a.item(i, p, "completed"))
	}
	return a.response("completed", output)
}

// response is the response object, empty while it is in progress.
func (a *answer) response(status string, output []any) object {
	if output == nil {
		output = []any{}
	}
	r := object{
		"id": "resp_" + a.id, "object": "response", "created_at": a.created, "status": status, "model": a.model,
		"output": output, "error": nil, "incomplete_details": nil, "usage": nil, "metadata": object{},
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{},
	}
	if status == "completed" {
		r["usage"] = object{
			"input_tokens":          a.usage.Input,
			"input_tokens_details":  object{"cached_tokens": a.usage.Cached},
			"output_tokens":         a.usage.Output,
			"output_tokens_details": object{"reasoning_tokens": a.usage.Reasoning},
			"total_tokens":          a.usage.Input + a.usage.Output,
		}
	}
	return r
}

// item is an output item, complete or, in progress, without its content.
func (a *answer) item(i int, p part, status string) object {
	done := status == "completed"
	id := func(prefix string) string { return fmt.Sprintf("%s_%s_%d", prefix, a.id, i) }
	given := func(s string) string {
		if done {
			return s
		}
		return ""
	}
	switch p.kind {
	case partThought:
		item := object{"type": "reasoning", "id": id("rs"), "summary": []any{}}
		if done {
			item["summary"] = []any{object{"type": "summary_text", "text": p.text}}
		}
		if a.sealed {
			item["encrypted_content"] = given("c2VhbGVk")
		}
		return item
	case partCall:
		item := object{"status": status, "call_id": p.id, "name": p.call.Tool.Name}
		if p.call.Tool.Namespace != "" {
			item["namespace"] = p.call.Tool.Namespace
		}
		switch p.call.Tool.Kind {
		case KindCustom:
			item["type"], item["id"], item["input"] = "custom_tool_call", id("ctc"), given(p.call.Arguments)
		case KindLocalShell:
			delete(item, "name")
			item["type"], item["id"] = "local_shell_call", id("lsh")
			item["action"] = object{
				"type": "exec", "command": json.RawMessage(p.call.Arguments), "env": object{}, "timeout_ms": nil,
				"working_directory": nil, "user": nil,
			}
		default:
			item["type"], item["id"], item["arguments"] = "function_call", id("fc"), given(p.call.Arguments)
		}
		return item
	}
	item := object{"type": "message", "id": id("msg"), "status": status, "role": "assistant", "content": []any{}}
	if done {
		item["content"] = []any{outputText(p.text)}
	}
	return item
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// A responsesStream numbers events, and stops when nobody reads on.
type responsesStream struct {
	yield func(frame) bool
	on    bool
	next  int
}

func (s *responsesStream) send(kind string, data object) {
	data["type"], data["sequence_number"] = kind, s.next
	s.next++
	s.on = s.on && s.yield(frame{event: kind, data: data})
}

func (s *responsesStream) pause() { s.on = s.on && s.yield(frame{hang: true}) }

// item streams an output item and returns it; the item of a part that hangs never ends.
func (s *responsesStream) item(a *answer, i int, p part) object {
	started, done := a.item(i, p, "in_progress"), a.item(i, p, "completed")
	at := func(more object) object {
		more["item_id"], more["output_index"] = done["id"], i
		return more
	}
	s.send("response.output_item.added", object{"output_index": i, "item": started})
	switch p.kind {
	case partThought:
		index := func(more object) object {
			more["summary_index"] = 0
			return at(more)
		}
		s.send("response.reasoning_summary_part.added", index(object{"part": object{"type": "summary_text", "text": ""}}))
		for _, piece := range pieces(p.text) {
			s.send("response.reasoning_summary_text.delta", index(object{"delta": piece}))
		}
		s.send("response.reasoning_summary_text.done", index(object{"text": p.text}))
		s.send("response.reasoning_summary_part.done", index(object{"part": object{"type": "summary_text", "text": p.text}}))
	case partCall:
		event, key := "response.function_call_arguments", "arguments"
		if p.call.Tool.Kind == KindCustom {
			event, key = "response.custom_tool_call_input", "input"
		}
		if p.call.Tool.Kind == KindLocalShell {
			break // comes in one piece
		}
		for _, piece := range pieces(p.call.Arguments) {
			s.send(event+".delta", at(object{"delta": piece}))
		}
		s.send(event+".done", at(object{key: p.call.Arguments}))
	default:
		index := func(more object) object {
			more["content_index"] = 0
			return at(more)
		}
		s.send("response.content_part.added", index(object{"part": outputText("")}))
		for _, piece := range pieces(p.text) {
			s.send("response.output_text.delta", index(object{"delta": piece, "logprobs": []any{}}))
		}
		if p.kind == partHang {
			return nil
		}
		s.send("response.output_text.done", index(object{"text": p.text, "logprobs": []any{}}))
		s.send("response.content_part.done", index(object{"part": outputText(p.text)}))
	}
	s.send("response.output_item.done", object{"output_index": i, "item": done})
	return done
}
