package echo

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// The words that report something about the session or the provider.

func tokens(n int64) protocol.TokenBreakdown {
	return protocol.TokenBreakdown{TotalTokens: 3 * n, InputTokens: 2 * n, CachedInputTokens: n, OutputTokens: n, ReasoningOutputTokens: 0}
}

func reportUsage(t *turn, form string) error {
	u := &protocol.Usage{TurnKey: &t.key, Last: tokens(10)}
	if form == "total" {
		total := tokens(100)
		u.Total, u.ModelContextWindow, u.CacheWriteTokens = &total, protocol.Ptr[int64](200_000), protocol.Ptr[int64](5)
		u.Cost = &protocol.Cost{Amount: 0.01, Currency: "USD"}
	}
	return t.t.Send(u)
}

func contextWindow(t *turn, _ string) error {
	return t.t.Send(&protocol.ContextWindow{Used: protocol.Ptr[int64](1000), Size: protocol.Ptr[int64](200_000), Estimated: true})
}

func clearContext(t *turn, _ string) error { return t.t.Send(&protocol.ContextCleared{}) }

func nameThread(t *turn, name string) error { return t.t.Send(&protocol.ThreadName{Name: name}) }

func limits(t *turn, _ string) error {
	return t.t.Send(&protocol.RateLimits{RateLimits: protocol.RateLimitState{
		Status: protocol.LimitWarning, Kind: protocol.LimitSubscription, OverageStatus: protocol.OverageAllowed,
		Windows: []protocol.RateLimitWindow{{Label: protocol.Ptr("5 hours"), Status: protocol.LimitWarning, ResetsAtMs: protocol.Ptr(1.8e12)}},
	}})
}

func fallback(t *turn, reason string) error {
	f := &protocol.ModelFallback{OriginalModel: "echo-large", FallbackModel: "echo-small", Reason: protocol.FallbackProvider, Message: "The large echo is busy."}
	if reason == "refusal" {
		f.Reason, f.Message = protocol.FallbackRefusal, "The large echo would not say it."
	}
	return t.t.Send(f)
}

func reportError(t *turn, argument string) error {
	category, how, _ := strings.Cut(argument, " ")
	if category == "" {
		category = string(protocol.ErrorUnknown)
	}
	e := &protocol.ProviderError{Scope: protocol.Scope{Turn: t.key}, Category: protocol.ErrorCategory(category), Message: "An echo failed: " + category,
		Detail: protocol.Ptr("As asked"), ProviderCode: protocol.Ptr("E_ECHO"), HTTPStatus: protocol.Ptr[int64](500), SettlesTurn: true}
	switch how {
	case "retry":
		e.WillRetry, e.SettlesTurn = true, false
	case "thread":
		e.Scope, e.SettlesTurn = protocol.Scope{Thread: true}, false
	}
	if e.Category == protocol.ErrorRateLimit && e.SettlesTurn { // a used-up quota is reported in two parts
		err := t.t.Send(&protocol.RateLimits{RateLimits: protocol.RateLimitState{Status: protocol.LimitBlocked, Kind: protocol.LimitCredits, ResetsAt: protocol.Ptr(1.8e12), ReachedReason: protocol.Ptr("no more echoes")}})
		if err != nil {
			return err
		}
	}
	if err := t.t.Send(e); err != nil {
		return err
	}
	t.settled = e.SettlesTurn
	return nil
}

func warn(t *turn, argument string) error {
	category, how, _ := strings.Cut(argument, " ")
	if category == "" {
		category = string(protocol.WarningGeneral)
	}
	w := &protocol.ProviderWarning{Scope: protocol.Scope{Turn: t.key}, Category: protocol.WarningCategory(category), Summary: protocol.Ptr("An echo warns"), Details: protocol.Ptr("As asked")}
	if how == "thread" {
		w.Scope = protocol.Scope{Thread: true}
	}
	return t.t.Send(w)
}

