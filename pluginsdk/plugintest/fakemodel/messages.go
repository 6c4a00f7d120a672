package fakemodel

import (
	"bytes"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// messages is Anthropic Messages, POST /v1/messages.
type messages struct {
	counting bool // POST /v1/messages/count_tokens
}

type messagesRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int            `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream bool `json:"stream"`
	Tools  []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Metadata   struct {
		UserID string `json:"user_id"`
	} `json:"metadata"`
}

func (m messages) decode(body []byte) (*conversation, error) {
	var r messagesRequest
	if err := decodeInto(body, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, refused(http.StatusBadRequest, "model: field required")
	case len(r.Messages) == 0:
		return nil, refused(http.StatusBadRequest, "messages: at least one is required")
	case r.MaxTokens == nil && !m.counting:
		return nil, refused(http.StatusBadRequest, "max_tokens: field required")
	}
	var choice struct {
		Serial bool `json:"disable_parallel_tool_use"`
	}
	_ = json.Unmarshal(r.ToolChoice, &choice) // absent: several calls are allowed
	c := &conversation{
		model: r.Model, stream: r.Stream, size: len(body), cacheKey: r.Metadata.UserID, parallel: !choice.Serial,
	}
	if !offersNone(r.ToolChoice) {
		for _, t := range r.Tools {
			kind := t.Type
			if kind == "" || kind == "custom" { // here, one with a schema
				kind = KindFunction
			}
			c.tools = append(c.tools, Tool{Name: t.Name, Kind: kind, Description: t.Description, Schema: t.InputSchema})
		}
	}
	if err := c.instructed(r.System); err != nil {
		return nil, refused(http.StatusBadRequest, "system: %v", err)
	}
	for i, message := range r.Messages {
		if err := addMessage(c, message.Role, message.Content); err != nil {
			return nil, refused(http.StatusBadRequest, "messages.%d: %v", i, err)
		}
	}
	return c, nil
}

// addMessage adds a message. Results of tools are blocks of messages of the user.
func addMessage(c *conversation, role string, content json.RawMessage) error {
	if !bytes.HasPrefix(bytes.TrimSpace(content), []byte{'['}) {
		if role == "user" {
			return c.said(content)
		}
		return nil
	}
	var blocks []struct {
		Type    string          `json:"type"`
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(content, &blocks); err != nil {
		return err
	}
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			c.called(b.ID)
		case "tool_result":
			if err := c.answered(b.Content); err != nil {
				return err
			}
		}
	}
	if role != "user" {
		return nil
	}
	return c.said(content)
}

func (m messages) events(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		on := true
		send := func(kind string, data object) {
			data["type"] = kind
			on = on && yield(frame{event: kind, data: data})
		}
		start := a.message([]any{})
		start["stop_reason"] = nil
		start["usage"] = a.messageUsage(1)
		send("message_start", object{"message": start})
		send("ping", object{})
		for i, p := range a.parts {
			if p.kind == partFail {
				body, _ := m.failure(scripted(p.n)).(object)
				send("error", body)
				return
			}
			send("content_block_start", object{"index": i, "content_block": emptyBlock(p)})
			delta := func(kind, key, value string) {
				send("content_block_delta", object{"index": i, "delta": object{"type": kind, key: value}})
			}
			switch p.kind {
			case partThought:
				for _, piece := range pieces(p.text) {
					delta("thinking_delta", "thinking", piece)
				}
				delta("signature_delta", "signature", signature)
			case partCall:
				delta("input_json_delta", "partial_json", "")
				for _, piece := range pieces(p.call.Arguments) {
					delta("input_json_delta", "partial_json", piece)
				}
			default:
				for _, piece := range pieces(p.text) {
					delta("text_delta", "text", piece)
				}
			}
			if p.kind == partHang {
				on = on && yield(frame{hang: true})
				return
			}
			send("content_block_stop", object{"index": i})
		}
		send("message_delta", object{
			"delta": object{"stop_reason": a.stopReason(), "stop_sequence": nil},
			"usage": object{"output_tokens": a.usage.Output},
		})
		send("message_stop", object{})
	}
}

func (messages) whole(a *answer) any {
	blocks := []any{}
	for _, p := range a.parts {
		b := emptyBlock(p)
		switch p.kind {
		case partThought:
			b["thinking"], b["signature"] = p.text, signature
		case partCall:
			b["input"] = p.call.Arguments // broken arguments cannot be an object
			if json.Valid([]byte(p.call.Arguments)) {
				b["input"] = json.RawMessage(p.call.Arguments)
			}
		default:
			b["text"] = p.text
		}
		blocks = append(blocks, b)
	}
	return a.message(blocks)
}

// signature stands for the signature of a thought, which clients send back.
const signature = "c2lnbmVk"

func emptyBlock(p part) object {
	switch p.kind {
	case partThought:
		return object{"type": "thinking", "thinking": "", "signature": ""}
	case partCall:
		return object{"type": "tool_use", "id": p.id, "name": p.call.Tool.Name, "input": object{}}
	}
	return object{"type": "text", "text": ""}
}

func (a *answer) message(blocks []any) object {
	return object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.model, "content": blocks,
		"stop_reason": a.stopReason(), "stop_sequence": nil, "usage": a.messageUsage(a.usage.Output),
	}
}

func (a *answer) stopReason() string {
	if a.calls() {
		return "tool_use"
	}
	return "end_turn"
}

// messageUsage counts tokens from the cache apart from the others.
func (a *answer) messageUsage(output int) object {
	return object{
		"input_tokens":                max(a.usage.Input-a.usage.Cached, 0),
		"cache_creation_input_tokens": 0,
		"cache_read_input_tokens":     a.usage.Cached,
		"output_tokens":               output,
	}
}

// statusOverloaded is Anthropic's own status for a server with too much to do.
const statusOverloaded = 529

func (messages) failure(f *failure) any {
	kind := "invalid_request_error"
	switch f.status {
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusPaymentRequired:
		kind = "billing_error"
	case http.StatusForbidden:
		kind = "permission_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusRequestEntityTooLarge:
		kind = "request_too_large"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case http.StatusGatewayTimeout:
		kind = "timeout_error"
	case statusOverloaded:
		kind = "overloaded_error"
	default:
		if f.status >= 500 {
			kind = "api_error"
		}
	}
	return object{"type": "error", "error": object{"type": kind, "message": f.message}}
}

func (m messages) models(names []string, created int64) any {
	list := []any{}
	for _, name := range names {
		list = append(list, m.model(name, created))
	}
	data := object{"data": list, "has_more": false, "first_id": nil, "last_id": nil}
	if len(names) > 0 {
		data["first_id"], data["last_id"] = names[0], names[len(names)-1]
	}
	return data
}

func (messages) model(name string, created int64) any {
	return object{
		"type": "model", "id": name, "display_name": name, "created_at": time.Unix(created, 0).UTC().Format(time.RFC3339),
	}
}
