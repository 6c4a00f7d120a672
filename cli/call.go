package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/cli/internal/parse"
	"github.com/bb-kernel/bb/cli/internal/talk"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/sdk"
)

// call is a word that is about to run.
type call struct {
	ctx   context.Context
	w     *word.Word
	r     *cache.Record
	line  *parse.Line
	input json.RawMessage
	// follows says that the turn of the input is followed until it has ended.
	follows bool
}

// runWord parses the arguments of a word and runs it. When they do not fit, retry is asked first whether there is a newer form
// of the word; if so nothing is reported.
func (a *app) runWord(r *cache.Record, args []string, run func(*call) int, retry func() bool) int {
	w := r.Word
	if a.globals.help {
		a.wordHelp(a.out, r)
		return kernelcontract.ExitOK
	}
	c, e := a.prepare(r, args)
	if e != nil {
		if a.ctx.Err() == nil && retry() {
			return 0
		}
		return a.usage(e, w)
	}
	if c.line.Help { // among grouped short flags
		a.wordHelp(a.out, r)
		return kernelcontract.ExitOK
	}
	if a.globals.json && c.line.Output != "" {
		return a.usage(parse.Usage("--output takes the file as it is, --json prints it as JSON: give one of them"), w)
	}
	if c.w.Bytes && !a.globals.json && c.line.Output == "" && a.term.Stdout {
		return a.usage(parse.Usage("the result is a file, which a terminal cannot show: use --output FILE, a pipe or --json"), w)
	}
	if code, ok := a.confirmed(c); !ok {
		return code
	}
	c.ctx = a.ctx
	if c.line.Timeout > 0 {
		ctx, cancel := context.WithTimeout(a.ctx, c.line.Timeout)
		defer cancel()
		c.ctx = ctx
	}
	if w.Kind == kernelcontract.KindStream || c.follows {
		defer a.out.watch()()
	}
	return run(c)
}

// prepare turns the arguments into an input.
func (a *app) prepare(r *cache.Record, args []string) (*call, *kernelcontract.Error) {
	w := r.Word
	line, e := parse.Parse(w, args)
	if e != nil {
		return nil, e
	}
	if line.Help {
		return &call{line: line}, nil
	}
	if e := secretArgument(w, line); e != nil {
		return nil, e
	}
	follows, e := a.spoken(w, line)
	if e != nil {
		return nil, e
	}
	v := word.Values{
		Words: line.Words, Flags: line.Flags, Whole: line.Input, Read: a.source,
		Secret: func(f *word.Field) (string, error) { return a.secret(fieldTitle(f) + ": ") },
		Env:    func(name string) (string, bool) { s := a.o.Env(name); return s, s != "" },
	}
	if line.Self {
		if v.Self = a.o.Env(sdk.EnvThreadID); v.Self == "" {
			return nil, parse.Usage("--self: there is no current thread; %s is not set", sdk.EnvThreadID)
		}
	}
	input, err := word.Input(talk.Method(w), v)
	if err != nil {
		return nil, kernelcontract.AsError(err)
	}
	return &call{w: w, r: r, line: line, input: input, follows: follows}, nil
}

func fieldTitle(f *word.Field) string {
	title := strings.ReplaceAll(kernelcontract.Kebab(f.Name), "-", " ")
	return strings.ToUpper(title[:1]) + title[1:]
}

// secretArgument refuses a secret that stands on the command line inside --input, where other users can read it.
func secretArgument(w *word.Word, line *parse.Line) *kernelcontract.Error {
	if line.Input == nil || *line.Input == "-" || strings.HasPrefix(*line.Input, "@") {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(*line.Input), &members) != nil {
		return nil // the parser of the input says what is wrong
	}
	for i := range w.Fields {
		f := &w.Fields[i]
		if _, ok := members[f.Name]; ok && f.Secret {
			return parse.Usage("--input: %s is a secret, which the command line would show to others; pass it on standard input", f.Name)
		}
	}
	return nil
}

