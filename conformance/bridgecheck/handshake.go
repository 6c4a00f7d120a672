package bridgecheck

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// farVersion ends a range that holds every version of today.
const farVersion = 9

func checkInitialize(s *scenario) {
	for _, r := range []struct{ lowest, highest int }{{protocol.Version, protocol.Version}, {1, farVersion}} {
		b := s.start()
		began := time.Now()
		a := b.mustCall(b.rule, protocol.MethodInitialize, b.initializeParams(r.lowest, r.highest))
		if s.first == 0 {
			s.first = time.Since(began)
		}
		result, problem := protocol.Decode[protocol.InitializeResult](a.result)
		if problem != nil {
			b.breachf(b.rule, a.at, "the result is no initialize result: %s", problem.Error())
		}
		if result.Protocol != protocol.Version {
			b.breachf(b.rule, a.at, "the range %d to %d was answered with version %d, want %d", r.lowest, r.highest, result.Protocol, protocol.Version)
		}
	}
}

func checkBeforeInitialize(s *scenario) {
	b := s.start()
	b.refuse(protocol.MethodThreadStart, b.sessionParams(b.newThreadID()), protocol.BridgeError, "before initialize")
	b.mustCall(b.rule, protocol.MethodInitialize, b.initializeParams(protocol.Version, protocol.Version))
}

func checkSecondInitialize(s *scenario) {
	b := s.initialized()
	b.refuse(protocol.MethodInitialize, b.initializeParams(protocol.Version, protocol.Version), protocol.BridgeError, "sent a second time")
	id := b.newThreadID()
	b.mustCall(b.rule, protocol.MethodThreadStart, b.sessionParams(id))
}

func checkVersions(s *scenario) {
	for _, r := range []protocol.VersionRange{{Min: 4, Max: farVersion}, {Min: 1, Max: 2}} {
		b := s.start()
		a := b.refuse(protocol.MethodInitialize, b.initializeParams(r.Min, r.Max), protocol.ProtocolUnsupported, "with a range without 3")
		var data struct{ Core, Bridge struct{ Min, Max *int } }
		if json.Unmarshal(a.err.Data, &data) != nil || data.Core.Min == nil || data.Core.Max == nil || data.Bridge.Min == nil || data.Bridge.Max == nil {
			b.breachf(b.rule, a.at, "the data of the error is not {core: {min, max}, bridge: {min, max}}")
		}
		if *data.Core.Min != r.Min || *data.Core.Max != r.Max {
			b.breachf(b.rule, a.at, "the data of the error says that core speaks %d to %d, which is not what it sent", *data.Core.Min, *data.Core.Max)
		}
		if *data.Bridge.Min > protocol.Version || *data.Bridge.Max < protocol.Version {
			b.breachf(b.rule, a.at, "the data of the error says that the bridge speaks %d to %d, which is without 3", *data.Bridge.Min, *data.Bridge.Max)
		}
	}
}

func checkNarrow(s *scenario) {
	profile := s.fixture.Profiles[s.profile]
	if len(profile.Declarations) == 0 {
		s.skipf("the profile has no declarations")
	}
	b := s.initialized()
	for _, d := range profile.Declarations {
		if wider := protocol.CapabilityWidens(d.Capabilities, b.reported); len(wider) > 0 {
			b.breachf(b.rule, b.position()-1, "the bridge reports more than the declaration of %s allows: %s", d.ID, strings.Join(wider, ", "))
		}
	}
}

// gated is a method that a bridge answers only when it advertises it.
type gatedMethod struct {
	name       string
	advertised bool
	params     object
}

// gatedMethods lists them with good params. Those that only a declaration advertises are left out without one.
func (t *thread) gatedMethods() []gatedMethod {
	c := t.capabilities()
	other := t.newThreadID()
	prompt := t.ref().with("input", []object{{"type": "text", "text": "hello", "mentions": []object{}, "visibility": "user"}}).
		with("clientRequestId", "request-steer").with("options", t.fixture.Options).with("actions", []string{})
	methods := []gatedMethod{
		{protocol.MethodThreadResume, c.SessionRestore, t.sessionParams(other).with("providerThreadId", t.provider)},
		{protocol.MethodThreadFork, c.Fork == protocol.ForkTip || c.Fork == protocol.ForkCheckpoint,
			t.sessionParams(other).with("sourceProviderThreadId", t.provider).with("sourceCheckpointId", nil)},
		{protocol.MethodThreadArchive, c.ThreadArchive, t.ref()},
		{protocol.MethodThreadUnarchive, c.ThreadArchive, t.ref()},
		{protocol.MethodThreadNameSet, c.ThreadRename, t.ref().with("title", "a title")},
		{protocol.MethodThreadGoalSet, c.ThreadGoal, t.ref().with("goal", "a goal")},
		{protocol.MethodThreadGoalClear, c.ThreadGoal, t.ref()},
		{protocol.MethodTurnSteer, c.Steer == protocol.SteerQueue || c.Steer == protocol.SteerNative, prompt.with("turnId", "turn-1")},
	}
	d := t.declaration()
	if d == nil {
		return methods
	}
	provider := object{"providerId": t.fixture.providerID(), "cwd": t.cwd, "bridgeOptions": orNothing(t.fixture.BridgeOptions)}
	return append(methods,
		gatedMethod{protocol.MethodModelList, d.Models.Catalog == protocol.CatalogBridge, provider},
		gatedMethod{protocol.MethodHealth, d.Maintenance.Health, provider},
		gatedMethod{protocol.MethodUsage, d.Maintenance.Usage, provider},
		gatedMethod{protocol.MethodInstallationStatus, d.Maintenance.Installation, provider.with("checkUpdates", false)},
		gatedMethod{protocol.MethodInstallationRun, d.Maintenance.Installation, provider.with("action", "install")},
		gatedMethod{protocol.MethodSkillsDiscover, d.Skills.Discover, provider},
		gatedMethod{protocol.MethodSkillsConfigure, d.Skills.Configure, object{"threadId": t.id, "roots": []object{}}},
	)
}

// unknownFields adds fields to params that a later version may bring: one that nobody knows, and those of other methods
// with values that would be wrong there.
func (t *thread) unknownFields(params object) object {
	for name, value := range map[string]any{
		"conformance": object{}, "threadId": "no-such-thread", "providerId": "no-such-provider", "providerIds": []string{"no-such-provider"},
	} {
		if _, known := params[name]; !known {
			params = params.with(name, value)
		}
	}
	return params
}

func checkUnadvertised(s *scenario) {
	t := s.initialized().startThread()
	found := false
	for _, m := range t.gatedMethods() {
		if m.advertised {
			continue
		}
		found = true
		t.refuse(m.name, t.unknownFields(m.params), protocol.CapabilityNotAdvertised, "which is not advertised")
	}
	if !found {
		s.skipf("the bridge advertises every method in this profile")
	}
}
