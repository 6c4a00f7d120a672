package protocol_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/matryer/is"

	. "github.com/bb-kernel/bb/bridgekit/protocol"
)

func TestMethods(t *testing.T) {
	all := Capabilities{SessionRestore: true, ThreadArchive: true, ThreadRename: true, ThreadGoal: true, Fork: ForkCheckpoint, Steer: SteerNative, ApprovalEnforcedBy: EnforcedByRuntime}
	none := Capabilities{Fork: ForkNone, Steer: SteerNone, ApprovalEnforcedBy: EnforcedByRuntime}
	full := ProviderDeclaration{Models: ModelSource{Catalog: CatalogBridge}, Maintenance: Maintenance{Health: true, Usage: true, Installation: true},
		Skills: SkillSupport{Configure: true, Discover: true}}
	static := ProviderDeclaration{Models: ModelSource{Catalog: CatalogStatic}}
	var names []string
	for _, test := range []struct {
		method, params, result, gate string // gate: what must be so, "" for nothing
	}{
		{"initialize", "InitializeParams", "InitializeResult", ""},
		{"model/list", "ProviderParams", "ModelListResult", "models"},
		{"provider/health", "ProviderParams", "HealthResult", "health"},
		{"provider/usage", "ProviderParams", "UsageResult", "usage"},
		{"provider/installation/status", "InstallationStatusParams", "InstallationStatusResult", "installation"},
		{"provider/installation/run", "InstallationRunParams", "InstallationRunResult", "installation"},
		{"skills/discover", "ProviderParams", "SkillsDiscoverResult", "discover"},
		{"skills/configure", "SkillsConfigureParams", "Empty", "configure"},
		{"thread/start", "SessionParams", "SessionIdentity", ""},
		{"thread/resume", "ResumeParams", "SessionIdentity", "restore"},
		{"thread/fork", "ForkParams", "SessionIdentity", "fork"},
		{"thread/stop", "ThreadStopParams", "Empty", ""},
		{"thread/discard", "ThreadRef", "Empty", ""},
		{"thread/archive", "ThreadRef", "Empty", "archive"},
		{"thread/unarchive", "ThreadRef", "Empty", "archive"},
		{"thread/name/set", "ThreadNameParams", "Empty", "rename"},
		{"thread/goal/set", "ThreadGoalParams", "Empty", "goal"},
		{"thread/goal/clear", "ThreadRef", "Empty", "goal"},
		{"turn/start", "TurnStartParams", "Empty", ""},
		{"turn/steer", "TurnSteerParams", "Empty", "steer"},
		{"shutdown", "ShutdownParams", "Empty", ""},
	} {
		names = append(names, test.method)
		t.Run(test.method, func(t *testing.T) {
			is := is.New(t)
			s, ok := SpecOf(test.method)
			is.True(ok)
			is.Equal(reflect.TypeOf(s.Params()).Elem().Name(), test.params)
			is.Equal(reflect.TypeOf(s.Result()).Elem().Name(), test.result)
			is.Equal(s.Required, test.gate == "")
			_, text := exampleNamed(t, test.method+" params")
			is.Equal(s.Provider, strings.Contains(text, `"providerId":`))
			is.True(s.Advertised(&full, &all))
			is.Equal(s.Advertised(&static, &none), test.gate == "")
			gates := map[string]func(*ProviderDeclaration, *Capabilities){ // each takes away one thing
				"models":       func(d *ProviderDeclaration, _ *Capabilities) { d.Models.Catalog = CatalogStatic },
				"health":       func(d *ProviderDeclaration, _ *Capabilities) { d.Maintenance.Health = false },
				"usage":        func(d *ProviderDeclaration, _ *Capabilities) { d.Maintenance.Usage = false },
				"installation": func(d *ProviderDeclaration, _ *Capabilities) { d.Maintenance.Installation = false },
				"discover":     func(d *ProviderDeclaration, _ *Capabilities) { d.Skills.Discover = false },
				"configure":    func(d *ProviderDeclaration, _ *Capabilities) { d.Skills.Configure = false },
				"restore":      func(_ *ProviderDeclaration, c *Capabilities) { c.SessionRestore = false },
				"fork":         func(_ *ProviderDeclaration, c *Capabilities) { c.Fork = ForkNone },
				"archive":      func(_ *ProviderDeclaration, c *Capabilities) { c.ThreadArchive = false },
				"rename":       func(_ *ProviderDeclaration, c *Capabilities) { c.ThreadRename = false },
				"goal":         func(_ *ProviderDeclaration, c *Capabilities) { c.ThreadGoal = false },
				"steer":        func(_ *ProviderDeclaration, c *Capabilities) { c.Steer = SteerNone },
			}
			for gate, take := range gates {
				d, c := full, all
				take(&d, &c)
				is.Equal(s.Advertised(&d, &c), gate != test.gate)
			}
		})
	}
	is := is.New(t)
	var listed []string
	for _, s := range CoreToBridge() {
		listed = append(listed, s.Method)
	}
	is.Equal(listed, names)
	_, ok := SpecOf("thread/fly")
	is.True(!ok)
	tip := all
	tip.Fork = ForkTip
	fork, _ := SpecOf(MethodThreadFork)
	is.True(fork.Advertised(&static, &tip))
	queue := all
	queue.Steer = SteerQueue
	steer, _ := SpecOf(MethodTurnSteer)
	is.True(steer.Advertised(&static, &queue))
}

