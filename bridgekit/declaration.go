package bridgekit

import (
	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// DefineProviderDeclaration checks a declaration, extension kinds included. The error is a *DefinitionError that names
// every problem.
func DefineProviderDeclaration(d protocol.ProviderDeclaration) (protocol.ProviderDeclaration, error) {
	problems := declarationProblems("declaration", &d)
	if _, err := extension.New(d); err != nil {
		problems = append(problems, "declaration.extensionKinds: "+err.Error())
	}
	if len(problems) > 0 {
		return protocol.ProviderDeclaration{}, &DefinitionError{Problems: problems}
	}
	return d, nil
}

// Facts are what a plugin says about a provider where it provides that provider's hooks, so that core and surfaces find
// them without reading the whole declaration.
type Facts struct {
	ProviderID  string              `json:"providerId"`
	DisplayName string              `json:"displayName"`
	Family      string              `json:"family,omitempty"` // groups providers of one vendor
	Icon        string              `json:"icon"`
	Visibility  protocol.Visibility `json:"visibility"`
}

// ProviderFacts returns the facts of a declaration.
func ProviderFacts(d protocol.ProviderDeclaration) Facts {
	return Facts{ProviderID: d.ID, DisplayName: d.DisplayName, Family: d.Family, Icon: d.Icon, Visibility: d.Visibility}
}

// IsMethodAdvertised tells whether core may call a method: one that core calls at all, and that neither the declaration
// nor the capabilities rule out. A bridge answers CAPABILITY_NOT_ADVERTISED to the others.
func IsMethodAdvertised(method string, d protocol.ProviderDeclaration, c protocol.Capabilities) bool {
	spec, ok := protocol.SpecOf(method)
	return ok && (spec.Advertised == nil || spec.Advertised(&d, &c))
}

// CapabilityWidens names each capability of which a bridge reports more than is declared: true for false, a wider fork
// or steer, and any other enforcer of approvals.
func CapabilityWidens(declared, reported protocol.Capabilities) []string {
	return protocol.CapabilityWidens(declared, reported)
}

// DetachesMessage tells whether opening an item of the kind completes the open messages beside it.
func DetachesMessage(k protocol.ItemKind) bool { return k.Detaches() }

// CreateExtensionKinds compiles the JSON Schemas of the extension kinds of declarations.
func CreateExtensionKinds(ds ...protocol.ProviderDeclaration) (*extension.Kinds, error) {
	return extension.New(ds...)
}

// AutoDeny returns the decision that a permission policy takes by itself: a denial when the request is an approval and
// the policy escalates to nobody, else nil. A bridge whose capability approvalEnforcedBy is provider applies it before
// it asks; for others core does. Questions and open kinds are never denied.
func AutoDeny(policy protocol.PermissionPolicy, q protocol.Interaction) *protocol.Decision {
	if a, ok := q.(*protocol.Approval); !ok || a == nil || policy.Escalation != protocol.EscalateDeny {
		return nil
	}
	return &protocol.Decision{Kind: protocol.Deny}
}
