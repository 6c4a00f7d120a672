package bridgecheck

// The ids of the rules.
const (
	rpcUnknownMethod     = "rpc/unknown-method"
	rpcInvalidParams     = "rpc/invalid-params"
	rpcNonJSON           = "rpc/non-json-ignored"
	rpcResponse          = "rpc/response-not-request"
	rpcStdout            = "rpc/stdout-clean"
	handshakeInitialize  = "handshake/initialize"
	handshakeBefore      = "handshake/before-initialize"
	handshakeSecond      = "handshake/second-initialize"
	handshakeVersions    = "handshake/version-negotiation"
	handshakeNarrow      = "handshake/capabilities-narrow"
	capabilityRefused    = "capability/unadvertised-refused"
	sessionStart         = "session/start-identity"
	sessionIdentityFirst = "session/identity-precedes-delta"
	sessionResume        = "session/resume-identity"
	sessionFork          = "session/fork-identity"
	sessionForkGate      = "session/fork-checkpoint-gate"
	threadsIndependent   = "session/threads-independent"
	turnLifecycle        = "turn/lifecycle"
	turnZeroWork         = "turn/zero-work-settles"
	turnSteer            = "turn/steer"
	turnVouchedKeys      = "turn/vouched-keys-only"
	providerUnknown      = "provider/unknown-id"
	eventsSchemaValid    = "events/schema-valid"
	scopeExplicit        = "scope/explicit"
	itemPresentation     = "item/presentation-present"
	itemExtensionKind    = "item/extension-kind-declared"
	itemOpensFirst       = "item/opens-before-delta"
	itemSettlesOnce      = "item/settles-once"
	interactionRoundTrip = "interaction/round-trip"
	toolRoundTrip        = "tool/round-trip"
	stopInterrupt        = "stop/interrupt-settles-before-result"
	stopRelease          = "stop/release-not-interrupted"
	shutdownOutstanding  = "shutdown/answers-outstanding"
)

// Rule is one rule of the protocol that a bridge can be held to from outside.
type Rule struct {
	ID       string // names the rule in reports and in --rule
	Stimulus string // what the kit does
	Evidence string // what the bridge must do then
	Needs    string // what the fixture or the bridge must have for a grade; "" for nothing
}

// graded is a rule with its check and the rules that it builds on.
type graded struct {
	Rule
	level level
	check func(*scenario)
}

// level says how far a conversation has to go well before a rule can be graded.
type level int

const (
	fromStart      level = iota // the handshake itself
	fromInitialize              // needs an answer to initialize
	fromSession                 // needs a session too
	fromTurn                    // needs a turn that settles too
)

// base is the rule that the next level builds on.
func (l level) base() string {
	switch l {
	case fromInitialize:
		return handshakeInitialize
	case fromSession:
		return sessionStart
	case fromTurn:
		return turnLifecycle
	}
	return ""
}

// Rules lists the rules in the order of reports.
func Rules() []Rule {
	table := table()
	rules := make([]Rule, 0, len(table))
	for _, g := range table {
		rules = append(rules, g.Rule)
	}
	return rules
}

// tour is the stimulus of the rules about deltas.
const tour = "one session goes through every prompt of the fixture"

