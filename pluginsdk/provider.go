package pluginsdk

import (
	"errors"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// Provider is a provider of a loaded plugin.
type Provider struct {
	Declaration protocol.ProviderDeclaration
	Program     bridge.Program // with Options filled
}

// MaxInteractionKinds bounds the kinds of questions that a plugin declares: each has a place in user interfaces.
const MaxInteractionKinds = 64

// ProvideBridge names the program that serves a provider of the plugin's Providers. What is missing, extra, repeated or
// without a command is a load error that names the provider.
func (h *Host) ProvideBridge(providerID string, p bridge.Program) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.inSetup("ProvideBridge") {
		return
	}
	_, twice := h.programs[providerID]
	switch {
	case !slices.ContainsFunc(h.plugin.Providers, func(d protocol.ProviderDeclaration) bool { return d.ID == providerID }):
		h.problems.add("a bridge was provided for %q, which is not in the plugin's Providers", providerID)
		return
	case twice:
		h.problems.add("the provider %s has two bridges", providerID)
		return
	}
	if err := p.Check(); err != nil {
		h.problems.add("the bridge of provider %s: %w", providerID, err)
	}
	p.Command = slices.Clone(p.Command)
	h.programs[providerID] = p
}

// checkProviders looks at everything that is wrong with the declarations and the interaction kinds of p.
func (p *Plugin) checkProviders(ps *problems) {
	seen := map[string]bool{}
	for _, d := range p.Providers {
		var wrong *bridgekit.DefinitionError
		switch _, err := bridgekit.DefineProviderDeclaration(d); {
		case errors.As(err, &wrong):
			for _, problem := range wrong.Problems {
				ps.add("the provider %q: %v", d.ID, problem)
			}
		case err != nil:
			ps.add("the provider %q: %w", d.ID, err)
		}
		if seen[d.ID] {
			ps.add("the provider %q is declared twice", d.ID)
		}
		seen[d.ID] = true
	}
	if len(p.InteractionKinds) > MaxInteractionKinds {
		ps.add("there are more than %d interaction kinds", MaxInteractionKinds)
	}
	kinds := map[string]bool{}
	for _, kind := range p.InteractionKinds {
		name, own := strings.CutPrefix(kind, p.ID+"/")
		switch {
		case !own || !chapterName.MatchString(name):
			ps.add("the interaction kind %q must be %s/ and a name that matches %s", kind, p.ID, chapterName)
		case kinds[kind]:
			ps.add("the interaction kind %q is declared twice", kind)
		}
		kinds[kind] = true
	}
}

// checkPrograms adds a problem for each provider without a bridge. h.mu is held.
func (h *Host) checkPrograms() {
	for _, d := range h.plugin.Providers {
		if _, ok := h.programs[d.ID]; !ok {
			h.problems.add("the provider %s has no bridge: hand its program to ProvideBridge", d.ID)
		}
	}
}

// provided returns the providers in the order of the plugin.
func (h *Host) provided() []Provider {
	list := make([]Provider, 0, len(h.plugin.Providers))
	for _, d := range h.plugin.Providers {
		program := h.programs[d.ID]
		if program.Options == nil {
			program.Options = d.BridgeOptions
		}
		list = append(list, Provider{Declaration: d, Program: program})
	}
	return list
}
