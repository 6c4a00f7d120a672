package word

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Claim is what a service asks for on the command line and among the tools, by names alone: no schema is needed.
type Claim struct {
	Service string     // plugin/service
	Summary string     // of the service
	Group   []string   // the service's group
	Aliases [][]string // further paths of it
	Methods []MethodClaim
}

// MethodClaim is what a method asks for.
type MethodClaim struct {
	Ref       string
	NoWord    bool     // it has no word; only Tool counts
	Own       bool     // mounted under Group instead of the service's
	Group     []string // with Own
	Name      string
	Aliases   []string
	Summary   string
	Hidden    bool
	FlagAlias *kernelcontract.FlagAlias
	// Flags returns the word's long flags; it is called only for words that somebody aliases a flag of.
	Flags func() []string
	Tool  string // the tool's name, "" for none
}

// Tree is the whole command line of a composition. It is read-only and safe for concurrent use.
type Tree struct {
	groups  map[string]*Group
	order   []*Group
	words   map[string]*mounted
	aliases map[string]string // flag alias key → ref
	tools   map[string]string // tool → ref
	kept    map[string]*kept
}

// Group is a path with the words under it.
type Group struct {
	Path    []string
	Service string // who claimed it, "" when only methods of other groups enter it
	Summary string
	AliasOf []string // the path that this one is an alias of, nil for a first path
	Words   []Entry  // in the order of the composition, aliases right after their word
}

// Entry is a word of a group.
type Entry struct {
	Name    string
	Ref     string
	Summary string
	Hidden  bool
	Alias   bool // a further name of the word before it
}

// mounted says who holds a word.
type mounted struct {
	ref   string
	flags func() []string
}

// kept is what a method got of what it asked for.
type kept struct {
	groups  [][]string
	name    string
	aliases []string
	alias   bool // the flag alias
	tool    bool
}

// Conflict is a claim that was dropped because somebody has what it asks for.
type Conflict struct {
	Claimant string // the service or the method that lost
	Claim    string // what it asked for: group "hello", word "hello greet", flag "hello greet --loud", tool "hello_greet"
	Owner    string // who has it
}

// conflictEnd ends what a Conflict says.
const conflictEnd = "; the later claim is dropped"

// String says what was dropped and why.
func (c Conflict) String() string {
	return c.Claimant + ": " + c.Claim + " belongs to " + c.Owner + conflictEnd
}

// IsConflict reports whether a message of a manifest's problems is what a Conflict says.
func IsConflict(message string) bool { return strings.HasSuffix(message, conflictEnd) }

// Owner of the words that the program answers itself.
const clientOwner = "bb itself"

// Owner of the groups that only the kernel may fill.
const kernelPrefix = kernelcontract.KernelID + "/"

// extensible are the kernel's groups that plugins may add words to, and be extended below.
var extensible = []string{"plugin", "secret", "host", "runtime"}

// clientWords are the words that the program answers without a method, by group.
var clientWords = []struct {
	group []string
	names []string
}{
	{nil, []string{"completion", "version", "login", "mcp", "guide", "help"}},
	{[]string{"guide"}, []string{"reference"}},
	{[]string{"sdk"}, []string{"types", "openapi"}},
	{[]string{"plugin"}, []string{"new", "dev"}},
}

// BuildTree builds the tree of services in composition order, without deriving a schema. In every collision the earlier
// claimant wins; the later claim is dropped and listed. Collisions are: two services with one group path (aliases
// included), two methods with one word of a group, two with one flag alias, a flag alias that is a flag of the aliased
// word, a plugin's word in a group of the kernel that is not extensible, and two tools with one name.
func BuildTree(services []*kernelcontract.ServiceDef) (*Tree, []Conflict) {
	claims := make([]Claim, len(services))
	for i, s := range services {
		claims[i] = ClaimOf(s)
	}
	return Build(claims)
}

// ClaimOf returns what a service asks for.
func ClaimOf(s *kernelcontract.ServiceDef) Claim {
	c := Claim{Service: s.ID(), Summary: s.Summary, Group: s.Group, Aliases: s.Aliases, Methods: make([]MethodClaim, len(s.Methods))}
	for i, d := range s.Methods {
		m := MethodClaim{
			Ref: d.Ref(), NoWord: !hasWord(d), Own: d.CLI.Group != nil, Group: d.CLI.Group, Name: d.CLI.Name, Aliases: d.CLI.Aliases,
			Summary: d.Summary, Hidden: d.CLI.Hidden, FlagAlias: d.CLI.FlagAlias, Flags: func() []string { return flagsOf(d) },
		}
		if d.Tool != nil && d.Expose.Tool {
			m.Tool = d.Tool.Name
		}
		c.Methods[i] = m
	}
	return c
}

