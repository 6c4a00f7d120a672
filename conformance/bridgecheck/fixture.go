package bridgecheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// DefaultTimeoutMs is how long each step of a check waits for the bridge unless the fixture says otherwise: what a
// person would wait for an answer, not for work to be done.
const DefaultTimeoutMs = 10_000

// maxTimeoutMs bounds the fixture's timeoutMs: with more a bridge that hangs would hold the kit for hours.
const maxTimeoutMs = 600_000

// Fixture tells the kit how to talk to a bridge: with which ids and options, under which profiles it is started, and what
// to say so that its agent shows each behaviour. Parse one from JSON with ParseFixture.
type Fixture struct {
	Plugin        protocol.PluginInfo
	ProviderIDs   []string  // the first one makes the sessions
	Profiles      []Profile // at least one
	Cwd           string    // "" lets Run make an empty folder
	BridgeOptions protocol.JSONObject
	Options       protocol.ExecutionOptions
	Tools         []protocol.DynamicTool
	TimeoutMs     int64  // how long each step waits; 0 is DefaultTimeoutMs
	Resume        Resume // "" is ResumeNewProcess
	Prompts       Prompts
}

// Profile is one way to start the bridge. A rule passes when it passes in one profile and fails in none, so that a
// bridge can show a capability in one profile and its absence in another.
type Profile struct {
	Args         []string                       // follow the command's own
	Env          map[string]string              // on top of the environment of the kit
	Declarations []protocol.ProviderDeclaration // what the plugin declares; none: no extension kinds, no ceiling
}

// Resume says which process continues a session.
type Resume string

// The values of Resume.
const (
	ResumeSameProcess Resume = "same" // the one that made it, after a release
	ResumeNewProcess  Resume = "new"  // a fresh one
)

// Prompts are what to say. A rule whose prompt is nil is skipped.
type Prompts struct {
	Plain       *Prompt // is answered with a message
	Items       *Prompt // opens and closes at least one item that is no message
	DynamicTool *Prompt // calls the first of Tools
	Question    *Prompt // asks, and settles after the answer
	Approval    *Prompt // asks for permission, and settles after the answer
	Slow        *Prompt // runs until it is stopped
	ZeroWork    *Prompt // settles without an item
	Steer       *Prompt // is sent while Slow runs
}

// Prompt is the input of a turn.
type Prompt struct {
	Input   protocol.Inputs
	Options *protocol.ExecutionOptions // in the place of the fixture's
	// Answers are resolutions, as they stand on the wire, used in order. When they run out, and by default, an approval
	// is answered with allow_once or the first decision offered, and each question with its first option.
	Answers []json.RawMessage
}

// fixtureJSON is the file. Parts that are protocol types are decoded one by one, so that every problem has its place.
type fixtureJSON struct {
	Plugin        json.RawMessage   `json:"plugin"`
	ProviderIDs   []string          `json:"providerIds"`
	Profiles      []profileJSON     `json:"profiles"`
	Cwd           string            `json:"cwd"`
	BridgeOptions json.RawMessage   `json:"bridgeOptions"`
	Options       json.RawMessage   `json:"options"`
	Tools         []json.RawMessage `json:"tools"`
	TimeoutMs     *int64            `json:"timeoutMs"`
	Resume        Resume            `json:"resume"`
	Prompts       struct {
		Plain       *promptJSON `json:"plain"`
		Items       *promptJSON `json:"items"`
		DynamicTool *promptJSON `json:"dynamicTool"`
		Question    *promptJSON `json:"question"`
		Approval    *promptJSON `json:"approval"`
		Slow        *promptJSON `json:"slow"`
		ZeroWork    *promptJSON `json:"zeroWork"`
		Steer       *promptJSON `json:"steer"`
	} `json:"prompts"`
}

type profileJSON struct {
	Args         []string          `json:"args"`
	Env          map[string]string `json:"env"`
	Declarations []json.RawMessage `json:"declarations"`
}

type promptJSON struct {
	Input   json.RawMessage   `json:"input"`
	Options json.RawMessage   `json:"options"`
	Answers []json.RawMessage `json:"answers"`
}

