package assembler

// Rule is the id of a rule that an Assembler keeps; docs/spec/bridges-assembler.md says what each means.
type Rule string

// The rules.
const (
	MintedCentrally     Rule = "ids/minted-centrally"
	BoundToRequested    Rule = "turn/bound-to-requested"
	OpensOnlyExplicitly Rule = "turn/opens-only-explicitly"
	AcceptedInputQueues Rule = "turn/accepted-input-queues"
	ZeroWorkSettles     Rule = "turn/zero-work-settles"
	OpensBeforeDelta    Rule = "item/opens-before-delta"
	CloseShapeWins      Rule = "item/close-shape-wins"
	SettlesOnce         Rule = "item/settles-once"
	ScopeFixedAtOpen    Rule = "item/scope-fixed-at-open"
	AutoDetach          Rule = "message/auto-detach"
	OneDeltaOneEvent    Rule = "stateless/one-delta-one-event"
	Accumulate          Rule = "usage/accumulate"
	TurnlessUnhandled   Rule = "turnless/unhandled"
	SettleError         Rule = "settle/error"
	ResetFlushes        Rule = "session/reset-flushes"
	FallbackDedup       Rule = "fallback/dedup"
)

// Rules returns the sixteen rules.
func Rules() []Rule {
	return []Rule{
		MintedCentrally, BoundToRequested, OpensOnlyExplicitly, AcceptedInputQueues, ZeroWorkSettles,
		OpensBeforeDelta, CloseShapeWins, SettlesOnce, ScopeFixedAtOpen, AutoDetach, OneDeltaOneEvent,
		Accumulate, TurnlessUnhandled, SettleError, ResetFlushes, FallbackDedup,
	}
}