// flagsOf returns the long flags of a method's fields from their names alone.
func flagsOf(d *kernelcontract.MethodDef) []string {
	fields, _ := d.Fields() // a field that is no field has no flag
	var names []string
	for _, f := range fields {
		if i, _ := positionOf(d.CLI.Args, f.Name); i >= 0 {
			continue
		}
		flag := d.CLI.Flags[f.Name]
		name := kernelcontract.FlagName(f.Name, flag)
		names = append(append(names, name, "no-"+name), flag.Aliases...)
	}
	return names
}

// Build is BuildTree for claims that do not come from definitions, such as those in a manifest.
func Build(claims []Claim) (*Tree, []Conflict) {
	b := builder{
		tree: &Tree{groups: map[string]*Group{}, words: map[string]*mounted{}, aliases: map[string]string{}, tools: map[string]string{}, kept: map[string]*kept{}},
	}
	for _, c := range clientWords {
		for _, name := range c.names {
			b.tree.words[key(c.group, name)] = &mounted{ref: clientOwner}
		}
	}
	// A group belongs to its service wherever in the order a method enters it, so groups are claimed first.
	paths := make([][][]string, len(claims))
	for i := range claims {
		paths[i] = b.claimGroups(&claims[i])
	}
	for i := range claims {
		for j := range claims[i].Methods {
			b.method(&claims[i], &claims[i].Methods[j], paths[i])
		}
	}
	for i := range claims {
		for j := range claims[i].Methods {
			b.flagAlias(&claims[i].Methods[j])
		}
	}
	return b.tree, b.conflicts
}

type builder struct {
	tree      *Tree
	conflicts []Conflict
}

func (b *builder) drop(claimant, owner, format string, args ...any) {
	b.conflicts = append(b.conflicts, Conflict{Claimant: claimant, Claim: fmt.Sprintf(format, args...), Owner: owner})
}

// key names a word or a group in the maps; words hold no spaces.
func key(path []string, name string) string {
	return strings.Join(path, " ") + " " + name
}

// claimGroups returns the paths that the service gets.
func (b *builder) claimGroups(c *Claim) [][]string {
	if !slices.ContainsFunc(c.Methods, func(m MethodClaim) bool { return !m.NoWord && !m.Own }) {
		return nil // a service whose words all live elsewhere needs no group
	}
	var got [][]string
	for _, path := range append([][]string{c.Group}, c.Aliases...) {
		if len(path) == 0 {
			got = append(got, path) // the top level belongs to nobody
			continue
		}
		if owner := b.groupOwner(path, c.Service); owner != "" {
			b.drop(c.Service, owner, "group %q", strings.Join(path, " "))
			continue
		}
		g := b.tree.group(path)
		g.Service, g.Summary = c.Service, c.Summary
		if len(got) > 0 {
			g.AliasOf = got[0]
		}
		got = append(got, path)
	}
	return got
}

// groupOwner returns who keeps the service from claiming the path, "" when nobody does.
func (b *builder) groupOwner(path []string, service string) string {
	if g := b.tree.groups[key(path, "")]; g != nil && g.Service != "" && g.Service != service {
		return g.Service
	}
	return b.closed(path, service)
}

// closed returns whose closed group the path is in: of the kernel, or of the program itself; "" when it is open to the
// service.
func (b *builder) closed(path []string, service string) string {
	if len(path) == 0 || strings.HasPrefix(service, kernelPrefix) || slices.Contains(extensible, path[0]) {
		return ""
	}
	for _, c := range clientWords {
		if len(c.group) > 0 && c.group[0] == path[0] || len(c.group) == 0 && slices.Contains(c.names, path[0]) {
			return clientOwner
		}
	}
	for n := len(path); n > 0; n-- {
		if g := b.tree.groups[key(path[:n], "")]; g != nil && strings.HasPrefix(g.Service, kernelPrefix) {
			return g.Service
		}
	}
	return ""
}

