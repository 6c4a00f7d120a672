package codex

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

// failureOf is an error of Codex as core sorts them. Its scope is the caller's.
func failureOf(e *schema.TurnError) *protocol.ProviderError {
	name, status := errorInfo(e.Info)
	f := &protocol.ProviderError{Category: category(name, status), Message: cut(hideKeys(e.Message), maxDetail), ProviderCode: optional(cut(name, maxShown)), HTTPStatus: status}
	if e.AdditionalDetails != nil && *e.AdditionalDetails != "" {
		f.Detail = protocol.Ptr(cut(hideKeys(*e.AdditionalDetails), maxDetail))
	}
	if f.Category == protocol.ErrorUnknown && strings.Contains(e.Message, "429 Too Many Requests") {
		f.Category = protocol.ErrorRateLimit
	}
	return f
}

// errorInfo reads the kind of an error: a name, or an object whose only member has the name and perhaps a status of HTTP.
func errorInfo(raw json.RawMessage) (name string, status *int64) {
	if json.Unmarshal(object(raw), &name) == nil {
		return name, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || len(members) != 1 {
		return "", nil
	}
	for key, value := range members {
		var details struct {
			Status *int64 `json:"httpStatusCode"`
		}
		json.Unmarshal(value, &details) // without details there is no status
		name, status = key, details.Status
	}
	return name, status
}

func category(name string, status *int64) protocol.ErrorCategory {
	code := int64(0)
	if status != nil {
		code = *status
	}
	switch name {
	case "contextWindowExceeded":
		return protocol.ErrorContextWindowExceeded
	case "usageLimitExceeded", "rateLimitExceeded":
		return protocol.ErrorRateLimit
	case "sessionBudgetExceeded":
		return protocol.ErrorBudgetExceeded
	case "serverOverloaded", "flexUnavailable", "policyCapacityUnavailable":
		return protocol.ErrorOverloaded
	case "inferenceHookDenied", "cyberPolicy", "bioPolicy", "misalignmentPolicyViolation", "tooManyDenials":
		return protocol.ErrorPolicy
	case "unauthorized":
		return protocol.ErrorUnauthorized
	case "internalServerError":
		return protocol.ErrorInternal
	case "threadRollbackFailed":
		return protocol.ErrorThreadRollbackFailed
	case "sandboxError":
		return protocol.ErrorSandbox
	}
	switch {
	case code == 401 || code == 403:
		return protocol.ErrorUnauthorized
	case code == 402:
		return protocol.ErrorBilling
	case code == 429:
		return protocol.ErrorRateLimit
	case code == 503 || code == 529:
		return protocol.ErrorOverloaded
	case code >= 500:
		return protocol.ErrorInternal
	}
	switch name {
	case "httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected":
		return protocol.ErrorStreamDisconnected
	case "responseTooManyFailedAttempts":
		return protocol.ErrorTooManyFailedAttempts
	}
	return protocol.ErrorUnknown
}

const (
	// warnPercent is how much of a quota is used when a person is warned.
	warnPercent = 80
	fullPercent = 100
)

// limitState is a quota as core sees it.
func limitState(l schema.Limits) protocol.RateLimitState {
	state := protocol.RateLimitState{Status: protocol.LimitAllowed, Kind: protocol.LimitSubscription, Windows: []protocol.RateLimitWindow{}}
	rank := map[protocol.RateLimitStatus]int{protocol.LimitAllowed: 0, protocol.LimitWarning: 1, protocol.LimitBlocked: 2}
	for _, w := range []struct {
		key    string
		window *schema.LimitWindow
	}{{"primary", l.Primary}, {"secondary", l.Secondary}} {
		if w.window == nil {
			continue
		}
		one := protocol.RateLimitWindow{ProviderKey: protocol.Ptr(w.key), Label: protocol.Ptr(windowLabel(w.key, w.window)), Status: protocol.LimitAllowed}
		switch {
		case w.window.UsedPercent >= fullPercent:
			one.Status = protocol.LimitBlocked
		case w.window.UsedPercent >= warnPercent:
			one.Status = protocol.LimitWarning
		}
		if w.window.ResetsAt != nil {
			one.ResetsAtMs = protocol.Ptr(float64(*w.window.ResetsAt) * 1000)
		}
		if rank[one.Status] > rank[state.Status] {
			state.Status = one.Status
		}
		if one.Status == protocol.LimitBlocked && one.ResetsAtMs != nil && (state.ResetsAt == nil || *state.ResetsAt < *one.ResetsAtMs) {
			state.ResetsAt = one.ResetsAtMs
		}
		state.Windows = append(state.Windows, one)
	}
	if l.Reached != nil {
		state.Status, state.ReachedReason = protocol.LimitBlocked, protocol.Ptr(cut(*l.Reached, maxShown))
	} else if len(state.Windows) == 0 {
		state.Status, state.Kind = protocol.LimitUnknown, protocol.LimitKindUnknown
	}
	return state
}

// windowLabel names a window by its length.
func windowLabel(key string, w *schema.LimitWindow) string {
	const day = 24 * 60
	switch {
	case w.Minutes == nil || *w.Minutes <= 0:
		return key
	case *w.Minutes%(7*day) == 0:
		return fmt.Sprintf("%d weeks", *w.Minutes/(7*day))
	case *w.Minutes%day == 0:
		return fmt.Sprintf("%d days", *w.Minutes/day)
	case *w.Minutes%60 == 0:
		return fmt.Sprintf("%d hours", *w.Minutes/60)
	}
	return fmt.Sprintf("%d minutes", *w.Minutes)
}