func unhandled(t *turn, _ string) error {
	return t.t.Send(&protocol.ProviderUnhandled{RawType: "echo/unknown", Raw: json.RawMessage(`{"what":"is this"}`)})
}

// goal works towards the goal of the thread in a turn that nobody asked for.
func goal(t *turn, text string) error {
	t.mu.Lock()
	aim := t.kept.Goal
	t.mu.Unlock()
	if aim == "" {
		return t.say("There is no goal. " + text)
	}
	t.after(func(s *Session) {
		s.turning.Lock()
		defer s.turning.Unlock()
		own := s.newTurn(s.ctx, "")
		key := own.newKey()
		said := &protocol.Message{Text: aim + ": " + text}
		s.t.Send( // fails when the session is gone, and then nobody waits for it
			&protocol.TurnOpen{TurnKey: &own.key},
			&protocol.ItemOpen{Key: key, Item: &protocol.Message{}, Presentation: protocol.Presentation{Label: "Writing", Icon: "message"}},
			&protocol.ItemClose{Key: key, Status: protocol.Completed, Item: said, Presentation: protocol.Presentation{Label: "Wrote", Icon: "message"}},
			&protocol.TurnBoundary{TurnKey: &own.key, Status: protocol.Completed})
	})
	return nil
}

func recoverHint(t *turn, hint string) error {
	if hint == "" {
		hint = string(protocol.RecoverNone)
	}
	return t.t.Recover(protocol.RecoveryHint(hint), "An echo went missing")
}

func replaceSession(t *turn, _ string) error {
	id := newID()
	if err := t.change(func(kept *saved) { kept.ID = id }); err != nil {
		return err
	}
	return t.t.Replaced(id, "The echo faded", true)
}

// reset settles the turn itself: what is open after a reset counts as interrupted.
func reset(t *turn, _ string) error {
	if err := t.finish("reset", nil); err != nil {
		return err
	}
	t.settled = true
	return t.t.Send(&protocol.SessionReset{})
}

func endSession(t *turn, _ string) error {
	t.settled = true
	return t.t.Send(&protocol.SessionEnded{})
}

func raw(t *turn, _ string) error {
	return errors.Join(
		bridgekit.ContextOf(t.ctx).Raw(protocol.CoverageNoise, map[string]string{"type": "heartbeat"}),
		bridgekit.ContextOf(t.ctx).Raw(protocol.CoverageUnknown, map[string]string{"type": "news"}))
}

func writeLog(t *turn, argument string) error {
	level, text, _ := strings.Cut(argument, " ")
	if level == "" {
		level = string(protocol.LogInfo)
	}
	bridgekit.ContextOf(t.ctx).Log(protocol.LogLevel(level), text, map[string]string{"turn": t.key})
	return nil
}

// maxFlood bounds what one flood sends: a minute of it at the least.
const maxFlood = 10_000_000

func flood(t *turn, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxFlood {
		return fmt.Errorf("flood takes a count of at most %d, not %q", maxFlood, count)
	}
	key := t.newKey()
	if err := t.begin(key, &protocol.Message{}, "Writing", "message"); err != nil {
		return err
	}
	for i := range n {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if err := t.t.Send(&protocol.ItemText{Key: key, Stream: protocol.Text, Text: strconv.Itoa(i) + " "}); err != nil {
			return err
		}
	}
	return t.end(key, protocol.Completed, &protocol.Message{Text: "flooded"}, "Wrote")
}

func refuse(_ *Session, text string) error {
	return &protocol.Error{Code: protocol.BridgeError, Message: "refused: " + text, Recovery: protocol.RecoverNone}
}

func fail(_ *turn, text string) error { return fmt.Errorf("failed: %s", text) }

func panicking(_ *turn, text string) error { panic("echo: " + text) }

func exit(*turn, string) error {
	os.Exit(1)
	return nil
}