func (b *builder) method(c *Claim, m *MethodClaim, paths [][]string) {
	k := &kept{}
	b.tree.kept[m.Ref] = k
	if m.Tool != "" {
		if owner, taken := b.tree.tools[m.Tool]; taken {
			b.drop(m.Ref, owner, "tool %q", m.Tool)
		} else {
			b.tree.tools[m.Tool], k.tool = m.Ref, true
		}
	}
	if m.NoWord {
		return
	}
	if m.Own {
		paths = nil
		if owner := b.closed(m.Group, c.Service); owner != "" {
			b.drop(m.Ref, owner, "a word in group %q", strings.Join(m.Group, " "))
		} else {
			paths = [][]string{m.Group}
		}
	}
	names := append([]string{m.Name}, m.Aliases...)
	won := make([]bool, len(names))
	for _, path := range paths {
		mountedHere := false
		for i, name := range names {
			k := key(path, name)
			if owner := b.tree.words[k]; owner != nil {
				b.drop(m.Ref, owner.ref, "word %q", strings.TrimSpace(k))
				continue
			}
			b.tree.words[k] = &mounted{ref: m.Ref, flags: m.Flags}
			g := b.tree.group(path)
			g.Words = append(g.Words, Entry{Name: name, Ref: m.Ref, Summary: m.Summary, Hidden: m.Hidden, Alias: mountedHere})
			won[i], mountedHere = true, true
		}
		if mountedHere {
			k.groups = append(k.groups, path)
		}
	}
	for i, name := range names {
		switch {
		case !won[i]:
		case k.name == "":
			k.name = name
		default:
			k.aliases = append(k.aliases, name)
		}
	}
}

func (b *builder) flagAlias(m *MethodClaim) {
	a := m.FlagAlias
	if a == nil || m.NoWord {
		return
	}
	k := key(a.Group, a.Name)
	said := strings.TrimSpace(k) + " --" + a.Flag
	if owner, taken := b.tree.aliases[k+" "+a.Flag]; taken {
		b.drop(m.Ref, owner, "flag %q", said)
		return
	}
	word := b.tree.words[k]
	switch {
	case slices.ContainsFunc(GlobalOptions(), func(o Option) bool { return o.Flag == a.Flag }):
		b.drop(m.Ref, clientOwner, "flag %q", said)
		return
	case word != nil && word.ref == clientOwner:
		b.drop(m.Ref, clientOwner, "flag %q", said)
		return
	case word != nil && (slices.Contains(kernelcontract.ReservedFlags(), a.Flag) || word.flags != nil && slices.Contains(word.flags(), a.Flag)):
		b.drop(m.Ref, word.ref, "flag %q", said)
		return
	}
	b.tree.aliases[k+" "+a.Flag] = m.Ref
	b.tree.kept[m.Ref].alias = true
}

func (t *Tree) group(path []string) *Group {
	k := key(path, "")
	g := t.groups[k]
	if g == nil {
		g = &Group{Path: path}
		t.groups[k] = g
		t.order = append(t.order, g)
	}
	return g
}

// Groups returns every group, the top level among them when it has words, in the order of the composition.
func (t *Tree) Groups() []*Group { return t.order }

// Group returns the group at a path, nil when there is none.
func (t *Tree) Group(path ...string) *Group { return t.groups[key(path, "")] }

// Ref returns the method that a word of a group runs, "" when there is none.
func (t *Tree) Ref(group []string, name string) string {
	if m := t.words[key(group, name)]; m != nil && m.ref != clientOwner {
		return m.ref
	}
	return ""
}

// FlagAlias returns the method that a flag of a word runs instead, "" when it runs none.
func (t *Tree) FlagAlias(group []string, name, flag string) string {
	return t.aliases[key(group, name)+" "+flag]
}

// HasTool reports whether the method keeps its tool.
func (t *Tree) HasTool(ref string) bool {
	k := t.kept[ref]
	return k != nil && k.tool
}

// Trim returns the word with only what the method got in the tree, nil when it got no word at all.
func (t *Tree) Trim(w *Word) *Word {
	if w == nil {
		return nil
	}
	k := t.kept[w.Ref]
	if k == nil || k.name == "" {
		return nil
	}
	trimmed := *w
	trimmed.Groups, trimmed.Name, trimmed.Aliases = k.groups, k.name, k.aliases
	if !k.alias {
		trimmed.FlagAlias = nil
	}
	return &trimmed
}