// confirmed asks before a destructive word. ok is false when it must not run.
func (a *app) confirmed(c *call) (code int, ok bool) {
	if !c.w.Destructive || c.line.Yes {
		return 0, true
	}
	said := "bb " + strings.Join(c.w.Path(), " ")
	if !slices.ContainsFunc(c.w.Fields, func(f word.Field) bool { return f.Secret }) {
		said = word.CommandLine(c.w, c.input)
	}
	if !a.term.Stdin || !a.term.Stderr {
		return a.usage(parse.Usage("refusing without --yes: %q is destructive", said), c.w), false
	}
	yes, err := a.confirm(fmt.Sprintf("%s is destructive. Do it?", said))
	switch {
	case a.ctx.Err() != nil:
		a.err.print("")
		return kernelcontract.ExitInterrupted, false
	case err != nil:
		return a.fail(kernelcontract.Internal.Errorf("the answer cannot be read: %v", err), false), false
	case !yes:
		if a.globals.json {
			a.out.print(pretty(kernelcontract.MarshalFailure(kernelcontract.Cancelled.Errorf("declined"))))
		} else {
			a.warnf("nothing was done")
		}
		return kernelcontract.ExitFailure, false
	}
	return 0, true
}

// clientInfo is what bb says of itself.
func (a *app) clientInfo() kernelcontract.ClientInfo {
	surface := "pipe"
	if a.term.Stdout {
		surface = "tty"
	}
	return kernelcontract.ClientInfo{Kind: "cli", Surface: surface}
}

// contextAll is where the caller works.
func (a *app) contextAll() kernelcontract.Context {
	c := sdk.ContextFrom(a.o.Env)
	c.CWD = a.o.Dir
	if c.CWD == "" {
		c.CWD, _ = os.Getwd() // a directory that is gone fills nothing
	}
	if len(c.CWD) > header.MaxContextValue {
		c.CWD = ""
	}
	return c
}

// context is contextAll without what the word has no use for: the working directory is not everybody's business.
func (a *app) context(w *word.Word) kernelcontract.Context {
	c := a.contextAll()
	for i := range w.Fields {
		if w.Fields[i].Ambient == kernelcontract.CWD {
			return c
		}
	}
	c.CWD = ""
	return c
}

// callServer sends the call and prints what comes back.
func (a *app) callServer(c *cache.Catalog, cl *call) int {
	client, err := a.connect(cl.w)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), cl.w.Kind == kernelcontract.KindStream)
	}
	if cl.w.Kind == kernelcontract.KindStream {
		return a.follow(c, cl, client)
	}
	if cl.follows {
		return a.converse(c, cl, client)
	}
	if e := a.upload(cl, client); e != nil {
		return a.fail(e, false)
	}
	req := sdk.Request{Signature: cl.r.Signature(), Input: cl.input}
	switch {
	case a.globals.json:
	case cl.w.Bytes:
		req.Raw = true
	default:
		r := a.render()
		req.Render = &r
	}
	stop := a.progress(cl)
	resp, err := client.Do(cl.ctx, req)
	stop()
	code := a.printAnswer(cl, resp, err)
	if resp != nil {
		a.refresh(c, resp.Answer)
	}
	return code
}

// printAnswer prints the answer of a query or a mutation.
func (a *app) printAnswer(cl *call, resp *sdk.Response, err error) int {
	if err != nil {
		e := kernelcontract.AsError(err)
		if resp != nil && !a.globals.json && isText(resp.MIMEType) && a.ctx.Err() == nil {
			a.err.print(a.strip(string(resp.Body)))
			return e.Row().Exit
		}
		return a.fail(e, false)
	}
	switch {
	case resp.Form == sdk.Bytes:
		return a.writeFile(cl, resp.MIMEType, resp.Body)
	case a.globals.json:
		a.out.print(pretty(resp.Body))
	case resp.Form == sdk.Text:
		a.out.print(a.strip(string(resp.Body)))
	default: // no file after all, or a file in JSON
		var b schema.Bytes
		if b.UnmarshalJSON(resp.Body) == nil {
			return a.writeFile(cl, b.MIMEType, b.Data)
		}
		a.out.print(text.Render(resp.Body, nil, a.render()))
	}
	return kernelcontract.ExitOK
}

func isText(mimeType string) bool {
	media, _, err := mime.ParseMediaType(mimeType)
	return err == nil && media == "text/plain"
}

