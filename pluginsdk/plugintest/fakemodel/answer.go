package fakemodel

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A part is one thing that the model does in an answer.
type part struct {
	kind partKind
	text string // said, thought, or streamed before hanging
	call Call
	id   string // of the call
	n    int    // status of a failure, or number of refusals
}

type partKind int

const (
	partText partKind = iota
	partThought
	partCall // the last ones of their answer
	partHang // the last of its answer
	partFail // the last of its answer
	partRate // taken out before the answer begins
)

// An answer is what the model does about one request.
type answer struct {
	model   string
	id      string // distinct in its conversation, and the same in every run
	created int64  // Unix seconds
	parts   []part
	usage   Usage
	withUse bool // chat completions: send the usage in the stream
	sealed  bool // Responses: send encrypted reasoning
}

// calls reports whether the answer ends with tool calls.
func (a *answer) calls() bool {
	return len(a.parts) > 0 && a.parts[len(a.parts)-1].kind == partCall
}

// maxReport bounds what the model repeats of a tool's result, in bytes.
const maxReport = 4096

// unknownTool is the tool that UNKNOWN calls.
const unknownTool = "tool_that_nobody_offers"

// A chooser finds a tool, as Choose does.
type chooser func(Role, string, []Tool) (Call, bool)

// parts returns what the script does after the tool calls that the conversation shows.
func (c *conversation) parts(choose chooser) []part {
	if c.chore() {
		return []part{{kind: partText, text: "A title"}}
	}
	var parts []part
	skip := c.rounds
	for _, l := range parse(c.script) {
		rounds, calls := c.calls(l, choose)
		if rounds > 0 {
			if skip > 0 {
				parts = nil // it was said before those calls
			}
			if skip >= rounds {
				skip -= rounds
				continue
			}
			parts = append(parts, calls(skip)...)
			break
		}
		parts = append(parts, c.plain(l))
		if l.word == wordHang || l.word == wordFail {
			break
		}
	}
	if c.rounds > 0 && (len(parts) == 0 || parts[0].kind != partFail) {
		parts = append([]part{{kind: partText, text: c.report()}}, parts...)
	}
	return merged(parts)
}

// calls returns in how many rounds a line calls tools, and the calls of each.
func (c *conversation) calls(l line, choose chooser) (rounds int, calls func(round int) []part) {
	round := func(list ...Call) func(int) []part {
		return func(int) []part {
			var parts []part
			for n, call := range list {
				parts = append(parts, part{kind: partCall, call: call, id: c.callID(n)})
			}
			return parts
		}
	}
	var role Role
	switch l.word {
	case wordUnknown:
		return 1, round(Call{Tool: Tool{Name: unknownTool, Kind: KindFunction}, Arguments: "{}"})
	case wordRun:
		role = RoleShell
	case wordEdit:
		role = RoleEdit
	case wordPlan:
		role = RolePlan
	case wordAgent:
		role = RoleAgent
	case wordCall:
		role = RoleNamed
	case wordTwo, wordSteps, wordBad:
		return c.shellCalls(l, choose, round)
	default:
		return 0, nil
	}
	call, ok := choose(role, l.text, c.tools)
	if !ok && role == RoleEdit {
		call, ok = choose(RoleShell, editCommand(l.text, strings.Contains(c.system.String(), "apply_patch")), c.tools)
	}
	if !ok {
		return 0, nil
	}
	return 1, round(call)
}

// shellCalls is calls for the lines that call the shell with commands of their own.
func (c *conversation) shellCalls(l line, choose chooser, round func(...Call) func(int) []part) (int, func(int) []part) {
	one, ok := choose(RoleShell, "echo one", c.tools)
	two, both := choose(RoleShell, "echo two", c.tools)
	switch {
	case !ok || !both:
		return 0, nil
	case l.word == wordBad:
		one.Arguments = `{"command": "echo one`
		if one.Tool.Kind != KindFunction {
			one.Tool.Kind = KindFunction // only JSON can be broken
		}
		return 1, round(one)
	case l.word == wordTwo && c.parallel:
		return 1, round(one, two)
	case l.word == wordTwo:
		return 2, func(n int) []part { return round([]Call{one, two}[n])(n) }
	}
	return l.n, func(n int) []part {
		step, _ := choose(RoleShell, fmt.Sprintf("echo step %d", n+1), c.tools)
		return round(step)(n)
	}
}

// plain is what a line does that calls no tool, or whose tool is not offered.
func (c *conversation) plain(l line) part {
	switch l.word {
	case wordSay:
		if strings.TrimSpace(l.text) == "" {
			l.text = "nothing was said"
		}
		return part{kind: partText, text: l.text}
	case wordThink:
		return part{kind: partThought, text: l.text}
	case wordImage:
		return part{kind: partText, text: fmt.Sprintf("%d images: %s", len(c.images), strings.Join(c.images, ", "))}
	case wordHang:
		if l.text == "" {
			l.text = "wait"
		}
		return part{kind: partHang, text: l.text}
	case wordFail:
		return part{kind: partFail, n: l.n}
	case wordRate:
		return part{kind: partRate, n: l.n}
	}
	return part{kind: partText, text: fmt.Sprintf("%s: no such tool is offered", l.word)}
}

// report says what the newest calls brought.
func (c *conversation) report() string {
	var b strings.Builder
	for i, result := range c.results {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(c.results) > 1 {
			fmt.Fprintf(&b, "result %d: ", i+1)
		} else {
			b.WriteString("result: ")
		}
		b.WriteString(clipped(strings.TrimSpace(result)))
	}
	if b.Len() == 0 {
		return "no result"
	}
	return b.String()
}

func clipped(s string) string {
	if len(s) <= maxReport {
		return s
	}
	cut := maxReport
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// merged joins neighbouring texts and neighbouring thoughts.
func merged(parts []part) []part {
	var out []part
	for _, p := range parts {
		if n := len(out) - 1; n >= 0 && out[n].kind == p.kind && p.kind <= partThought {
			out[n].text += "\n" + p.text
			continue
		}
		out = append(out, p)
	}
	return out
}

// Bounds of streamed pieces: small, so that even a short text comes in several, and few, so that a long text does not
// become a flood.
const (
	minPiece  = 8
	maxPieces = 200
)

// pieces splits a text between characters.
func pieces(s string) []string {
	size := max(minPiece, (len(s)+maxPieces-1)/maxPieces)
	var out []string
	for len(s) > size {
		cut := size
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		if cut == 0 {
			cut = size // not UTF-8
		}
		out = append(out, s[:cut])
		s = s[cut:]
	}
	return append(out, s)
}
