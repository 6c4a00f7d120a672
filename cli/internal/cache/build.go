package cache

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// wire is the part of a manifest that words are made of. Members that later kernels add do no harm.
type wire struct {
	Format     int    `json:"format"`
	ServerID   string `json:"serverId"`
	Generation uint64 `json:"generation"`
	Plugins    []struct {
		ID       string        `json:"id"`
		Services []wireService `json:"services"`
	} `json:"plugins"`
	Problems []struct {
		Message string `json:"message"`
	} `json:"problems"`
}

type wireService struct {
	ID      string            `json:"id"`
	Summary string            `json:"summary"`
	Group   []string          `json:"group"`
	Aliases [][]string        `json:"aliases"`
	Methods []json.RawMessage `json:"methods"`
}

type wireMethod struct {
	Summary     string                      `json:"summary"`
	Description string                      `json:"description"`
	Examples    []kernelcontract.ExampleDef `json:"examples"`
	Input       json.RawMessage             `json:"input"`
	CLI         *word.Word                  `json:"cli"`
}

// Build makes a catalog of a server's manifest and guide, in memory. A manifest of a form that this program does not
// read is a *manifest.FormatError.
func Build(server string, raw json.RawMessage, guide []Chapter) (*Catalog, error) {
	var m wire
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("the server's manifest cannot be read: %w", err)
	}
	if m.Format != manifest.Format {
		return nil, &manifest.FormatError{Format: m.Format}
	}
	b := builder{
		c: &Catalog{
			Index: Index{Format: Format, URL: Normalize(server), ServerID: m.ServerID, Generation: m.Generation, Groups: []Group{}, Plugins: []Plugin{}},
			files: map[string][]byte{},
		},
		records: map[string]*Record{},
	}
	var claims []word.Claim
	for _, p := range m.Plugins {
		reference := struct {
			PluginID   string        `json:"pluginId"`
			Generation uint64        `json:"generation"`
			Services   []wireService `json:"services"`
		}{p.ID, m.Generation, p.Services}
		file := b.file("plugin", reference)
		b.c.Index.Plugins = append(b.c.Index.Plugins, Plugin{p.ID, file})
		for _, s := range p.Services {
			claims = append(claims, b.claim(s))
		}
	}
	if guide != nil {
		file := b.file("guide", guide)
		b.c.Index.Guide = &file
	}
	tree, conflicts := word.Build(claims)
	for _, p := range m.Problems {
		if word.IsConflict(p.Message) {
			b.warn(p.Message)
		}
	}
	for _, c := range conflicts {
		b.warn(c.String())
	}
	b.groups(tree)
	return b.c, b.err
}

type builder struct {
	c       *Catalog
	records map[string]*Record
	err     error
}

// warn adds a warning unless one says the same: the server knows most conflicts too.
func (b *builder) warn(message string) {
	for _, w := range b.c.Index.Warnings {
		if strings.HasSuffix(w, message) || strings.HasSuffix(message, w) {
			return
		}
	}
	b.c.Index.Warnings = append(b.c.Index.Warnings, message)
}

// file adds a file that holds v as JSON.
func (b *builder) file(kind string, v any) File {
	raw, err := json.Marshal(v)
	if err != nil && b.err == nil {
		b.err = err
	}
	return b.add(kind, raw)
}

func (b *builder) add(kind string, content []byte) File {
	f := File{Name: kind + "-" + strconv.Itoa(len(b.c.files)) + ".json"}
	b.c.files[f.Name] = content
	return f
}

// claim reads a service's methods and returns what they ask for.
func (b *builder) claim(s wireService) word.Claim {
	c := word.Claim{Service: s.ID, Summary: s.Summary, Group: s.Group, Aliases: s.Aliases}
	paths := append([][]string{s.Group}, s.Aliases...)
	for _, raw := range s.Methods {
		var m wireMethod
		err := json.Unmarshal(raw, &m)
		if err == nil && m.CLI == nil {
			continue
		}
		if err == nil {
			err = check(m.CLI)
		}
		if err != nil {
			b.warn(fmt.Sprintf("%s: a word cannot be read: %s", s.ID, err))
			continue
		}
		w := m.CLI
		if w.Summary == "" {
			w.Summary = m.Summary
		}
		b.records[w.Ref] = &Record{Word: w, Description: m.Description, Examples: m.Examples, Input: m.Input}
		claim := word.MethodClaim{
			Ref: w.Ref, Name: w.Name, Aliases: w.Aliases, Summary: w.Summary, Hidden: w.Hidden, FlagAlias: w.FlagAlias,
			Flags: func() []string { return word.FlagNames(w) },
		}
		if !slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, w.Groups[0]) }) {
			claim.Own, claim.Group = true, w.Groups[0]
		}
		c.Methods = append(c.Methods, claim)
	}
	return c
}

var (
	wordName  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	fieldName = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	shortName = regexp.MustCompile(`^[a-zA-Z]$`)
)

