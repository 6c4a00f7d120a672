package fakemodel_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/pluginsdk/plugintest/fakemodel"
)

// FuzzScript gives any text to an agent's model: it always answers, and what it streams is consistent.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{
		"", "SAY x", "THINK a\nRUN b\nEDIT c d\nPLAN ;;\nAGENT\nTWO\nSTEPS 3\nBAD\nUNKNOWN\nIMAGE\nFAIL 429\nRATE 2",
		"RUN", "STEPS 99999999999999999999", "<a_b>x</a_b>", "</_", "\xff\xfe", "FAIL -1", "EDIT  x", "SAY \u2028\x00",
	} {
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(2))
	}
	f.Fuzz(func(t *testing.T, script string, done uint8) {
		if strings.Contains(script, "HANG") {
			return // the recorder never leaves
		}
		for name, c := range clients() {
			history := []turn{{user: script}}
			for range done % 4 {
				history = append(history, turn{
					reply:   &reply{calls: []call{{id: "x", name: "bash", kind: "function_call", input: "{}"}}, raw: given(name)},
					results: []string{script},
				})
			}
			body, err := json.Marshal(c.body(history, true))
			if err != nil {
				t.Fatal(err)
			}
			answer := handled(c.path(), string(body))
			if answer.Code != http.StatusOK {
				if kind, _ := c.failure(readObject(t, answer.Body)); kind == "" {
					t.Fatalf("status %d has no error", answer.Code)
				}
				continue
			}
			events, err := readEvents(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.stream(events); err != nil {
				t.Fatalf("%v in %v", err, events)
			}
		}
	})
}

// given is an earlier answer in the form of the API.
func given(api string) []any {
	if api == "messages" {
		return []any{object{"type": "tool_use", "id": "x", "name": "bash", "input": object{}}}
	}
	return []any{object{"type": "function_call", "call_id": "x", "name": "bash", "arguments": "{}"}}
}

func handled(path, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	fakemodel.New(fakemodel.Options{}).ServeHTTP(answer, r)
	return answer
}

// FuzzRequest gives any body to all APIs: there is an answer, whole or in events, or an error in the form of the API.
func FuzzRequest(f *testing.F) {
	for name, c := range clients() {
		for _, script := range []string{"SAY x", "TWO", "EDIT a", "PLAN", "AGENT", "IMAGE"} {
			body, err := json.Marshal(c.body([]turn{
				{user: "RUN a"}, {reply: &reply{calls: []call{{id: "x", kind: "function_call"}}, raw: given(name)}, results: []string{"r"}},
				{user: script},
			}, script == "TWO"))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(body))
		}
	}
	f.Add(hello)
	f.Add(`{"model":"m","input":[{"role":"user","content":{"a":1}}],"messages":[{"role":"user","content":null}],"tools":[null]}`)
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "HANG") || strings.Contains(body, `\u`) { // \u0048ANG
			return
		}
		for _, c := range clients() {
			answer := handled(c.path(), body)
			kind := answer.Header().Get("Content-Type")
			switch {
			case answer.Code == http.StatusOK && strings.HasPrefix(kind, "text/event-stream"):
				if _, err := readEvents(answer.Body); err != nil {
					t.Fatal(err)
				}
			case answer.Code == http.StatusOK:
				readObject(t, answer.Body)
			default:
				if kind, _ := c.failure(readObject(t, answer.Body)); kind == "" {
					t.Fatalf("status %d has no error", answer.Code)
				}
			}
		}
	})
}
