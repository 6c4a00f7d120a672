package cli

import (
	"encoding/json"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/cli/internal/parse"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// builtin is a word that bb answers without a method.
type builtin struct {
	word *word.Word
	run  func(input json.RawMessage) int
}

// builtins lists them; their names are taken in every composition.
func (a *app) builtins() []builtin {
	at := func(i int) *int { return &i }
	quoted := func(names ...string) []json.RawMessage {
		out := make([]json.RawMessage, len(names))
		for i, n := range names {
			out[i] = json.RawMessage(`"` + n + `"`)
		}
		return out
	}
	top := [][]string{{}}
	return []builtin{
		{&word.Word{Groups: top, Name: "completion", Summary: "Print a shell's completion script", Fields: []word.Field{
			{Name: "shell", Form: word.Choice, Position: at(0), Placeholder: "<shell>", Required: true, Choices: quoted(shells()...), Description: "Which shell"},
		}}, a.completion},
		{&word.Word{Groups: top, Name: "guide", Summary: "Read the guide", Fields: []word.Field{
			{Name: "chapter", Form: word.Text, Position: at(0), Placeholder: "[chapter]", Description: "Which chapter; none lists them"},
		}}, a.guide},
		{&word.Word{Groups: [][]string{{"guide"}}, Name: "reference", Summary: "Read the reference of a plugin", Fields: []word.Field{
			{Name: "plugin", Form: word.Text, Position: at(0), Placeholder: "<plugin>", Required: true, Description: "Its id"},
		}}, a.reference},
		{&word.Word{Groups: top, Name: "login", Summary: "Store a token for a server, from standard input or a prompt", Fields: []word.Field{
			{Name: "url", Form: word.Text, Position: at(0), Placeholder: "[url]", Description: "The server"},
			{Name: "forget", Form: word.Boolean, Flag: "forget", Description: "Forget the stored token instead"},
		}}, a.login},
		{&word.Word{Groups: top, Name: "mcp", Summary: "Serve the tools and docs to an editor or agent that starts an MCP server as a command"}, a.mcp},
		{&word.Word{Groups: [][]string{{"plugin"}}, Name: "new", Summary: "Write a new plugin in Go: definitions, functions, tests and a program", Fields: []word.Field{
			{Name: "name", Form: word.Text, Position: at(0), Placeholder: "<name>", Required: true, Description: "The plugin's id: lower case letters, digits and dashes"},
			{Name: "dir", Form: word.Text, Flag: "dir", Placeholder: "<path>", Description: "Where to; the name by default"},
			{Name: "module", Form: word.Text, Flag: "module", Placeholder: "<path>", Description: "Path of the Go module; example.com/<name> by default"},
			{Name: "source", Form: word.Text, Flag: "source", Placeholder: "<path>", Description: "Take bb from this checkout instead of the released modules"},
		}}, a.pluginNew},
		{&word.Word{Groups: [][]string{{"plugin"}}, Name: "dev", Summary: "Build and install a plugin again whenever its files change", Fields: []word.Field{
			{Name: "dir", Form: word.Text, Position: at(0), Placeholder: "[folder]", Description: "The plugin's folder; this one by default"},
			{Name: "build", Form: word.Text, Flag: "build", Placeholder: "<command>", Description: "How it is built in its folder, when it is not a Go module"},
			{Name: "once", Form: word.Boolean, Flag: "once", Description: "Build and install once, and end"},
		}}, a.pluginDev},
		{&word.Word{Groups: [][]string{{"sdk"}}, Name: "openapi", Summary: "Print the server's methods as an OpenAPI document", Fields: []word.Field{
			{Name: "output", Form: word.Text, Flag: "output", Placeholder: "<file>", Description: "Write it to this file"},
		}}, a.openapi},
		{&word.Word{Groups: [][]string{{"sdk"}}, Name: "types", Summary: "Print a typed client of the server: TypeScript declarations, their JavaScript, or Go", Fields: []word.Field{
			{Name: "lang", Form: word.Choice, Flag: "lang", Placeholder: "<ts|js|go>", Choices: quoted("ts", "js", "go"), Default: json.RawMessage(`"ts"`), Description: "Which language"},
			{Name: "plugin", Form: word.Text, List: true, Flag: "plugin", Placeholder: "<id>", Description: "Only this plugin; may be repeated"},
			{Name: "package", Form: word.Text, Flag: "package", Placeholder: "<name>", Description: "Name of the Go package; bbclient by default"},
			{Name: "output", Form: word.Text, Flag: "output", Placeholder: "<file>", Description: "Write it to this file"},
		}}, a.types},
		{&word.Word{Groups: top, Name: "version", Summary: "Show the versions of bb and of the server's catalog"}, a.versions},
	}
}

// builtin finds the word that bb answers itself, with how many words it takes.
func (a *app) builtin(words []string) (*builtin, int) {
	all := a.builtins()
	for n := min(len(words), kernelcontract.MaxGroupLevels); n > 0; n-- {
		for i := range all {
			if slices.Equal(all[i].word.Path(), words[:n]) {
				return &all[i], n
			}
		}
	}
	return nil, 0
}

func (a *app) runBuiltin(b *builtin, args []string) int {
	if a.globals.help {
		a.wordHelp(a.out, &cache.Record{Word: b.word})
		return kernelcontract.ExitOK
	}
	line, e := parse.Parse(b.word, args)
	if e != nil {
		return a.usage(e, b.word)
	}
	input, err := word.Input(b.word, word.Values{Words: line.Words, Flags: line.Flags})
	if err != nil {
		return a.usage(kernelcontract.AsError(err), b.word)
	}
	return b.run(input)
}

// version returns the version of this program.
func (a *app) version() string {
	if a.o.Version != "" {
		return a.o.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versions answers `bb version`.
func (a *app) versions(json.RawMessage) int {
	type server struct {
		URL        string `json:"url"`
		ServerID   string `json:"serverId"`
		Generation uint64 `json:"generation"`
	}
	out := struct {
		Version string  `json:"version"`
		Server  *server `json:"server"` // null: none is known
	}{Version: a.version()}
	c, err := a.catalog(a.ctx)
	if err == nil {
		out.Server = &server{c.Index.URL, c.Index.ServerID, c.Index.Generation}
	}
	if a.globals.json {
		raw, err := json.Marshal(out)
		if err != nil {
			return a.fail(asFailure("the version", err), false)
		}
		a.out.print(pretty(raw))
		return kernelcontract.ExitOK
	}
	a.out.print("bb " + out.Version)
	if out.Server == nil {
		a.out.print("server: " + a.why(err))
		return kernelcontract.ExitOK
	}
	a.out.print(text.Strip("server " + out.Server.URL + ": id " + out.Server.ServerID + ", generation " + strconv.FormatUint(out.Server.Generation, 10)))
	return kernelcontract.ExitOK
}

// why says in one line why the server's words are not known.
func (a *app) why(err error) string {
	line, _, _ := strings.Cut(text.Strip(kernelcontract.AsError(err).Message), "\n")
	return line
}

// guide answers `bb guide`.
func (a *app) guide(input json.RawMessage) int {
	var in struct {
		Chapter string `json:"chapter"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return a.fail(asFailure("the input", err), false)
	}
	c, err := a.catalog(a.ctx)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	chapters, err := c.Guide()
	if err != nil { // the cache was damaged
		if c, err = a.fetch(a.ctx); err == nil {
			chapters, err = c.Guide()
		}
		if err != nil {
			return a.fail(asFailure("the guide", err), false)
		}
	}
	if in.Chapter == "" {
		return a.contents(chapters)
	}
	pick := func() (found []cache.Chapter, names []string) {
		for _, ch := range chapters {
			names = append(names, ch.Name)
			if ch.Name == in.Chapter || ch.PluginID+"/"+ch.Name == in.Chapter {
				found = append(found, ch)
			}
		}
		return found, names
	}
	found, names := pick()
	if len(found) == 0 {
		if now := a.newer(c); now != nil {
			if chapters, err = now.Guide(); err == nil {
				found, names = pick()
			}
		}
	}
	if len(found) == 0 {
		return a.fail(unknownName("the guide has no chapter", in.Chapter, names), false)
	}
	for _, ch := range found {
		if a.globals.json {
			if code := a.printJSON(ch); code != kernelcontract.ExitOK {
				return code
			}
			continue
		}
		a.out.print(text.Strip(ch.Text))
	}
	return kernelcontract.ExitOK
}

// contents lists the chapters.
func (a *app) contents(chapters []cache.Chapter) int {
	if a.globals.json {
		if chapters == nil {
			chapters = []cache.Chapter{}
		}
		return a.printJSON(chapters)
	}
	if len(chapters) == 0 {
		a.out.print("The guide has no chapters. `bb guide reference <plugin>` shows what a plugin can do.")
		return kernelcontract.ExitOK
	}
	var rows []word.Row
	for _, ch := range chapters {
		rows = append(rows, word.Row{Form: ch.Name, Text: ch.Title + " (" + ch.PluginID + ")"})
	}
	a.out.print("Chapters, each shown by `bb guide <chapter>`:\n" + a.table(rows) +
		"`bb guide reference <plugin>` shows what a plugin can do.")
	return kernelcontract.ExitOK
}

// reference answers `bb guide reference`.
func (a *app) reference(input json.RawMessage) int {
	var in struct {
		Plugin string `json:"plugin"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return a.fail(asFailure("the input", err), false)
	}
	c, err := a.catalog(a.ctx)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	doc, err := c.Reference(in.Plugin)
	if doc == nil {
		if now := a.newer(c); now != nil {
			c = now
			doc, err = c.Reference(in.Plugin)
		}
	}
	switch {
	case err != nil:
		return a.fail(asFailure("the reference", err), false)
	case doc == nil:
		var names []string
		for _, p := range c.Index.Plugins {
			names = append(names, p.ID)
		}
		return a.fail(unknownName("the server has no plugin", in.Plugin, names), false)
	case a.globals.json:
		return a.printJSON(doc)
	}
	s := docs.RenderReference(*doc)
	if strings.TrimSpace(s) == "" {
		s = "The plugin " + in.Plugin + " offers no methods."
	}
	a.out.print(text.Strip(s))
	return kernelcontract.ExitOK
}

func unknownName(what, name string, names []string) *kernelcontract.Error {
	e := kernelcontract.NotFound.Errorf("%s %q", what, name)
	switch near := word.Nearest(name, names); {
	case len(near) > 0:
		e.Message += "; did you mean " + strings.Join(near, " or ") + "?"
	case len(names) > 0:
		e.Message += "; there is " + strings.Join(names, ", ")
	}
	return e
}

func (a *app) printJSON(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return a.fail(asFailure("the result", err), false)
	}
	a.out.print(pretty(raw))
	return kernelcontract.ExitOK
}
