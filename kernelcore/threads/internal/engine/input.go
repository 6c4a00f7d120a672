package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// inputs turns the parts of an input into the prompt of the protocol. Neighbouring plain texts become one, joined by
// single spaces.
func inputs(parts []threadapi.Part) (protocol.Inputs, error) {
	var in protocol.Inputs
	var words []string
	flush := func() {
		if len(words) > 0 {
			in = append(in, &protocol.TextInput{Text: strings.Join(words, " "), Mentions: []protocol.PromptMention{}, Visibility: protocol.VisibleUser})
			words = nil
		}
	}
	for i, part := range parts {
		raw := bytes.TrimSpace(part)
		if len(raw) > 0 && raw[0] == '"' {
			var word string
			if err := json.Unmarshal(raw, &word); err != nil {
				return nil, kernelcontract.InvalidInput.Errorf("input[%d]: %w", i, err)
			}
			words = append(words, word)
			continue
		}
		flush()
		one, err := input(raw)
		if err != nil {
			return nil, kernelcontract.InvalidInput.Errorf("input[%d]: %w", i, err)
		}
		in = append(in, one)
	}
	flush()
	for _, one := range in {
		if text, ok := one.(*protocol.TextInput); ok && strings.TrimSpace(text.Text) == "" {
			return nil, kernelcontract.InvalidInput.Errorf("the input is blank: say something")
		}
	}
	return in, nil
}

// input turns a part that is an object into one of the protocol.
func input(raw json.RawMessage) (protocol.PromptInput, error) {
	var p struct {
		Type, Text, URL, Path, Name string
		MIMEType                    string               `json:"mimeType"`
		Visibility                  threadapi.Visibility `json:"visibility"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	visible := protocol.VisibleUser
	if p.Visibility == threadapi.ForAgentOnly {
		visible = protocol.VisibleAgentOnly
	}
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	switch p.Type {
	case "text":
		return &protocol.TextInput{Text: p.Text, Mentions: []protocol.PromptMention{}, Visibility: visible}, nil
	case "image":
		return &protocol.ImageInput{URL: p.URL, Visibility: visible}, nil
	case "localImage":
		return &protocol.LocalImageInput{Path: p.Path, Visibility: visible}, nil
	case "localFile":
		return &protocol.LocalFileInput{Path: p.Path, Name: optional(p.Name), MimeType: optional(p.MIMEType), Visibility: visible}, nil
	}
	return nil, fmt.Errorf("the type %q is none of text, image, localImage and localFile", p.Type)
}

// shown returns the parts that a timeline shows, as they are on the wire.
func shown(in protocol.Inputs) []json.RawMessage {
	out := []json.RawMessage{}
	for _, one := range in {
		raw, err := json.Marshal(one)
		if err != nil {
			continue // the protocol's types encode
		}
		var p struct {
			Visibility string `json:"visibility"`
		}
		if json.Unmarshal(raw, &p) == nil && p.Visibility == string(protocol.VisibleAgentOnly) {
			continue
		}
		out = append(out, raw)
	}
	return out
}

// maxTitle bounds a title that is made from an input, in runes: it is a column of a table.
const maxTitle = 60

// titleOf makes a title from the first line that a person sees.
func titleOf(in protocol.Inputs) string {
	for _, one := range in {
		text, ok := one.(*protocol.TextInput)
		if !ok || text.Visibility == protocol.VisibleAgentOnly {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(text.Text), "\n")
		if runes := []rune(line); len(runes) > maxTitle {
			line = strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
		}
		return line
	}
	return ""
}

// policy is the permission of a mode and an escalation as the protocol says it.
func policy(mode threadapi.Mode, escalation threadapi.Escalation) protocol.PermissionPolicy {
	p := protocol.PermissionPolicy{Mode: protocol.PermissionMode(mode), Scope: protocol.ScopeWorkspace, Escalation: protocol.Escalation(escalation)}
	switch mode {
	case threadapi.Full:
		p.Scope, p.Escalation = protocol.ScopeFull, ""
	case threadapi.Auto:
		p.Reviewer = protocol.ReviewerAutomatic
	default:
		p.Reviewer = protocol.ReviewerUser
	}
	return p
}

// width ranks modes by how much they allow.
func width(mode threadapi.Mode) int {
	switch mode {
	case threadapi.Full:
		return 2
	case threadapi.Auto:
		return 1
	}
	return 0
}