// ParseFixture reads a fixture. Unknown and repeated fields are refused; the error lists every problem with its place.
func ParseFixture(data []byte) (Fixture, error) {
	var raw fixtureJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&raw); err != nil {
		return Fixture{}, fmt.Errorf("fixture: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Fixture{}, errors.New("fixture: something follows the object")
	}
	var p problems
	p.repeated(data)
	f := Fixture{ProviderIDs: raw.ProviderIDs, Cwd: raw.Cwd, TimeoutMs: DefaultTimeoutMs, Resume: ResumeNewProcess}
	decodePart(&p, "plugin", raw.Plugin, &f.Plugin)
	if raw.Options == nil {
		p.addf("options", "missing: give the execution options of the turns")
	} else {
		decodePart(&p, "options", raw.Options, &f.Options)
	}
	if raw.BridgeOptions != nil {
		decodePart(&p, "bridgeOptions", raw.BridgeOptions, &f.BridgeOptions)
	}
	for i, tool := range raw.Tools {
		var t protocol.DynamicTool
		decodePart(&p, fmt.Sprintf("tools[%d]", i), tool, &t)
		f.Tools = append(f.Tools, t)
	}
	if raw.TimeoutMs != nil {
		f.TimeoutMs = *raw.TimeoutMs
	}
	if raw.Resume != "" {
		f.Resume = raw.Resume
	}
	for i, profile := range raw.Profiles {
		f.Profiles = append(f.Profiles, profile.read(&p, fmt.Sprintf("profiles[%d]", i)))
	}
	for _, named := range []struct {
		name string
		from *promptJSON
		to   **Prompt
	}{
		{"plain", raw.Prompts.Plain, &f.Prompts.Plain},
		{"items", raw.Prompts.Items, &f.Prompts.Items},
		{"dynamicTool", raw.Prompts.DynamicTool, &f.Prompts.DynamicTool},
		{"question", raw.Prompts.Question, &f.Prompts.Question},
		{"approval", raw.Prompts.Approval, &f.Prompts.Approval},
		{"slow", raw.Prompts.Slow, &f.Prompts.Slow},
		{"zeroWork", raw.Prompts.ZeroWork, &f.Prompts.ZeroWork},
		{"steer", raw.Prompts.Steer, &f.Prompts.Steer},
	} {
		if named.from != nil {
			*named.to = named.from.read(&p, "prompts."+named.name)
		}
	}
	f.check(&p)
	if len(p) > 0 {
		return Fixture{}, fmt.Errorf("fixture: %s", strings.Join(p, "; "))
	}
	return f, nil
}

func (r profileJSON) read(p *problems, path string) Profile {
	profile := Profile{Args: r.Args, Env: r.Env}
	for i, raw := range r.Declarations {
		var d protocol.ProviderDeclaration
		decodePart(p, fmt.Sprintf("%s.declarations[%d]", path, i), raw, &d)
		profile.Declarations = append(profile.Declarations, d)
	}
	return profile
}

func (r promptJSON) read(p *problems, path string) *Prompt {
	prompt := &Prompt{Answers: r.Answers}
	if r.Input == nil {
		p.addf(path+".input", "missing")
	} else {
		decodePart(p, path+".input", r.Input, &prompt.Input)
	}
	if r.Options != nil {
		prompt.Options = new(protocol.ExecutionOptions)
		decodePart(p, path+".options", r.Options, prompt.Options)
	}
	return prompt
}

// check finds what is wrong with the values, in a fixture made in Go too.
func (f *Fixture) check(p *problems) {
	if len(f.ProviderIDs) == 0 {
		p.addf("providerIds", "give the id of at least one provider of the bridge")
	}
	if len(f.Profiles) == 0 {
		p.addf("profiles", "give at least one; {} starts the command as it is")
	}
	if f.TimeoutMs < 0 || f.TimeoutMs > maxTimeoutMs {
		p.addf("timeoutMs", "is not between 0 and %d", maxTimeoutMs)
	}
	if f.Resume != "" && f.Resume != ResumeSameProcess && f.Resume != ResumeNewProcess {
		p.addf("resume", "is %q: write %q or %q", f.Resume, ResumeSameProcess, ResumeNewProcess)
	}
	if f.Prompts.DynamicTool != nil && len(f.Tools) == 0 {
		p.addf("prompts.dynamicTool", "calls the first of tools, and there is none")
	}
	if f.Prompts.Steer != nil && f.Prompts.Slow == nil {
		p.addf("prompts.steer", "is sent while slow runs, and there is no prompts.slow")
	}
	for i, profile := range f.Profiles {
		for name := range profile.Env {
			if name == "" || strings.ContainsAny(name, "=\x00") {
				p.addf(fmt.Sprintf("profiles[%d].env", i), "%q is no name of a variable", name)
			}
		}
		if len(profile.Declarations) > 0 && profile.declaration(f.providerID()) == nil {
			p.addf(fmt.Sprintf("profiles[%d].declarations", i), "none has the id %q", f.providerID())
		}
	}
	for name, prompt := range f.Prompts.all() {
		if len(prompt.Input) == 0 {
			p.addf("prompts."+name+".input", "is empty")
		}
		for i, raw := range prompt.Answers {
			if _, err := protocol.ParseResolution(raw); err != nil {
				p.addf(fmt.Sprintf("prompts.%s.answers[%d]", name, i), "%s", err.Error())
			}
		}
	}
}