func TestCapabilityWidens(t *testing.T) {
	declared := Capabilities{SessionRestore: true, Fork: ForkTip, ApprovalEnforcedBy: EnforcedByRuntime, Steer: SteerQueue}
	for _, test := range []struct {
		name   string
		change func(*Capabilities)
		want   []string
	}{
		{"the same", func(*Capabilities) {}, nil},
		{"narrower", func(c *Capabilities) { c.SessionRestore, c.Fork, c.Steer = false, ForkNone, SteerNone }, nil},
		{"false to true", func(c *Capabilities) { c.ThreadArchive, c.ThreadRename, c.ThreadGoal = true, true, true }, []string{"threadArchive", "threadRename", "threadGoal"}},
		{"wider fork", func(c *Capabilities) { c.Fork = ForkCheckpoint }, []string{"fork"}},
		{"wider steer", func(c *Capabilities) { c.Steer = SteerNative }, []string{"steer"}},
		{"another enforcer", func(c *Capabilities) { c.ApprovalEnforcedBy = EnforcedByProvider }, []string{"approvalEnforcedBy"}},
		{"unknown values", func(c *Capabilities) { c.Fork, c.Steer = "all", "all" }, []string{"fork", "steer"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			reported := declared
			test.change(&reported)
			is.Equal(CapabilityWidens(declared, reported), test.want)
		})
	}
	t.Run("every key", func(t *testing.T) {
		is := is.New(t)
		is.Equal(CapabilityWidens(Capabilities{Fork: ForkNone, Steer: SteerNone, ApprovalEnforcedBy: EnforcedByProvider},
			Capabilities{true, true, true, true, ForkTip, EnforcedByRuntime, SteerQueue, nil}),
			[]string{"sessionRestore", "threadArchive", "threadRename", "threadGoal", "fork", "approvalEnforcedBy", "steer"})
		is.Equal(CapabilityWidens(Capabilities{SessionRestore: false}, Capabilities{SessionRestore: true}), []string{"sessionRestore"})
	})
}