// table is the one list of rules. docs/conformance.md shows it.
func table() []graded {
	return []graded{
		{Rule{rpcUnknownMethod, "requests for a method that does not exist, under ids of every form", "error -32601 under the very same id", ""},
			fromInitialize, checkUnknownMethod},
		{Rule{rpcInvalidParams, "requests that miss one required field each, gated methods included", "error -32602 with issues in its data", ""},
			fromInitialize, checkInvalidParams},
		{Rule{rpcNonJSON, "lines that are no JSON or no object, then a good request", "only the good request is answered", ""},
			fromSession, checkNonJSON},
		{Rule{rpcResponse, "responses to requests that the bridge never made, then a good request", "only the good request is answered", ""},
			fromSession, checkResponse},
		{Rule{rpcStdout, "a whole conversation from start to shutdown", "every line of standard output is one message, and each response answers one open request", ""},
			fromInitialize, checkStdout},
		{Rule{handshakeInitialize, "initialize with the range 3 to 3, and in another process with 1 to 9", "the result chooses version 3 and has all seven capabilities", ""},
			fromStart, checkInitialize},
		{Rule{handshakeBefore, "thread/start before initialize, then initialize", "error -32000, then a good answer", ""},
			fromInitialize, checkBeforeInitialize},
		{Rule{handshakeSecond, "initialize twice, then thread/start", "the second one is error -32000 and the bridge goes on", ""},
			fromInitialize, checkSecondInitialize},
		{Rule{handshakeVersions, "initialize with the range 4 to 9, and in another process with 1 to 2", "error -32006 with both ranges in its data", ""},
			fromInitialize, checkVersions},
		{Rule{handshakeNarrow, "initialize", "no capability goes beyond what the profile declares", "declarations"},
			fromInitialize, checkNarrow},
		{Rule{capabilityRefused, "every method that the bridge does not advertise, with fields that are unknown there", "error -32005", "a method that is not advertised"},
			fromSession, checkUnadvertised},
		{Rule{sessionStart, "thread/start", "the result is a session identity; thread/identity says the same", ""},
			fromInitialize, checkStart},
		{Rule{sessionIdentityFirst, "thread/start and a turn", "thread/identity comes before the first delta of the thread", "plain"},
			fromTurn, checkIdentityFirst},
		{Rule{sessionResume, "a turn, then thread/resume as the fixture's resume says, then a turn", "the identity is that of the session, or session/replaced announced another; the turn settles", "plain, capability sessionRestore"},
			fromTurn, checkResume},
		{Rule{sessionFork, "a turn, then thread/fork at the tip, then a turn on the copy", "the copy has an identity of its own; the turn settles", "plain, capability fork"},
			fromTurn, checkFork},
		{Rule{sessionForkGate, "thread/fork at a checkpoint", "fork tip: error -32003; fork checkpoint: an identity", "plain, capability fork"},
			fromTurn, checkForkGate},
		{Rule{threadsIndependent, "two threads in one process: one runs slow, the other a turn; then the first is stopped", "two identities; neither waits for, stops or names work of the other", "plain"},
			fromTurn, checkThreads},
		{Rule{turnLifecycle, "a turn, and another one after it", "each is answered, accepted once, opened, answered with a message and completed; nothing turn-scoped lies outside", "plain"},
			fromSession, checkLifecycle},
		{Rule{turnZeroWork, "a turn without work", "the input is accepted and a boundary settles it, without an item", "zeroWork"},
			fromSession, checkZeroWork},
		{Rule{turnSteer, "turn/steer while slow runs, and again when its turn is gone", "turn.open had a key; native: the input is accepted in the open turn; later error -32001", "slow, steer, capability steer"},
			fromSession, checkSteer},
		{Rule{turnVouchedKeys, tour, "every turnKey was brought by a turn.open of the thread; only a boundary may bring its own", "plain or items"},
			fromSession, checkStream(turnVouchedKeys)},
		{Rule{providerUnknown, "thread/start for a provider that the bridge does not have", "error -32602", ""},
			fromInitialize, checkUnknownProvider},
		{Rule{eventsSchemaValid, tour, "every delta passes the strict schema of its kind", "plain or items"},
			fromSession, checkStream(eventsSchemaValid)},
		{Rule{scopeExplicit, tour, "the eight scoped kinds say turn with a turnKey, or thread without one", "plain or items"},
			fromSession, checkStream(scopeExplicit)},
		{Rule{itemPresentation, tour, "every item.open and item.close has a presentation", "items"},
			fromSession, checkStream(itemPresentation)},
		{Rule{itemExtensionKind, tour, "every item and state that is not core's is declared and passes its schema", "plain or items"},
			fromSession, checkStream(itemExtensionKind)},
		{Rule{itemOpensFirst, tour, "text and progress come for items that are open", "items"},
			fromSession, checkStream(itemOpensFirst)},
		{Rule{itemSettlesOnce, tour, "no item is closed twice or goes on after it settled", "items"},
			fromSession, checkStream(itemSettlesOnce)},
		{Rule{interactionRoundTrip, "the prompts that raise an interaction, each answered", "each raises a well-formed interaction/request, takes the answer and completes", "question or approval"},
			fromSession, checkInteraction},
		{Rule{toolRoundTrip, "the prompt that calls the first tool, answered", "a well-formed tool/call of that tool, and the turn completes", "dynamicTool"},
			fromSession, checkTool},
		{Rule{stopInterrupt, "thread/stop interrupt while slow runs, then a turn", "the turn settles as interrupted before the result and nothing of it comes later; the turn after it settles", "slow"},
			fromSession, checkInterrupt},
		{Rule{stopRelease, "thread/stop release of an idle session, then shutdown", "a result, and no delta that settles anything", "plain"},
			fromTurn, checkRelease},
		{Rule{shutdownOutstanding, "shutdown while an interaction waits for its answer", "the answer is {} and the process ends within graceMs", "question or approval"},
			fromSession, checkShutdown},
	}
}
