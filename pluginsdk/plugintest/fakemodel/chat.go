package fakemodel

import (
	"encoding/json"
	"iter"
	"net/http"
	"strings"
)

// chat is OpenAI chat completions, POST /v1/chat/completions. Thoughts are in reasoning_content, as servers that are
// compatible with OpenAI send them.
type chat struct{ openAI }

type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools      []chatTool      `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Parallel   *bool           `json:"parallel_tool_calls"`
	CacheKey   string          `json:"prompt_cache_key"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (chat) decode(body []byte) (*conversation, error) {
	var r chatRequest
	if err := decodeInto(body, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, refused(http.StatusBadRequest, "model is missing")
	case len(r.Messages) == 0:
		return nil, refused(http.StatusBadRequest, "messages are missing")
	}
	c := &conversation{
		model: r.Model, stream: r.Stream, usage: r.Options.Usage, size: len(body), cacheKey: r.CacheKey,
		parallel: r.Parallel == nil || *r.Parallel,
	}
	if !offersNone(r.ToolChoice) {
		for _, t := range r.Tools {
			if t.Type != KindFunction {
				continue
			}
			f := t.Function
			c.tools = append(c.tools,
				Tool{Name: f.Name, Kind: KindFunction, Description: f.Description, Schema: f.Parameters})
		}
	}
	for i, m := range r.Messages {
		if err := m.addTo(c); err != nil {
			return nil, refused(http.StatusBadRequest, "messages[%d]: %v", i, err)
		}
	}
	return c, nil
}

func (m chatMessage) addTo(c *conversation) error {
	switch m.Role {
	case "user":
		return c.said(m.Content)
	case "system", "developer":
		return c.instructed(m.Content)
	case "tool":
		return c.answered(m.Content)
	}
	for _, call := range m.Calls {
		c.called(call.ID)
	}
	return nil
}

func (o chat) events(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		on := true
		send := func(f frame) { on = on && yield(f) }
		chunk := func(delta object, finish any) {
			data := a.completion("chat.completion.chunk")
			data["choices"] = []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}
			if a.withUse {
				data["usage"] = nil
			}
			send(frame{data: data})
		}
		chunk(object{"role": "assistant", "content": ""}, nil)
		calls := 0
		for _, p := range a.parts {
			switch p.kind {
			case partFail:
				send(frame{data: o.failure(scripted(p.n))})
				return
			case partThought:
				for _, piece := range pieces(p.text) {
					chunk(object{"reasoning_content": piece}, nil)
				}
			case partCall:
				chunk(object{"tool_calls": []any{object{
					"index": calls, "id": p.id, "type": "function",
					"function": object{"name": p.call.Tool.Name, "arguments": ""},
				}}}, nil)
				for _, piece := range pieces(p.call.Arguments) {
					chunk(object{"tool_calls": []any{object{
						"index": calls, "function": object{"arguments": piece},
					}}}, nil)
				}
				calls++
			default:
				for _, piece := range pieces(p.text) {
					chunk(object{"content": piece}, nil)
				}
			}
			if p.kind == partHang {
				send(frame{hang: true})
				return
			}
		}
		chunk(object{}, a.finishReason())
		if a.withUse {
			data := a.completion("chat.completion.chunk")
			data["choices"], data["usage"] = []any{}, a.chatUsage()
			send(frame{data: data})
		}
		send(frame{data: "[DONE]"})
	}
}

func (chat) whole(a *answer) any {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	var texts, thoughts []string
	var calls []any
	for _, p := range a.parts {
		switch p.kind {
		case partThought:
			thoughts = append(thoughts, p.text)
		case partCall:
			calls = append(calls, object{
				"id": p.id, "type": "function",
				"function": object{"name": p.call.Tool.Name, "arguments": p.call.Arguments},
			})
		default:
			texts = append(texts, p.text)
		}
	}
	if len(texts) > 0 {
		message["content"] = strings.Join(texts, "")
	}
	if len(thoughts) > 0 {
		message["reasoning_content"] = strings.Join(thoughts, "")
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	data := a.completion("chat.completion")
	data["choices"] = []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": a.finishReason()}}
	data["usage"] = a.chatUsage()
	return data
}

func (a *answer) completion(kind string) object {
	return object{"id": "chatcmpl-" + a.id, "object": kind, "created": a.created, "model": a.model}
}

func (a *answer) finishReason() string {
	if a.calls() {
		return "tool_calls"
	}
	return "stop"
}

func (a *answer) chatUsage() object {
	return object{
		"prompt_tokens":             a.usage.Input,
		"completion_tokens":         a.usage.Output,
		"total_tokens":              a.usage.Input + a.usage.Output,
		"prompt_tokens_details":     object{"cached_tokens": a.usage.Cached},
		"completion_tokens_details": object{"reasoning_tokens": a.usage.Reasoning},
	}
}