// writeFile writes a result that is a file: to --output, else to standard output.
func (a *app) writeFile(cl *call, mimeType string, content []byte) int {
	if cl.line.Output == "" || cl.line.Output == "-" {
		if a.term.Stdout {
			return a.usage(parse.Usage("%s does not go to a terminal: use --output FILE or a pipe", text.Size(mimeType, len(content))), cl.w)
		}
		_, _ = a.out.Write(content) // the sink keeps its failure
		return kernelcontract.ExitOK
	}
	path := a.path(cl.line.Output)
	if err := replaceFile(path, content); err != nil {
		return a.fail(kernelcontract.Internal.Errorf("%s cannot be written: %v", cl.line.Output, err), false)
	}
	a.warnf("%s written to %s", text.Size(mimeType, len(content)), cl.line.Output)
	return kernelcontract.ExitOK
}

// replaceFile writes a file whole or not at all. What is not a regular file, such as a device, is written to as it is.
func replaceFile(path string, content []byte) error {
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return os.WriteFile(path, content, mode)
		}
		mode = info.Mode().Perm()
	}
	// Nobody else can have put a link there: the name is not known before.
	f, err := os.OpenFile(path+"."+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that counts is the first
	}
	return err
}

// follow prints a stream.
func (a *app) follow(c *cache.Catalog, cl *call, client *sdk.Client) int {
	var answer sdk.Answer
	last := cl.line.Since
	note := func(say func()) { say() }
	show := func(f sdk.Frame) error {
		switch {
		case a.globals.json:
			a.out.print(oneLine(f.Item))
		case f.Text != "": // an item that people need not see has no text
			a.out.print(a.strip(f.Text))
		}
		return nil
	}
	req := sdk.Request{Signature: cl.r.Signature(), Input: cl.input, Since: cl.line.Since, OnOpen: func(an sdk.Answer) {
		if answer.CallID != "" && !cl.line.Quiet {
			note(func() { a.warnf("connected again") })
		}
		answer = an
	}}
	switch {
	case a.globals.json:
	case cl.w.Ref == threadapi.Events.Ref: // text that flows is made here, where what was shown is known
		flow := talk.NewFlow(a.render(), a.write)
		defer flow.Close()
		note, show = flow.Note, func(f sdk.Frame) error { return flow.Event(f.Item) }
	default:
		r := a.render()
		req.Render = &r
	}
	code := kernelcontract.ExitOK
	for f, err := range client.Follow(cl.ctx, req) {
		if err == nil {
			err = show(f)
		}
		if err != nil {
			note(func() { code = a.fail(kernelcontract.AsError(err), true) })
			break
		}
		if f.Cursor != "" {
			last = f.Cursor
		}
	}
	if code != kernelcontract.ExitOK && cl.w.Resumable && answer.CallID != "" && last != "" && !cl.line.Quiet && !a.unread() {
		a.warnf("--since=%s goes on from here", last)
	}
	if answer.CallID != "" {
		a.refresh(c, answer)
	}
	return code
}

// patience is how long a blocking call is waited for before something is said about it.
const patience = 2 * time.Second

// progress says on a terminal that a blocking call takes its time. The function that it returns ends that.
func (a *app) progress(cl *call) (stop func()) {
	if !cl.w.Blocking || cl.line.Quiet || !a.term.Stderr {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-t.C:
			a.warnf("waiting for %s; Ctrl-C gives up", strings.Join(cl.w.Path(), " "))
		case <-done:
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// connect returns a client for a word; nil: for the catalog.
func (a *app) connect(w *word.Word) (*sdk.Client, error) {
	var where kernelcontract.Context
	if w != nil {
		where = a.context(w)
	}
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	client, err := sdk.Connect(sdk.Options{
		URL: a.globals.server, Token: token, HTTP: a.o.HTTP, Client: a.clientInfo(), Context: &where, Insecure: a.globals.insecure, Env: a.o.Env,
	})
	if err != nil {
		e := *kernelcontract.AsError(err)
		if !a.globals.insecure && strings.Contains(e.Message, "insecure") {
			e.Message += " with --insecure"
		}
		return nil, &e
	}
	return client, nil
}

// asFailure returns err as the surfaces show it, naming what was tried.
func asFailure(doing string, err error) *kernelcontract.Error {
	var e *kernelcontract.Error
	if errors.As(err, &e) {
		return e
	}
	return kernelcontract.Internal.Errorf("%s: %v", doing, err)
}
