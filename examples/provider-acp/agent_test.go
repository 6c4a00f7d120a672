package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/wire"
	acp "github.com/bb-kernel/bb/examples/provider-acp"
)

// scene is what the agent of the tests is.
type scene struct {
	Init     json.RawMessage   // its answer to initialize, {} for one that can nothing
	New      string            // further members of its answer to session/new and session/load
	NewError *wire.Error       // its answer to session/new until authenticate
	History  []json.RawMessage // the updates that session/load replays
	Behind   bool              // the history comes behind the answer
	Log      string            // the file that keeps what it was sent
}

// fake is the options of a bridge whose agent plays a scene, and what the agent was sent.
func fake(t *testing.T, s scene) (acp.Options, func(method string) []map[string]json.RawMessage) {
	t.Helper()
	s.Log = t.TempDir() + "/log"
	if s.Init == nil {
		s.Init = json.RawMessage(`{"protocolVersion":1}`)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return acp.Options{Command: []string{os.Args[0]}, Env: map[string]string{agentVariable: string(raw)}}, func(method string) (all []map[string]json.RawMessage) {
		data, _ := os.ReadFile(s.Log) // nothing yet
		for line := range bytes.Lines(data) {
			name, params, _ := strings.Cut(string(line), " ")
			var fields map[string]json.RawMessage
			if name == method && json.Unmarshal([]byte(params), &fields) == nil {
				all = append(all, fields)
			}
		}
		return all
	}
}

// playAgent is the agent of the tests. A prompt is its script, a line a step.
func playAgent(text string) {
	var s scene
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	log, err := os.OpenFile(s.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	loggedIn := false
	cancelled := make(chan struct{}, 1)
	note := func(method string, params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(log, "%s %s\n", method, params)
	}
	var peer *wire.Peer
	ctx := context.Background()
	update := func(raw json.RawMessage) {
		peer.Notify(ctx, "session/update", map[string]any{"sessionId": "s1", "update": raw})
	}
	peer = wire.NewPeer(os.Stdin, os.Stdout, wire.Options{
		Notify: func(_ context.Context, n wire.Notification) {
			note(n.Method, n.Params)
			if n.Method == "session/cancel" {
				select {
				case cancelled <- struct{}{}:
				default:
				}
			}
		},
		Request: func(_ context.Context, r *wire.Request) {
			note(r.Method, r.Params)
			session := json.RawMessage(`{"sessionId":"s1"` + s.New + `}`)
			switch r.Method {
			case "initialize":
				r.Reply(s.Init)
			case "authenticate":
				loggedIn = true
				r.Reply(struct{}{})
			case "session/new":
				if s.NewError != nil && !loggedIn {
					r.Fail(s.NewError)
					return
				}
				r.Reply(session)
			case "session/load":
				if s.Behind {
					r.Reply(session)
					<-time.After(100 * time.Millisecond) // it reads its history from a slow disk
				}
				for _, u := range s.History {
					update(u)
				}
				if !s.Behind {
					r.Reply(session)
				}
			case "session/prompt":
				select {
				case <-cancelled:
				default:
				}
				go perform(peer, update, cancelled, r)
			default:
				r.Reply(struct{}{})
			}
		},
	})
	peer.Run(ctx)
}

// perform plays the steps of a prompt.
func perform(peer *wire.Peer, update func(json.RawMessage), cancelled chan struct{}, r *wire.Request) {
	ctx := context.Background()
	var p struct {
		Prompt []struct{ Text string }
	}
	json.Unmarshal(r.Params, &p)
	say := func(text string) {
		raw, _ := json.Marshal(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": text}})
		update(raw)
	}
	reason, usage, terminal := "end_turn", json.RawMessage("null"), ""
	for line := range strings.Lines(p.Prompt[len(p.Prompt)-1].Text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		rest = strings.ReplaceAll(rest, "TERMINAL", terminal)
		switch word {
		case "UPDATE":
			update(json.RawMessage(rest))
		case "SAY":
			say(rest)
		case "CALL": // says what the client answers
			method, params, _ := strings.Cut(rest, " ")
			result, err := peer.Call(ctx, method, json.RawMessage(params))
			var made struct{ TerminalID string }
			if json.Unmarshal(result, &made); made.TerminalID != "" {
				terminal = made.TerminalID
			} else if err != nil {
				say("error: " + err.Error())
			} else {
				say(string(result))
			}
		case "NOTIFY":
			method, params, _ := strings.Cut(rest, " ")
			peer.Notify(ctx, method, json.RawMessage(params))
		case "RAW":
			fmt.Println(rest)
		case "LONG":
			n, _ := strconv.Atoi(rest)
			fmt.Println(strings.Repeat("x", n))
		case "STDERR":
			fmt.Fprintln(os.Stderr, rest)
		case "EXIT":
			code, _ := strconv.Atoi(rest)
			os.Exit(code)
		case "WAIT": // until it is cancelled
			<-cancelled
			reason = "cancelled"
		case "HANG":
			select {}
		case "STOP":
			reason = rest
		case "USAGE":
			usage = json.RawMessage(rest)
		case "FAIL":
			code, message, _ := strings.Cut(rest, " ")
			n, _ := strconv.Atoi(code)
			r.Fail(&wire.Error{Code: n, Message: message})
			return
		}
	}
	r.Reply(map[string]any{"stopReason": reason, "usage": usage})
}
