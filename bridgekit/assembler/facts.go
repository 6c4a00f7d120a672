package assembler

import (
	"encoding/json"
	"math"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// extensionKindDeclared is the rule of package grammar that is held here too, for callers that do not check deltas first.
const extensionKindDeclared = "item/extension-kind-declared"

// addUsage keeps the thread's sum of tokens (usage/accumulate).
func (a *Assembler) addUsage(d *protocol.Usage) {
	if d.Total != nil {
		a.usage = *d.Total
	} else {
		add(&a.usage.TotalTokens, d.Last.TotalTokens)
		add(&a.usage.InputTokens, d.Last.InputTokens)
		add(&a.usage.CachedInputTokens, d.Last.CachedInputTokens)
		add(&a.usage.OutputTokens, d.Last.OutputTokens)
		add(&a.usage.ReasoningOutputTokens, d.Last.ReasoningOutputTokens)
	}
	t, _ := a.scope(keyScope(d.TurnKey)) // without its turn it belongs to the thread
	a.emit(t, nil, &Usage{Last: d.Last, Total: a.usage, ModelContextWindow: d.ModelContextWindow,
		CacheWriteTokens: d.CacheWriteTokens, Cost: d.Cost})
}

// add adds two counts that are not negative; the sum stays at the largest number instead of turning negative.
func add(sum *int64, n int64) {
	if *sum > math.MaxInt64-n {
		*sum = math.MaxInt64
		return
	}
	*sum += n
}

// emitNew adds an event unless it says what the last of its type said since turn.started (fallback/dedup).
func (a *Assembler) emitNew(t *turn, p Payload) {
	raw, err := json.Marshal(p)
	if err != nil { // no payload of these kinds fails
		raw = nil
	}
	said := digestOf(raw)
	if t != nil {
		said += t.id
	}
	if err == nil && a.last[p.Type()] == said {
		return
	}
	a.last[p.Type()] = said
	a.emit(t, nil, p)
}

func (a *Assembler) extensionState(d *protocol.ExtensionState) {
	if a.kinds != nil && a.kinds.CheckState(d.Name, d.Payload) != nil {
		a.unhandledDelta(d, extensionKindDeclared)
		return
	}
	a.emit(nil, nil, &ExtensionState{Name: d.Name, Payload: d.Payload})
}

// refusedExtension makes an undeclared or invalid extension item provider.unhandled.
func (a *Assembler) refusedExtension(d protocol.Delta, i protocol.Item) bool {
	e, ok := i.(*protocol.Extension)
	if !ok || a.kinds == nil || a.kinds.CheckItem(e.Name, e.Payload) == nil {
		return false
	}
	a.unhandledDelta(d, extensionKindDeclared)
	return true
}

// providerError reports an error, which may fail its turn (settle/error).
func (a *Assembler) providerError(d *protocol.ProviderError) {
	t, ok := a.turnOf(d, d.Scope)
	if !ok {
		return
	}
	a.emit(t, nil, &Error{Category: d.Category, Message: d.Message, Detail: d.Detail, ProviderCode: d.ProviderCode,
		HTTPStatus: d.HTTPStatus, WillRetry: d.WillRetry, SettlesTurn: d.SettlesTurn})
	if t != nil && d.SettlesTurn && !d.WillRetry {
		a.settleTurn(protocol.Failed, &protocol.TurnError{Message: d.Message}, nil)
	}
}