// check refuses a word that a definition could not have: it comes from a server, which may be any program.
func check(w *word.Word) error {
	bad := func(what, name string) error { return fmt.Errorf("%s: %q is not a %s", w.Ref, name, what) }
	if _, _, _, ok := kernelcontract.SplitRef(w.Ref); !ok {
		return bad("method", w.Ref)
	}
	if len(w.Groups) == 0 {
		return fmt.Errorf("%s has no group", w.Ref)
	}
	names := append([]string{w.Name}, w.Aliases...)
	for _, g := range w.Groups {
		if len(g) > kernelcontract.MaxGroupLevels {
			return bad("group", strings.Join(g, " "))
		}
		names = append(names, g...)
	}
	flags := map[string]bool{}
	positions := map[int]bool{}
	for i := range w.Fields {
		f := &w.Fields[i]
		if !fieldName.MatchString(f.Name) {
			return bad("field", f.Name)
		}
		for _, c := range f.Choices {
			if len(c) == 0 {
				return fmt.Errorf("%s: %s has an empty choice", w.Ref, f.Name)
			}
		}
		if f.Position != nil {
			if positions[*f.Position] {
				return fmt.Errorf("%s: two positionals share a place", w.Ref)
			}
			positions[*f.Position] = true
			continue
		}
		own := append([]string{f.Flag}, f.Aliases...)
		if f.Negatable {
			own = append(own, "no-"+f.Flag)
		}
		names = append(names, own...)
		if f.Short != "" {
			if !shortName.MatchString(f.Short) {
				return bad("short flag", f.Short)
			}
			own = append(own, "-"+f.Short)
		}
		for _, n := range own {
			reserved := slices.Contains(kernelcontract.ReservedFlags(), n) && (n != word.HostFlag || f.Ambient != kernelcontract.HostID)
			if flags[n] || reserved {
				return fmt.Errorf("%s: the flag --%s is taken", w.Ref, n)
			}
			flags[n] = true
		}
	}
	for _, n := range names {
		if !wordName.MatchString(n) {
			return bad("word", n)
		}
	}
	return nil
}

// bundle is a file of words while it is made.
type bundle struct {
	head    Head
	records []byte
	at      map[string][2]int64 // place and length of each record
}

// groups cuts the tree into one file for each first word, and one for the top level.
func (b *builder) groups(tree *word.Tree) {
	bundles := map[string]*bundle{}
	var order []string
	lines := map[string]*Group{}
	shown, inAll := map[string]int{}, 0
	flags := map[string][]*Record{} // by the first word of the group that a flag alias is in
	for _, g := range tree.Groups() {
		for _, e := range g.Words {
			r := b.records[e.Ref]
			if a := r.Word.FlagAlias; a != nil && !e.Alias && tree.FlagAlias(a.Group, a.Name, a.Flag) == e.Ref && tree.Trim(r.Word) != nil {
				first := firstOf(a.Group)
				if !slices.Contains(flags[first], r) {
					flags[first] = append(flags[first], r)
				}
			}
		}
	}
	for _, g := range tree.Groups() {
		if len(g.Words) == 0 {
			continue
		}
		first := firstOf(g.Path)
		bu := bundles[first]
		if bu == nil {
			bu = &bundle{at: map[string][2]int64{}}
			bundles[first] = bu
			order = append(order, first)
			lines[first] = &Group{Name: first}
		}
		line := lines[first]
		if len(g.Path) == 1 {
			line.Summary, line.AliasOf = g.Summary, strings.Join(g.AliasOf, " ")
		}
		bu.head.Paths = append(bu.head.Paths, Path{Words: g.Path, Summary: g.Summary, AliasOf: g.AliasOf})
		for _, e := range g.Words {
			b.word(bu, tree, Word{Path: len(bu.head.Paths) - 1, Name: e.Name, Summary: e.Summary, Hidden: e.Hidden, Alias: e.Alias}, e.Ref)
			switch name := strings.Join(append(slices.Clone(g.Path[min(1, len(g.Path)):]), e.Name), " "); {
			case e.Hidden || e.Alias:
			case shown[first] < ShownWords && inAll < ShownInAll:
				if line.Words != "" {
					name = ", " + name
				}
				line.Words += name
				shown[first]++
				inAll++
			default:
				line.More++
			}
		}
	}
	for _, first := range order {
		bu, line := bundles[first], lines[first]
		for _, r := range flags[first] {
			a := r.Word.FlagAlias
			path := slices.IndexFunc(bu.head.Paths, func(p Path) bool { return slices.Equal(p.Words, a.Group) })
			if path >= 0 {
				b.word(bu, tree, Word{Path: path, Name: a.Name, Flag: a.Flag}, r.Word.Ref)
			}
		}
		head, err := json.Marshal(bu.head)
		if err != nil && b.err == nil {
			b.err = err
		}
		line.File = b.add("words", append(head, bu.records...))
		line.File.Head = int64(len(head))
		if first == "" {
			b.c.Index.Root = &line.File
			continue
		}
		b.c.Index.Groups = append(b.c.Index.Groups, *line)
	}
}

func firstOf(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[0]
}

// word adds a word with its record, which words that share it share too.
func (b *builder) word(bu *bundle, tree *word.Tree, w Word, ref string) {
	at, ok := bu.at[ref]
	if !ok {
		r := *b.records[ref]
		r.Word = tree.Trim(r.Word)
		raw, err := json.Marshal(r)
		if err != nil && b.err == nil {
			b.err = err
		}
		at = [2]int64{int64(len(bu.records)), int64(len(raw))}
		bu.at[ref] = at
		bu.records = append(bu.records, raw...)
	}
	w.At, w.Len = at[0], at[1]
	bu.head.Words = append(bu.head.Words, w)
}
