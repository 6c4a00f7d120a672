package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/cli/internal/parse"
	"github.com/bb-kernel/bb/cli/internal/talk"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// run runs a command line.
func (a *app) run(args []string) int {
	if len(args) > 0 && args[0] == completeWord {
		return a.complete(args[1:])
	}
	a.globals = scan(args)
	if a.globals.version {
		a.out.print("bb " + a.version())
		return kernelcontract.ExitOK
	}
	l := leading(args)
	if len(l.words) > 0 && l.words[0] == "help" { // bb help hello is bb hello --help
		a.globals.help = true
		args, l = l.without(args, 1), leading(l.without(args, 1))
	}
	if len(l.words) == 0 {
		return a.bare(args)
	}
	if b, n := a.builtin(l.words); b != nil {
		return a.runBuiltin(b, l.without(args, n))
	}
	if r, n, err := a.offline.find(l.words); err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	} else if r != nil {
		a.warnConflicts(nil)
		return a.runWord(r, l.without(args, n), func(c *call) int { return a.runOffline(c.ctx, c) }, never)
	}
	return a.runRemote(args, l)
}

// scan reads the flags that hold before the word is known. What is wrong with them is found by the parser.
func scan(args []string) globals {
	var g globals
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, value, hasValue := strings.Cut(arg, "=")
		on, _ := strconv.ParseBool(value)
		on = on || !hasValue
		switch name {
		case "--json":
			g.json = on
		case "--help", "-h":
			g.help = on
		case "--version":
			g.version = on
		case "--no-color":
			g.noColor = on
		case "--insecure":
			g.insecure = on
		case "--server":
			if !hasValue && i+1 < len(args) {
				value = args[i+1]
			}
			g.server = value
		}
	}
	return g
}

// lead is what a command line begins with: at most as many words as a path has, with their places.
type lead struct {
	words []string
	at    []int
}

// leading finds the first words of a command line: global flags may stand between them.
func leading(args []string) lead {
	var l lead
	for i := 0; i < len(args) && len(l.words) <= kernelcontract.MaxGroupLevels; i++ {
		switch arg := args[i]; {
		case arg == "--":
			return l
		case arg == "--server":
			i++
		case len(arg) > 1 && arg[0] == '-':
		default:
			l.words, l.at = append(l.words, arg), append(l.at, i)
		}
	}
	return l
}

// without returns the arguments without the first n words.
func (l lead) without(args []string, n int) []string {
	var out []string
	for i, arg := range args {
		if !slices.Contains(l.at[:n], i) {
			out = append(out, arg)
		}
	}
	return out
}

// bare is a command line without a word.
func (a *app) bare(args []string) int {
	if _, e := parse.Parse(&word.Word{Groups: [][]string{{}}}, args); e != nil {
		return a.usage(e, nil)
	}
	if a.globals.help {
		a.topHelp(a.out)
		return kernelcontract.ExitOK
	}
	a.topHelp(a.err)
	return kernelcontract.ExitUsage
}

// match is what words stand for in a catalog.
type match struct {
	record *cache.Record // the word
	n      int           // how many words its path takes
	alias  string        // the flag that chose it
	group  *cache.Group  // no word, but a group…
	head   *cache.Head
	path   []string // …or one below it
}

// notWord is words that stand for nothing, with what they may have meant.
type notWord struct {
	group []string
	name  string
	near  []string
}

func (n *notWord) failure() *kernelcontract.Error {
	said := strings.Join(append(slices.Clone(n.group), n.name), " ")
	message := "there is no word \"bb " + said + "\";"
	if len(n.near) > 0 {
		var near []string
		for _, name := range n.near {
			near = append(near, "\"bb "+strings.Join(append(slices.Clone(n.group), name), " ")+"\"")
		}
		message += " did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(n.group) > 0 {
		message += " `bb " + strings.Join(n.group, " ") + " --help` lists the words of the group"
	} else {
		message += " `bb --help` lists all"
	}
	e := parse.Usage("%s", message)
	e.Issues = []kernelcontract.Issue{{Path: []any{said}, Code: schema.IssueUnrecognizedKey, Message: message}}
	return e
}

// lookup finds what the leading words stand for: the longest path that is a word, else a group. Exactly one of the
// results is not nil; err says that the catalog cannot be read.
func (a *app) lookup(c *cache.Catalog, words, args []string) (*match, *notWord, error) {
	g := c.Group(words[0])
	if g != nil {
		head, err := c.Head(g.File)
		if err != nil {
			return nil, nil, err
		}
		for n := min(len(words), kernelcontract.MaxGroupLevels+1); n > 1; n-- {
			if m, err := find(c, g.File, head, words[:n], args); m != nil || err != nil {
				return m, nil, err
			}
		}
		if m, err := a.topWord(c, words, args); m != nil || err != nil {
			return m, nil, err
		}
		return groupMatch(g, head, words)
	}
	if m, err := a.topWord(c, words, args); m != nil || err != nil {
		return m, nil, err
	}
	return nil, &notWord{name: words[0], near: word.Nearest(words[0], a.topNames(c))}, nil
}

// topWord finds a word of the top level.
func (a *app) topWord(c *cache.Catalog, words, args []string) (*match, error) {
	if c.Index.Root == nil {
		return nil, nil
	}
	head, err := c.Head(*c.Index.Root)
	if err != nil {
		return nil, err
	}
	return find(c, *c.Index.Root, head, words[:1], args)
}

