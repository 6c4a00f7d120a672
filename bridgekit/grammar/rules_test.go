package grammar_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/grammar"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/matryer/is"
)

// kinds declares the item acme/note and the state acme/mode, each an object with a text.
func kinds(t testing.TB) *extension.Kinds {
	t.Helper()
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	k, err := extension.New(protocol.ProviderDeclaration{ExtensionKinds: map[string]protocol.ExtensionKind{
		"acme/note": {Item: schema}, "acme/mode": {State: schema}}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// decoded reads a delta as core does.
func decoded(raw string) protocol.DecodedDelta {
	d, err := protocol.ParseDelta([]byte(raw))
	return protocol.DecodedDelta{Delta: d, Err: err, Raw: []byte(raw)}
}

// The deltas of the tests, with the open turn's scope. In a case "!" is the rule that the delta before it breaks.
const (
	scope        = `"scope":"turn","turnKey":null`
	thread       = `"scope":"thread"`
	presentation = `,"presentation":{"label":"Doing","icon":"x"}`
	reset        = `{"kind":"session.reset"}`
	ended        = `{"kind":"session.ended"}`
	note         = `{"kind":"acme/note","payload":{"text":"a"}}`
	msg          = `{"kind":"message","text":""}`
	cmd          = `{"kind":"command","command":"ls","cwd":null,"intent":"terminal","actions":[],"output":null,"exitCode":null,"durationMs":null,"approval":null}`
	reasoning    = `{"kind":"reasoning","text":"","summary":""}`
	plan         = `{"kind":"plan","text":"","path":null}`
	tool         = `{"kind":"tool","tool":"t","server":null,"arguments":{},"intent":"generic","result":null,"error":null,"durationMs":null,"approval":null}`
	task         = `{"kind":"task","role":"delegation","label":"t","taskType":null,"childRef":null,"background":false,"summary":null,"error":null,"outputFile":null,"usage":null}`
	change       = `{"kind":"file_change","changes":[],"approval":null}`
	compaction   = `{"kind":"compaction","trigger":null,"preTokens":null,"postTokens":null}`
)

func quoted(s string) string {
	if s == "" {
		return "null"
	}
	return fmt.Sprintf("%q", s)
}

func key(id string) string {
	return fmt.Sprintf(`,"key":{"providerItemId":%q,"channel":null,"parentRef":null}`, id)
}
func turnOpen(k string) string {
	return fmt.Sprintf(`{"kind":"turn.open","turnKey":%s,"parentRef":null}`, quoted(k))
}
func boundary(k string) string {
	return fmt.Sprintf(`{"kind":"turn.boundary","turnKey":%s,"status":"completed","error":null,"checkpointId":null}`, quoted(k))
}
func keyed(k string) string { return fmt.Sprintf(`"scope":"turn","turnKey":%q`, k) }
func opens(s, id, item string) string {
	return `{"kind":"item.open",` + s + key(id) + `,"item":` + item + presentation + `}`
}
func closes(s, id, item string) string {
	return `{"kind":"item.close",` + s + key(id) + `,"status":"completed","item":` + item + presentation + `}`
}
func text(s, id, stream string) string {
	return `{"kind":"item.text",` + s + key(id) + `,"stream":"` + stream + `","text":"a"}`
}
func output(s, id string) string {
	return `{"kind":"item.output",` + s + key(id) + `,"mode":"append","text":"a"}`
}
func progress(s, id, item string) string {
	return `{"kind":"item.progress",` + s + key(id) + `,"message":null,"item":` + item + `,"presentation":null}`
}
func fails(s string) string {
	return `{"kind":"provider.error",` + s + `,"category":"unknown","message":"m","detail":null,"providerCode":null,"httpStatus":null,"willRetry":false,"settlesTurn":true}`
}
func state(name, payload string) string {
	return fmt.Sprintf(`{"kind":"extension.state","extensionKind":%q,"payload":%s}`, name, payload)
}
func without(raw, part string) string { return strings.Replace(raw, part, "", 1) }

// rule marks the delta before it.
func rule(r grammar.Rule) string { return "!" + string(r) }

// each rule with sequences; nothing but the marked deltas breaks a rule.
func ruleCases() map[grammar.Rule]map[string][]string {
	schema, explicit, present := rule(grammar.SchemaValid), rule(grammar.ScopeExplicit), rule(grammar.PresentationPresent)
	declared, vouched := rule(grammar.ExtensionKindDeclared), rule(grammar.VouchedKeysOnly)
	unopened, once := rule(grammar.OpensBeforeDelta), rule(grammar.SettlesOnce)
	return map[grammar.Rule]map[string][]string{
		grammar.SchemaValid: {
			"no object":          {`1`, schema, `null`, schema, `[]`, schema},
			"no kind":            {`{}`, schema, `{"kind":"nope"}`, schema},
			"an unknown field":   {`{"kind":"session.reset","x":1}`, schema},
			"a missing field":    {`{"kind":"thread.name"}`, schema},
			"a field of a scope": {`{"kind":"todo","turnKey":"","steps":[],"explanation":null}`, schema, `{"kind":"session.reset","scope":"thread"}`, schema},
			"a wrong presentation": {strings.Replace(opens(scope, "a", msg), `"Doing"`, `""`, 1), schema,
				strings.Replace(progress(scope, "a", "null"), `,"presentation":null`, ``, 1), schema},
			"changes nothing":          {without(turnOpen("a"), `,"parentRef":null`), schema, text(keyed("a"), "m", "text"), vouched},
			"an extension's payload":   {opens(scope, "a", `{"kind":"acme/note","payload":1}`), schema, state("acme/mode", `{}`), schema},
			"text by kind":             {opens(scope, "a", msg), text(scope, "a", "text"), text(scope, "a", "summary"), schema},
			"text of a reasoning":      {opens(scope, "a", reasoning), text(scope, "a", "text"), text(scope, "a", "summary")},
			"text of a plan":           {opens(scope, "a", plan), text(scope, "a", "text"), text(scope, "a", "summary"), schema},
			"text of other kinds":      {opens(scope, "a", cmd), text(scope, "a", "text"), schema, opens(scope, "b", note), text(scope, "b", "text"), schema, opens(scope, "c", tool), text(scope, "c", "text"), schema, opens(scope, "d", task), text(scope, "d", "summary"), schema, opens(scope, "e", change), text(scope, "e", "text"), schema, opens(scope, "f", compaction), text(scope, "f", "summary"), schema},
			"output by kind":           {opens(scope, "a", cmd), output(scope, "a"), opens(scope, "b", tool), output(scope, "b"), opens(scope, "c", task), output(scope, "c")},
			"output of other kinds":    {opens(scope, "a", msg), output(scope, "a"), schema, opens(scope, "b", reasoning), output(scope, "b"), schema, opens(scope, "c", plan), output(scope, "c"), schema, opens(scope, "d", note), output(scope, "d"), schema, opens(scope, "e", change), output(scope, "e"), schema, opens(scope, "f", compaction), output(scope, "f"), schema},
			"progress changes it":      {opens(scope, "a", cmd), progress(scope, "a", msg), output(scope, "a"), schema, text(scope, "a", "text"), progress(scope, "a", "null"), text(scope, "a", "text")},
			"opening again changes it": {opens(scope, "a", cmd), opens(scope, "a", msg), output(scope, "a"), schema, text(scope, "a", "text")},
		},
		grammar.ScopeExplicit: {
			"missing":             {without(opens(scope, "a", msg), scope+`,`), explicit, without(fails(scope), `"scope":"turn",`), explicit},
			"another word":        {opens(`"scope":"session"`, "a", msg), explicit, opens(`"scope":null`, "a", msg), explicit},
			"without turnKey":     {opens(`"scope":"turn"`, "a", msg), explicit},
			"an empty turnKey":    {opens(`"scope":"turn","turnKey":""`, "a", msg), explicit},
			"thread with turnKey": {opens(`"scope":"thread","turnKey":null`, "a", msg), explicit, opens(`"scope":"thread","turnKey":"k"`, "a", msg), explicit},
			"each scoped kind": {without(text(scope, "a", "text"), scope+`,`), explicit, without(output(scope, "a"), scope+`,`), explicit,
				without(progress(scope, "a", "null"), scope+`,`), explicit, without(closes(scope, "a", msg), scope+`,`), explicit,
				`{"kind":"provider.warning","category":"general","summary":null,"details":null}`, explicit,
				`{"kind":"provider.unhandled","rawType":"r","raw":1,"parentRef":null}`, explicit},
			"before the presentation": {without(without(opens(scope, "a", msg), scope+`,`), presentation), explicit},
		},
		grammar.PresentationPresent: {
			"missing":               {without(opens(scope, "a", msg), presentation), present, without(closes(scope, "a", msg), presentation), present},
			"null":                  {strings.Replace(opens(scope, "a", msg), presentation, `,"presentation":null`, 1), present},
			"before the schema":     {strings.Replace(opens(scope, "a", msg), presentation, `,"x":1`, 1), present},
			"not of item.progress":  {opens(scope, "a", msg), progress(scope, "a", "null")},
			"a rejected open stays": {without(opens(scope, "a", msg), presentation), present, text(scope, "a", "text"), unopened},
		},
		grammar.ExtensionKindDeclared: {
			"items":               {opens(scope, "a", note), progress(scope, "a", note), closes(scope, "a", note), opens(scope, "b", `{"kind":"acme/other","payload":1}`), declared, progress(scope, "b", `{"kind":"acme/other","payload":1}`), declared, closes(scope, "b", `{"kind":"acme/mode","payload":{"text":""}}`), declared},
			"states":              {state("acme/mode", `{"text":"a"}`), state("acme/note", `{"text":"a"}`), declared, state("acme/x", `1`), declared},
			"before the turn key": {opens(keyed("x"), "b", `{"kind":"acme/other","payload":1}`), declared},
		},
		grammar.VouchedKeysOnly: {
			"never opened":               {opens(keyed("x"), "a", msg), vouched, `{"kind":"turn.diff","turnKey":"x","diff":""}`, vouched, `{"kind":"todo","turnKey":"x","steps":[],"explanation":null}`, vouched, fails(keyed("x")), vouched},
			"usage":                      {`{"kind":"usage","turnKey":"x","last":{"totalTokens":0,"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"total":null,"modelContextWindow":null,"cacheWriteTokens":null,"cost":null}`, vouched},
			"warning and unhandled":      {`{"kind":"provider.warning",` + keyed("x") + `,"category":"general","summary":null,"details":null}`, vouched, `{"kind":"provider.unhandled",` + keyed("x") + `,"rawType":"r","raw":1,"parentRef":null}`, vouched},
			"opened":                     {turnOpen("x"), opens(keyed("x"), "a", msg), text(keyed("x"), "a", "text")},
			"null needs none":            {opens(scope, "a", msg)},
			"settled":                    {turnOpen("x"), boundary("x"), opens(keyed("x"), "a", msg)},
			"boundary may bring one":     {boundary("x"), opens(keyed("x"), "a", msg)},
			"but not during a turn":      {turnOpen("y"), boundary("x"), opens(keyed("x"), "a", msg), vouched},
			"until reset":                {turnOpen("x"), reset, opens(keyed("x"), "a", msg), vouched},
			"ended keeps them":           {turnOpen("x"), ended, fails(keyed("x"))},
			"before the item":            {text(keyed("x"), "a", "text"), vouched},
			"a known item does not help": {opens(scope, "a", msg), text(keyed("x"), "a", "text"), vouched},
			"a key no one kept whole":    {turnOpen(strings.Repeat("k", 1000)), fails(keyed(strings.Repeat("k", 1000))), fails(keyed(strings.Repeat("k", 1001))), vouched},
		},
		grammar.OpensBeforeDelta: {
			"text and progress":                 {text(scope, "a", "text"), unopened, progress(scope, "a", "null"), unopened},
			"output may come first":             {output(scope, "a"), opens(scope, "a", cmd)},
			"close may come first":              {closes(scope, "a", cmd), text(scope, "a", "text"), closes(scope, "a", cmd), once},
			"without a turn":                    {opens(scope, "a", msg), text(scope, "a", "text")},
			"a turn's key dies with it":         {turnOpen(""), opens(scope, "a", msg), boundary(""), text(scope, "a", "text"), unopened},
			"by its key":                        {turnOpen("x"), opens(scope, "a", msg), boundary("x"), text(scope, "a", "text"), unopened},
			"not with another's":                {turnOpen("x"), opens(scope, "a", msg), boundary("y"), text(scope, "a", "text")},
			"by an error":                       {turnOpen(""), opens(scope, "a", msg), fails(scope), text(scope, "a", "text"), unopened},
			"by an error with its key":          {turnOpen("x"), opens(scope, "a", msg), fails(keyed("x")), text(scope, "a", "text"), unopened},
			"not by another turn's error":       {turnOpen("x"), boundary("x"), turnOpen("y"), opens(scope, "a", msg), fails(keyed("x")), text(scope, "a", "text")},
			"by another turn":                   {turnOpen("x"), opens(scope, "a", msg), turnOpen("y"), text(scope, "a", "text"), unopened},
			"by a turn without a key":           {turnOpen("x"), opens(scope, "a", msg), turnOpen(""), text(scope, "a", "text"), unopened},
			"not by a repeat":                   {turnOpen("x"), opens(scope, "a", msg), turnOpen("x"), text(scope, "a", "text")},
			"not by a repeat of null":           {turnOpen(""), opens(scope, "a", msg), turnOpen(""), text(scope, "a", "text")},
			"the thread's live on":              {turnOpen(""), opens(thread, "a", msg), boundary(""), text(scope, "a", "text"), text(thread, "a", "text")},
			"until reset":                       {opens(thread, "a", msg), reset, text(thread, "a", "text"), unopened},
			"ended settles them":                {opens(thread, "a", msg), ended, text(thread, "a", "text")},
			"any scope finds it":                {turnOpen(""), opens(scope, "a", msg), text(thread, "a", "text")},
			"late text is no matter of grammar": {opens(scope, "a", msg), closes(scope, "a", msg), text(scope, "a", "text"), output(scope, "a"), progress(scope, "a", "null")},
		},
		grammar.SettlesOnce: {
			"a second close":      {opens(scope, "a", msg), closes(scope, "a", msg), closes(scope, "a", msg), once, closes(thread, "a", msg), once},
			"opened again":        {opens(scope, "a", msg), closes(scope, "a", msg), opens(scope, "a", cmd), output(scope, "a"), closes(scope, "a", cmd), closes(scope, "a", cmd), once},
			"in the next turn":    {turnOpen(""), closes(scope, "a", msg), boundary(""), turnOpen(""), closes(scope, "a", msg)},
			"of the thread":       {closes(thread, "a", msg), turnOpen(""), closes(scope, "a", msg), once, reset, closes(thread, "a", msg)},
			"settled by core":     {opens(thread, "a", msg), ended, closes(thread, "a", msg), closes(thread, "a", msg), once},
			"other keys are free": {closes(scope, "a", msg), closes(scope, "b", msg)},
		},
	}
}

func TestRules(t *testing.T) {
	for r, cases := range ruleCases() {
		t.Run(string(r), func(t *testing.T) {
			for name, steps := range cases {
				t.Run(name, func(t *testing.T) {
					c := grammar.New(kinds(t))
					for i, raw := range steps {
						if strings.HasPrefix(raw, "!") {
							continue
						}
						want := ""
						if i+1 < len(steps) && strings.HasPrefix(steps[i+1], "!") {
							want = steps[i+1][1:]
						}
						got := ""
						if v := c.Check(decoded(raw)); v != nil {
							got = string(v.Rule)
							if v.Detail == "" {
								t.Error("no detail")
							}
						}
						if got != want {
							t.Fatalf("step %d %.200s: %q, want %q", i, raw, got, want)
						}
					}
				})
			}
		})
	}
}

// An author's list is judged as its deltas are one by one, and a list with a violation changes nothing.
func TestCheckAll(t *testing.T) {
	declared := kinds(t)
	for r, cases := range ruleCases() {
		for name, steps := range cases {
			t.Run(string(r)+"/"+name, func(t *testing.T) {
				is := is.New(t)
				one := grammar.New(declared)
				var list protocol.Deltas
				for _, raw := range steps {
					d := decoded(raw)
					if strings.HasPrefix(raw, "!") || d.Err != nil {
						continue
					}
					all := grammar.New(declared)
					want, got := one.Check(d), all.CheckAll(append(list, d.Delta))
					if want == nil {
						is.True(got == nil)
						list = append(list, d.Delta)
						continue
					}
					is.True(got != nil)
					is.Equal(got.Rule, want.Rule)
					is.Equal(got.Index, len(list))
					is.Equal(got.Kind, want.Kind)
					is.True(all.CheckAll(list) == nil) // nothing was kept
				}
			})
		}
	}
}

func TestAuthorValues(t *testing.T) {
	k := protocol.ItemKey{ProviderItemID: "a"}
	shown := protocol.Presentation{Label: "Doing", Icon: "x"}
	var none *protocol.ItemOpen
	for name, c := range map[string]struct {
		delta protocol.Delta
		want  grammar.Rule
	}{
		"good":                {&protocol.ItemOpen{Key: k, Item: &protocol.Message{}, Presentation: shown}, ""},
		"no delta":            {nil, grammar.SchemaValid},
		"a nil pointer":       {none, grammar.SchemaValid},
		"no item":             {&protocol.ItemOpen{Key: k, Presentation: shown}, grammar.SchemaValid},
		"no key":              {&protocol.ItemOpen{Item: &protocol.Message{}, Presentation: shown}, grammar.SchemaValid},
		"no presentation":     {&protocol.ItemOpen{Key: k, Item: &protocol.Message{}}, grammar.PresentationPresent},
		"none on close":       {&protocol.ItemClose{Key: k, Item: &protocol.Message{}, Status: protocol.Completed}, grammar.PresentationPresent},
		"half a presentation": {&protocol.ItemOpen{Key: k, Item: &protocol.Message{}, Presentation: protocol.Presentation{Label: "x"}}, grammar.SchemaValid},
		"turn and thread":     {&protocol.ItemOpen{Scope: protocol.Scope{Turn: "x", Thread: true}, Key: k, Item: &protocol.Message{}, Presentation: shown}, grammar.ScopeExplicit},
		"a turn not vouched":  {&protocol.ItemOpen{Scope: protocol.Scope{Turn: "x"}, Key: k, Item: &protocol.Message{}, Presentation: shown}, grammar.VouchedKeysOnly},
		"an undeclared kind":  {&protocol.ItemOpen{Key: k, Item: &protocol.Extension{Name: "a/b", Payload: json.RawMessage(`1`)}, Presentation: shown}, grammar.ExtensionKindDeclared},
		"text too long":       {&protocol.ItemText{Key: k, Stream: protocol.Text, Text: strings.Repeat("x", protocol.MaxDeltaText+1)}, grammar.SchemaValid},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			v := grammar.New(nil).CheckAll(protocol.Deltas{&protocol.SessionReset{}, c.delta})
			if c.want == "" {
				is.True(v == nil)
				return
			}
			is.True(v != nil)
			is.Equal(v.Rule, c.want)
			is.Equal(v.Index, 1)
			is.True(strings.HasPrefix(v.Error(), "deltas[1]: "))
		})
	}
}

func TestAllOrNone(t *testing.T) {
	is := is.New(t)
	c := grammar.New(nil)
	send := func(raws ...string) grammar.Rule {
		var ds protocol.Deltas
		for _, raw := range raws {
			ds = append(ds, decoded(raw).Delta)
		}
		if v := c.CheckAll(ds); v != nil {
			return v.Rule
		}
		return ""
	}
	wrong := text(scope, "never", "text")
	is.Equal(send(turnOpen("x"), opens(scope, "a", msg), closes(scope, "b", msg), opens(thread, "c", cmd)), grammar.Rule(""))
	for _, raws := range [][]string{ // nothing of these is kept
		{turnOpen("y"), boundary("y"), boundary("z")},
		{reset, turnOpen("x"), opens(scope, "d", msg), closes(thread, "c", msg)},
		{ended},
		{closes(scope, "a", msg), opens(scope, "b", msg), progress(scope, "c", msg), opens(scope, "e", msg), opens(thread, "e", msg)},
		{opens(scope, "a", cmd), closes(scope, "a", cmd), opens(scope, "a", tool)},
		{fails(scope), turnOpen("w")},
	} {
		is.Equal(send(append(raws, wrong)...), grammar.OpensBeforeDelta)
		is.Equal(send(text(keyed("x"), "a", "text"), output(thread, "c"), wrong), grammar.OpensBeforeDelta)
		is.Equal(send(text(keyed("x"), "a", "text"), output(thread, "c")), grammar.Rule(""))
		for _, k := range []string{"y", "z", "w"} {
			is.Equal(send(fails(keyed(k))), grammar.VouchedKeysOnly)
		}
		is.Equal(send(closes(scope, "b", msg)), grammar.SettlesOnce)
		is.Equal(send(text(scope, "d", "text")), grammar.OpensBeforeDelta)
		is.Equal(send(text(scope, "e", "text")), grammar.OpensBeforeDelta)
	}
}

func TestBounds(t *testing.T) {
	is := is.New(t)
	c := grammar.New(nil)
	check := func(raw string) grammar.Rule {
		if v := c.Check(decoded(raw)); v != nil {
			return v.Rule
		}
		return ""
	}
	const none = grammar.Rule("")
	for i := range grammar.MaxOpenItems + 1 {
		is.Equal(check(opens(scope, fmt.Sprint("o", i), msg)), none)
	}
	is.Equal(check(text(scope, "o1", "summary")), grammar.SchemaValid) // still open
	is.Equal(check(text(scope, "o0", "summary")), none)                // the oldest is not: late text is let through
	is.Equal(check(closes(scope, "o0", msg)), none)                    // its bridge may close it, once
	is.Equal(check(closes(scope, "o0", msg)), grammar.SettlesOnce)
	for i := range grammar.MaxSettledKeys {
		is.Equal(check(closes(scope, fmt.Sprint("s", i), msg)), none)
	}
	is.Equal(check(closes(scope, "s0", msg)), grammar.SettlesOnce) // the last ones are remembered
	is.Equal(check(closes(scope, "o0", msg)), none)                // an older one is not
	for i := range grammar.MaxTurnKeys + 1 {
		is.Equal(check(turnOpen(fmt.Sprint("t", i))), none)
	}
	is.Equal(check(fails(keyed("t1"))), none)
	is.Equal(check(fails(keyed("t0"))), grammar.VouchedKeysOnly)
}

// Beyond the bounds a list with a violation is taken back as well.
func TestAllOrNoneAtTheBounds(t *testing.T) {
	is := is.New(t)
	c := grammar.New(nil)
	var fill, over protocol.Deltas
	for i := range grammar.MaxOpenItems {
		fill = append(fill, decoded(opens(scope, fmt.Sprint("o", i), msg)).Delta, decoded(closes(scope, fmt.Sprint("s", i), msg)).Delta, decoded(turnOpen("x")).Delta)
	}
	fill = fill[:len(fill)-1]
	fill = append(protocol.Deltas{decoded(turnOpen("x")).Delta}, fill...)
	is.True(c.CheckAll(fill) == nil)
	for i := range 10 {
		over = append(over, decoded(opens(scope, fmt.Sprint("x", i), msg)).Delta, decoded(closes(scope, fmt.Sprint("y", i), msg)).Delta)
	}
	for i := range grammar.MaxTurnKeys {
		over = append(over, decoded(turnOpen(fmt.Sprint("k", i))).Delta)
	}
	over = append(over, decoded(text(scope, "never", "text")).Delta)
	v := c.CheckAll(over)
	is.Equal(v.Rule, grammar.OpensBeforeDelta)
	is.Equal(v.Index, len(over)-1)
	for i := range grammar.MaxOpenItems {
		is.Equal(c.Check(decoded(text(keyed("x"), fmt.Sprint("o", i), "summary"))).Rule, grammar.SchemaValid) // open
		is.Equal(c.Check(decoded(closes(scope, fmt.Sprint("s", i), msg))).Rule, grammar.SettlesOnce)
	}
	is.Equal(c.Check(decoded(text(scope, "x0", "text"))).Rule, grammar.OpensBeforeDelta)
	is.True(c.Check(decoded(opens(scope, "new", msg))) == nil) // and the order is as it was
	is.True(c.Check(decoded(text(scope, "o0", "summary"))) == nil)
	is.Equal(c.Check(decoded(text(scope, "o1", "summary"))).Rule, grammar.SchemaValid)
}

func TestRuleIDs(t *testing.T) {
	is := is.New(t)
	is.Equal(len(grammar.Rules()), 7)
	cases := ruleCases()
	for _, r := range grammar.Rules() {
		is.True(len(cases[r]) > 0) // every rule has its cases
	}
}