func TestAccepts(t *testing.T) {
	offered := &Approval{Decisions: []DecisionKind{AllowForSession, Deny}}
	free := &Questions{Questions: []Question{{ID: "q", Prompt: "?", AllowFreeText: true, Options: []QuestionOption{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}}}}
	answer := func(id string, a Answer) *Answers { return &Answers{Answers: map[string]Answer{id: a}} }
	both := func(colour Answer) *Answers { return &Answers{Answers: map[string]Answer{"colour": colour, "why": {}}} }
	for _, test := range []struct {
		name string
		q    Interaction
		r    Resolution
		want string // part of the error, "" for none
	}{
		{"paired kinds/approval by decision", offered, &Decision{Kind: AllowForSession, Granted: &GrantProfile{}}, ""},
		{"paired kinds/approval by answers", offered, &Answers{}, "an approval is answered by a decision, not by answers"},
		{"paired kinds/approval by nothing", offered, nil, "not by nothing"},
		{"paired kinds/approval by a nil decision", offered, (*Decision)(nil), "is answered by a decision"},
		{"paired kinds/question by decision", free, &Decision{Kind: Deny}, "a question is answered by answers, not by a decision"},
		{"paired kinds/question by submitted", free, &Submitted{}, "not by submitted data"},
		{"paired kinds/open kind by submitted", &OpenInteraction{Name: "a/b"}, &Submitted{Data: raw("1")}, ""},
		{"paired kinds/open kind by answers", &OpenInteraction{Name: "a/b"}, &Answers{}, `"a/b" is answered by submitted data`},
		{"paired kinds/interrupted is no answer", offered, &InterruptedResolution{}, "INTERACTION_INTERRUPTED"},
		{"decision/offered", offered, &Decision{Kind: Deny}, ""},
		{"decision/not offered", offered, &Decision{Kind: AllowOnce}, `"allow_once" was not offered; choose one of [allow_for_session deny]`},
		{"decision/default", &Approval{}, &Decision{Kind: AllowOnce}, ""},
		{"decision/not in the default", &Approval{}, &Decision{Kind: AllowForSession}, "was not offered"},
		{"decision/deny grants nothing", offered, &Decision{Kind: Deny, Granted: &GrantProfile{}}, "granted: must be null with deny"},
		{"answers/an option", free, answer("q", Answer{Selected: []string{"a"}}), ""},
		{"answers/free text", free, answer("q", Answer{FreeText: Ptr("x")}), ""},
		{"answers/no such option", free, answer("q", Answer{Selected: []string{"c"}}), `answers.q.selected[0]: "c" is not among the options`},
		{"answers/two of a single choice", free, answer("q", Answer{Selected: []string{"a", "b"}}), "answers.q.selected: must have at most 1 element"},
		{"answers/several of a multiple choice", sampleQuestions(), both(Answer{Selected: []string{"red", "blue"}}), ""},
		{"answers/free text where none is allowed", sampleQuestions(), both(Answer{FreeText: Ptr("x")}), "answers.colour.freeText: must be null"},
		{"answers/blank text", free, answer("q", Answer{FreeText: Ptr(" ")}), "answers.q.freeText: must not be blank"},
		{"answers/missing", sampleQuestions(), answer("colour", Answer{}), "answers.why: missing"},
		{"answers/not asked", free, &Answers{Answers: map[string]Answer{"q": {}, "z": {}}}, "answers.z: was not asked"},
		{"answers/too large", free, answer("q", Answer{Selected: []string{strings.Repeat("a", MaxInteraction)}}), "must be at most 65536 bytes"},
		{"submitted/too large", &OpenInteraction{Name: "a/b"}, &Submitted{Data: raw(`"` + strings.Repeat("a", MaxInteraction) + `"`)}, "must be at most 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.q.Accepts(test.r)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.300v, want %q", err, test.want)
			}
		})
	}
}

func TestParseResolution(t *testing.T) {
	is := is.New(t)
	r, err := ParseResolution([]byte(`{"kind":"approval","decision":"allow_once","granted":null}`))
	is.True(err == nil)
	is.True(r.(*Decision).Allowed())
	_, err = ParseResolution([]byte(`{"kind":"interrupted"}`))
	is.Equal(issuesOf(err), []string{"kind invalid_value"})
	_, err = ParseResolution([]byte(`{"kind":"maybe"}`))
	is.Equal(issuesOf(err), []string{"kind invalid_value"})
	is.True(!(&Decision{Kind: Deny}).Allowed())
	is.True(!(*Decision)(nil).Allowed())
}

func TestParts(t *testing.T) {
	is := is.New(t)
	is.Equal(ItemKey{ProviderItemID: "a", ParentRef: "p"}.String(), "a\x1f\x1fp")
	is.Equal(TurnStartParams{Input: Inputs{&TextInput{Text: "a"}, &ImageInput{URL: "x"}, &TextInput{Text: "b"}, (*TextInput)(nil)}}.Text(), "a\nb")
	is.Equal(TurnSteerParams{}.Text(), "")
	var detaching []string
	for _, i := range sampleItems() {
		if i.Kind().Detaches() {
			detaching = append(detaching, string(i.Kind()))
		}
	}
	is.Equal(detaching, []string{"command", "tool", "file_change", "task", "echo/chart"})
	for _, name := range []string{"a/b", "0-/-9"} {
		is.True(IsExtensionKind(name))
	}
	for _, name := range []string{"", "a", "/", "a/", "/b", "a/b/c", "A/b", "a/b ", "a/é"} {
		is.True(!IsExtensionKind(name))
	}
}

// TestLimits pins the numbers that other languages rely on.
func TestLimits(t *testing.T) {
	is := is.New(t)
	is.Equal([]int{Version, MinVersion, MaxVersion}, []int{3, 3, 3})
	is.Equal(ItemKeySeparator, "\x1f")
	is.Equal([]int{MaxDeltaText, MaxDiff, MaxRaw, MaxInteraction, MaxExtension, UnknownKeyBuffer}, []int{1048576, 4194304, 16384, 65536, 65536, 262144})
	is.Equal([]int{MaxQuestions, MaxOptions, MaxSelected, MaxFreeText, MaxTitle, MaxInstallArgs}, []int{4, 4, 4, 4096, 200, 64})
	is.Equal(len(sampleErrors()), 10)
}
