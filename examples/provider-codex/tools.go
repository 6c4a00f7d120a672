package codex

import (
	"regexp"
	"strconv"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/examples/provider-codex/internal/schema"
)

// maxToolName is the longest name of a tool that models take.
const maxToolName = 64

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// toolNames maps the names under which Codex knows the tools of core to their own. It is filled once, before the thread is.
type toolNames struct {
	tools map[string]protocol.DynamicTool // by the name for Codex
}

// declare lists the tools for Codex. A name that models do not take is replaced by one that they do.
func (n *toolNames) declare(tools []protocol.DynamicTool) (all []schema.DynamicTool) {
	names := map[string]protocol.DynamicTool{}
	for _, t := range tools {
		base := notInNames.ReplaceAllString(t.Name, "_")
		name := base[:min(len(base), maxToolName)]
		for again := 2; ; again++ {
			if _, taken := names[name]; !taken {
				break
			}
			suffix := "_" + strconv.Itoa(again)
			name = base[:min(len(base), maxToolName-len(suffix))] + suffix
		}
		names[name] = t
		all = append(all, schema.DynamicTool{Type: "function", Name: name, Description: t.Description, InputSchema: t.InputSchema})
	}
	n.tools = names
	return all
}

// original is the name of a tool in core.
func (n *toolNames) original(name string) string {
	if t, ok := n.tools[name]; ok {
		return t.Name
	}
	return name
}

// intent is how the calls of a tool of core are shown.
func (n *toolNames) intent(original string) protocol.RenderIntent {
	for _, t := range n.tools {
		if t.Name == original && t.Presentation.Intent != "" {
			return t.Presentation.Intent
		}
	}
	return protocol.IntentGeneric
}