// find finds the word with exactly these words. A flag of it that is an alias of another method comes first.
func find(c *cache.Catalog, f cache.File, head *cache.Head, words, args []string) (*match, error) {
	path, name := words[:len(words)-1], words[len(words)-1]
	var plain *cache.Word
	for i := range head.Words {
		w := &head.Words[i]
		if w.Name != name || !slices.Equal(head.Paths[w.Path].Words, path) {
			continue
		}
		switch {
		case w.Flag == "":
			if plain == nil {
				plain = w
			}
		case given(args, "--"+w.Flag):
			r, err := c.Record(f, w)
			if err != nil {
				return nil, err
			}
			r.Word = talk.Extend(r.Word)
			return &match{record: r, n: len(words), alias: w.Flag}, nil
		}
	}
	if plain == nil {
		return nil, nil
	}
	r, err := c.Record(f, plain)
	if err != nil {
		return nil, err
	}
	r.Word = talk.Extend(r.Word)
	return &match{record: r, n: len(words)}, nil
}

// given reports whether a flag stands among the arguments, before the end of flags.
func given(args []string, flag string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == flag {
			return true
		}
	}
	return false
}

// groupMatch finds the group that the words name, or says what is unknown.
func groupMatch(g *cache.Group, head *cache.Head, words []string) (*match, *notWord, error) {
	path := words[:1]
	if len(words) > 1 && hasPath(head, words[:2]) {
		path = words[:2]
	}
	if len(words) == len(path) {
		return &match{group: g, head: head, path: path}, nil, nil
	}
	name := words[len(path)]
	var names []string
	for _, w := range head.Words {
		if slices.Equal(head.Paths[w.Path].Words, path) && w.Flag == "" {
			names = append(names, w.Name)
		}
	}
	for _, p := range head.Paths {
		if len(p.Words) == len(path)+1 && slices.Equal(p.Words[:len(path)], path) {
			names = append(names, p.Words[len(path)])
		}
	}
	return nil, &notWord{group: path, name: name, near: word.Nearest(name, names)}, nil
}

func hasPath(head *cache.Head, path []string) bool {
	return slices.ContainsFunc(head.Paths, func(p cache.Path) bool { return slices.Equal(p.Words, path) })
}

// topNames lists what a first word may be.
func (a *app) topNames(c *cache.Catalog) []string {
	var names []string
	for _, b := range a.builtins() {
		if !b.word.Hidden {
			names = append(names, b.word.Path()[0])
		}
	}
	if a.offline.tree != nil {
		for _, g := range a.offline.tree.Groups() {
			names = append(names, g.Path...)
		}
	}
	if c == nil {
		return names
	}
	for _, g := range c.Index.Groups {
		names = append(names, g.Name)
	}
	if c.Index.Root != nil {
		if head, err := c.Head(*c.Index.Root); err == nil {
			for _, w := range head.Words {
				names = append(names, w.Name)
			}
		}
	}
	return names
}

// runRemote runs a word of the server. What the cached catalog does not know, the server is asked for once.
func (a *app) runRemote(args []string, l lead) int {
	c, err := a.cached()
	var next *cache.Catalog
	retry := func() bool {
		next = a.newer(c)
		return next != nil
	}
	if err != nil {
		if c, err = a.fetch(a.ctx); err != nil {
			return a.unknownServer(kernelcontract.AsError(err), l)
		}
		retry = never
	}
	code := a.attempt(c, args, l, retry)
	if next != nil {
		code = a.attempt(next, args, l, never)
	}
	return code
}

func never() bool { return false }

// unknownServer reports that there is neither a catalog nor a server that gives one.
func (a *app) unknownServer(e *kernelcontract.Error, l lead) int {
	if near := word.Nearest(l.words[0], a.topNames(nil)); len(near) > 0 && !a.globals.json && a.ctx.Err() == nil {
		a.warnf("without the server only these words are known: did you mean %q?", "bb "+near[0])
	}
	return a.fail(e, false)
}

// attempt runs the command line with a catalog. When it does not fit, retry is asked whether a newer one is at hand: then
// nothing is reported and the status means nothing.
func (a *app) attempt(c *cache.Catalog, args []string, l lead, retry func() bool) int {
	m, unknown, err := a.lookup(c, l.words, args)
	switch {
	case err != nil:
		if errors.Is(err, cache.ErrAbsent) && retry() {
			return 0
		}
		return a.fail(kernelcontract.Internal.Errorf("the cached catalog cannot be read: %w", err), false)
	case unknown != nil:
		if retry() {
			return 0
		}
		a.warnConflicts(c)
		return a.usage(unknown.failure(), nil)
	case m.group != nil:
		a.warnConflicts(c)
		if a.globals.help {
			a.groupHelp(a.out, m)
			return kernelcontract.ExitOK
		}
		if _, e := parse.Parse(&word.Word{Groups: [][]string{{}}}, l.without(args, len(l.words))); e != nil {
			return a.usage(e, nil)
		}
		a.groupHelp(a.err, m)
		return kernelcontract.ExitUsage
	}
	rest := l.without(args, m.n)
	if m.alias != "" {
		i := slices.Index(rest, "--"+m.alias)
		rest = slices.Delete(rest, i, i+1)
	}
	a.warnConflicts(c)
	return a.runWord(m.record, rest, func(cl *call) int { return a.callServer(c, cl) }, retry)
}

// warnConflicts tells of words that were dropped, once a run.
func (a *app) warnConflicts(c *cache.Catalog) {
	if a.warned {
		return
	}
	a.warned = true
	warnings := a.offline.warnings
	if c != nil {
		warnings = append(slices.Clone(warnings), c.Index.Warnings...)
	}
	for _, w := range warnings {
		a.err.print("warning: " + flat(w))
	}
}