// all yields the prompts that are given, in a fixed order.
func (p *Prompts) all() func(yield func(string, *Prompt) bool) {
	return func(yield func(string, *Prompt) bool) {
		for _, named := range []struct {
			name   string
			prompt *Prompt
		}{
			{"plain", p.Plain}, {"items", p.Items}, {"dynamicTool", p.DynamicTool}, {"question", p.Question},
			{"approval", p.Approval}, {"slow", p.Slow}, {"zeroWork", p.ZeroWork}, {"steer", p.Steer},
		} {
			if named.prompt != nil && !yield(named.name, named.prompt) {
				return
			}
		}
	}
}

// providerID is that of the provider whose sessions are checked.
func (f *Fixture) providerID() string {
	if len(f.ProviderIDs) == 0 {
		return ""
	}
	return f.ProviderIDs[0]
}

// timeout is how long a step waits.
func (f *Fixture) timeout() time.Duration {
	if f.TimeoutMs <= 0 {
		return DefaultTimeoutMs * time.Millisecond
	}
	return time.Duration(f.TimeoutMs) * time.Millisecond
}

// declaration returns the one with the id, or nil.
func (p *Profile) declaration(id string) *protocol.ProviderDeclaration {
	for i := range p.Declarations {
		if p.Declarations[i].ID == id {
			return &p.Declarations[i]
		}
	}
	return nil
}

// problems are "place: what is wrong".
type problems []string

func (p *problems) addf(path, format string, args ...any) {
	*p = append(*p, path+": "+fmt.Sprintf(format, args...))
}

// nesting is an object or an array around the place where repeated reads.
type nesting struct {
	path  string
	keys  map[string]bool // nil in an array
	key   string          // whose value comes next; "" before a key
	index int
}

// at is the place of the value that comes next.
func (n *nesting) at() string {
	switch {
	case n.keys == nil:
		return fmt.Sprintf("%s[%d]", n.path, n.index)
	case n.path == "":
		return n.key
	}
	return n.path + "." + n.key
}

// repeated finds names that an object has twice: which of the two counts would be a matter of taste. The text is valid
// JSON.
func (p *problems) repeated(data []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var around []*nesting
	atKey := false
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		var in *nesting
		if len(around) > 0 {
			in = around[len(around)-1]
		}
		if name, ok := token.(string); ok && atKey {
			in.key = name
			if in.keys[name] {
				p.addf(in.at(), "is there twice")
			}
			in.keys[name] = true
			atKey = false
			continue
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			n := &nesting{}
			if in != nil {
				n.path = in.at()
			}
			if token == json.Delim('{') {
				n.keys = map[string]bool{}
			}
			around = append(around, n)
			atKey = n.keys != nil
			continue
		case json.Delim('}'), json.Delim(']'):
			around = around[:len(around)-1]
		}
		if len(around) == 0 {
			return
		}
		in = around[len(around)-1]
		in.index++
		atKey = in.keys != nil
	}
}

// decodePart decodes a protocol type; each of its problems gets the path in front.
func decodePart(p *problems, path string, raw json.RawMessage, into any) {
	if raw == nil {
		p.addf(path, "missing")
		return
	}
	err := json.Unmarshal(raw, into)
	var failed *protocol.Error
	switch {
	case err == nil:
	case errors.As(err, &failed) && len(failed.Issues) > 0:
		for _, issue := range failed.Issues {
			place := path
			if issue.Path != "" && !strings.HasPrefix(issue.Path, "[") {
				place += "."
			}
			p.addf(place+issue.Path, "%s", issue.Message)
		}
	default:
		p.addf(path, "%s", err.Error())
	}
}
