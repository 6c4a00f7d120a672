package threadapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kinds of interactions beside those that plugins declare.
const (
	KindApproval = "approval"
	KindQuestion = "question"
)

// Request is what an agent asks, as clients read it from Interaction.Request.
type Request struct {
	Kind      string          `json:"kind"`
	Subject   Subject         `json:"subject"`   // of an approval
	Reason    string          `json:"reason"`    // of an approval, "" for none
	Decisions []Decision      `json:"decisions"` // of an approval: what the agent understands
	Questions []Question      `json:"questions"` // of a question
	Title     string          `json:"title"`     // of a plugin's own kind
	Data      json.RawMessage `json:"data"`      // of a plugin's own kind
}

// Subject is what an approval is about: a command, a file_change, a permission_grant or a plan.
type Subject struct {
	Kind         string  `json:"kind"`
	Command      string  `json:"command"`
	Cwd          *string `json:"cwd"`
	WriteScope   *string `json:"writeScope"`
	ToolName     *string `json:"toolName"`
	Permissions  Grant   `json:"permissions"`
	SessionGrant *Grant  `json:"sessionGrant"` // what allow_for_session would cover
	Plan         string  `json:"plan"`
}

// Grant is what an agent may do beside its mode.
type Grant struct {
	Network *struct {
		Enabled *bool `json:"enabled"`
	} `json:"network"`
	FileSystem *struct {
		Read  []string `json:"read"`
		Write []string `json:"write"`
	} `json:"fileSystem"`
}

// Question is one question of an agent.
type Question struct {
	ID            string   `json:"id"`
	Prompt        string   `json:"prompt"`
	MultiSelect   bool     `json:"multiSelect"`
	Options       []Option `json:"options"`
	AllowFreeText bool     `json:"allowFreeText"`
}

// Option is one of the answers that a question offers.
type Option struct {
	Value       string  `json:"value"`
	Label       string  `json:"label"`
	Description *string `json:"description"`
}

// Asks reads the request of an interaction. What is not of a known form gives a request with its kind alone.
func (i Interaction) Asks() Request {
	var r Request
	if json.Unmarshal(i.Request, &r) != nil {
		return Request{Kind: i.Kind}
	}
	return r
}

// Offers reports whether the agent understands a decision.
func (r Request) Offers(d Decision) bool { return slices.Contains(r.Decisions, d) }

// String says what the grant allows.
func (g Grant) String() string {
	var parts []string
	if g.Network != nil && g.Network.Enabled != nil && *g.Network.Enabled {
		parts = append(parts, "the network")
	}
	if g.FileSystem != nil {
		for _, p := range g.FileSystem.Read {
			parts = append(parts, "reading "+p)
		}
		for _, p := range g.FileSystem.Write {
			parts = append(parts, "writing "+p)
		}
	}
	if len(parts) == 0 {
		return "nothing more"
	}
	return strings.Join(parts, ", ")
}

// brief says in one line what is asked.
func (r Request) brief() string {
	switch r.Kind {
	case KindApproval:
		switch r.Subject.Kind {
		case "command":
			return "May it run: " + r.Subject.Command
		case "file_change":
			if s := deref(r.Subject.WriteScope); s != "" {
				return "May it change files in " + s
			}
			return "May it change these files"
		case "permission_grant":
			if t := deref(r.Subject.ToolName); t != "" {
				return "May " + t + " have " + r.Subject.Permissions.String()
			}
			return "May it have " + r.Subject.Permissions.String()
		case "plan":
			return "Shall it follow this plan"
		}
		return "May it go on with " + r.Subject.Kind
	case KindQuestion:
		if len(r.Questions) == 1 {
			return r.Questions[0].Prompt
		}
		return fmt.Sprintf("%d questions", len(r.Questions))
	}
	return first(r.Title, r.Kind)
}

// ask shows what an agent asks, with the changes of files that it is about.
func (p *paper) ask(indent int, r Request, files []fileChange) {
	mark := "? "
	if r.Kind == KindApproval {
		p.line(caution, indent, mark+r.brief()+"?")
		inner := indent + step
		if cwd := deref(r.Subject.Cwd); cwd != "" {
			p.line(faint, inner, "in "+cwd)
		}
		if r.Reason != "" {
			p.line(plain, inner, "because: "+r.Reason)
		}
		if r.Subject.Kind == "plan" {
			p.line(plain, inner, r.Subject.Plan)
		}
		if r.Subject.Kind == "file_change" {
			p.diffs(inner, files)
		}
		if g := r.Subject.SessionGrant; g != nil && r.Offers(AllowForSession) {
			p.line(faint, inner, "for the session: "+g.String())
		}
		return
	}
	if r.Kind != KindQuestion {
		p.line(caution, indent, mark+r.brief())
		if len(r.Data) > 0 && string(r.Data) != "null" && string(r.Data) != "{}" {
			p.line(plain, indent+step, string(r.Data))
		}
		return
	}
	for _, q := range r.Questions {
		p.question(indent, q)
	}
}

// question shows one question with its numbered options.
func (p *paper) question(indent int, q Question) {
	p.line(caution, indent, "? "+q.Prompt)
	for n, o := range q.Options {
		s := strconv.Itoa(n+1) + ". " + o.Label
		if d := deref(o.Description); d != "" {
			s += " - " + d
		}
		p.line(plain, indent+step, s)
	}
}

// HowToAnswer is the command line that answers the interaction.
func (i Interaction) HowToAnswer() string { return howTo(i.ID, i.Asks()) }

// howTo says how an interaction is answered from the command line.
func howTo(id string, r Request) string {
	say := "bb interaction resolve " + id
	switch r.Kind {
	case KindApproval:
		var ds []string
		for _, d := range r.Decisions {
			ds = append(ds, string(d))
		}
		return say + " " + strings.Join(ds, "|")
	case KindQuestion:
		answers := map[string]Answer{}
		for _, q := range r.Questions {
			a := Answer{}
			if len(q.Options) > 0 {
				a.Selected = []string{q.Options[0].Value}
			} else {
				text := "…"
				a.FreeText = &text
			}
			answers[q.ID] = a
		}
		raw, err := json.Marshal(answers)
		if err != nil {
			raw = []byte("{…}")
		}
		return say + " --answers '" + string(raw) + "'"
	}
	return say + " --data '{…}'"
}

// resolution says how an interaction ended.
func resolution(raw json.RawMessage, by string) (string, style) {
	var r struct {
		Kind     string            `json:"kind"`
		Decision Decision          `json:"decision"`
		Answers  map[string]Answer `json:"answers"`
	}
	_ = json.Unmarshal(raw, &r) // what cannot be read was answered somehow
	if by != "" {
		by = " by " + by
	}
	switch {
	case r.Kind == "interrupted":
		return "not answered: nobody waits for it any more", caution
	case r.Decision == DenyIt:
		return "denied" + by, bad
	case r.Decision == AllowForSession:
		return "allowed for the session" + by, good
	case r.Decision != "":
		return "allowed" + by, good
	}
	return "answered" + by, good
}
