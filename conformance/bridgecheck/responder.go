package bridgecheck

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
)

// responder answers the requests of a bridge as core would: tools succeed, interactions get the answers of the prompt.
type responder struct {
	mu      sync.Mutex
	silent  bool              // requests stay open
	answers []json.RawMessage // those that the prompt still has
}

// expect sets the answers of the next turn.
func (r *responder) expect(p *Prompt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = slices.Clone(p.Answers)
}

// silence leaves all further requests without an answer.
func (r *responder) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = true
}

// answer returns the response to a request, nil for none.
func (r *responder) answer(msg wire.Message) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.silent {
		return nil
	}
	switch msg.Method {
	case protocol.MethodToolCall:
		return result(msg.ID, object{"success": true, "content": []object{{"type": "text", "text": "from the conformance kit"}}})
	case protocol.MethodInteractionRequest:
		var p struct {
			Request json.RawMessage `json:"request"`
		}
		if json.Unmarshal(msg.Params, &p) != nil {
			return failed(msg.ID, protocol.InvalidParams)
		}
		if len(r.answers) > 0 {
			next := r.answers[0]
			r.answers = r.answers[1:]
			return result(msg.ID, next)
		}
		if resolution := defaultAnswer(p.Request); resolution != nil {
			return result(msg.ID, resolution)
		}
		return failed(msg.ID, protocol.InvalidParams)
	}
	return failed(msg.ID, protocol.MethodNotFound)
}

// defaultAnswer answers an interaction as a person who agrees would; nil when it cannot be read.
func defaultAnswer(request json.RawMessage) any {
	var q struct {
		Kind      string   `json:"kind"`
		Decisions []string `json:"decisions"`
		Questions []struct {
			ID      string `json:"id"`
			Options []struct {
				Value string `json:"value"`
			} `json:"options"`
		} `json:"questions"`
	}
	if json.Unmarshal(request, &q) != nil {
		return nil
	}
	switch q.Kind {
	case "":
		return nil
	case "approval":
		if len(q.Decisions) == 0 {
			return nil
		}
		decision := q.Decisions[0]
		if slices.Contains(q.Decisions, string(protocol.AllowOnce)) {
			decision = string(protocol.AllowOnce)
		}
		return object{"kind": "approval", "decision": decision, "granted": nil}
	case "question":
		answers := object{}
		for _, question := range q.Questions {
			if len(question.Options) > 0 {
				answers[question.ID] = object{"selected": []string{question.Options[0].Value}, "freeText": nil}
			} else {
				answers[question.ID] = object{"selected": []string{}, "freeText": "from the conformance kit"}
			}
		}
		return object{"kind": "answer", "answers": answers}
	}
	return object{"kind": "submitted", "data": object{}}
}

func result(id wire.ID, value any) []byte {
	return encode(object{"jsonrpc": "2.0", "id": json.RawMessage(id), "result": value})
}

func failed(id wire.ID, code protocol.Code) []byte {
	return encode(object{"jsonrpc": "2.0", "id": json.RawMessage(id), "error": object{"code": int(code), "message": "the conformance kit has no answer"}})
}
