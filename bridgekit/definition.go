package bridgekit

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/extension"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// DefinitionError says everything that is wrong with a bridge or a declaration.
type DefinitionError struct {
	Problems []string // each names the function or field and what it needs
}

// Error lists the problems, one a line.
func (e *DefinitionError) Error() string {
	return "bridgekit: the definition has problems:\n  " + strings.Join(e.Problems, "\n  ")
}

// checkDeclarations names all problems of declarations, also between them.
func checkDeclarations(ds []protocol.ProviderDeclaration, initializes bool) []string {
	if len(ds) == 0 {
		return []string{"Declarations is empty: declare the provider that the bridge serves"}
	}
	var problems []string
	index := map[string]int{}
	for i := range ds {
		problems = append(problems, declarationProblems(fmt.Sprintf("Declarations[%d]", i), &ds[i])...)
		if first, ok := index[ds[i].ID]; ok {
			problems = append(problems, fmt.Sprintf("Declarations[%d].id: %q is the id of Declarations[%d] too: each provider has its own", i, ds[i].ID, first))
		} else {
			index[ds[i].ID] = i
		}
		if !initializes && !sameCapabilities(ds[0].Capabilities, ds[i].Capabilities) {
			problems = append(problems, fmt.Sprintf("Declarations[%d].capabilities differ from those of Declarations[0]: a process reports one set, so set Initialize to say which", i))
		}
	}
	return problems
}

func declarationProblems(name string, d *protocol.ProviderDeclaration) []string {
	var problems []string
	for _, issue := range d.Check() {
		if issue.Path == "" {
			problems = append(problems, name+": "+issue.Message)
		} else {
			problems = append(problems, name+"."+issue.String())
		}
	}
	return problems
}

// sameCapabilities compares the capabilities that this version knows.
func sameCapabilities(a, b protocol.Capabilities) bool {
	a.Extra, b.Extra = nil, nil
	return reflect.DeepEqual(a, b)
}

// compileKinds compiles the extension kinds of each declaration by its id.
func compileKinds(ds []protocol.ProviderDeclaration) (map[string]*extension.Kinds, []string) {
	kinds := map[string]*extension.Kinds{}
	var problems []string
	for i := range ds {
		k, err := extension.New(ds[i])
		if err != nil {
			problems = append(problems, fmt.Sprintf("Declarations[%d].extensionKinds: %v", i, err))
			continue
		}
		kinds[ds[i].ID] = k
	}
	return kinds, problems
}

// cloneDeclarations copies the list, so that the author's slice can change without the runtime's.
func cloneDeclarations(ds []protocol.ProviderDeclaration) []*protocol.ProviderDeclaration {
	out := make([]*protocol.ProviderDeclaration, len(ds))
	for i := range ds {
		d := ds[i]
		out[i] = &d
	}
	return out
}
