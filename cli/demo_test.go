package cli_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// errCut makes the fake server break the connection.
var errCut = errors.New("cut")

type greetInput struct {
	Name       string `json:"name" description:"Who to greet" minLength:"1"`
	Salutation string `json:"salutation,omitempty" default:"Hello" description:"The word before the name"`
}

type greetOutput struct {
	Message string `json:"message"`
	Count   int64  `json:"count"`
}

type level string

func (level) Enum() []any { return []any{"low", "high"} }

type applyInput struct {
	Level  level             `json:"level,omitempty"`
	Tags   []string          `json:"tags,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Config map[string]any    `json:"config,omitempty"`
	Thread string            `json:"thread,omitempty"`
	Host   string            `json:"hostId,omitempty"`
	Dir    string            `json:"dir,omitempty"`
	Big    int64             `json:"big,omitempty"`
	Loud   bool              `json:"loud,omitempty"`
}

type limitInput struct {
	Limit int `json:"limit,omitempty"`
}

type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

type idInput struct {
	ID string `json:"id"`
}

type secretInput struct {
	Name  string `json:"name"`
	Value string `json:"value" description:"The value"`
}

const muted kernelcontract.Code = "muted"

// demo returns a plugin with one method of each kind.
func demo() []kernelcontract.Implementation {
	greet := &kernelcontract.Query[greetInput, greetOutput]{
		Ref: "demo/greeter.greet", Summary: "Greet someone by name", CLI: kernelcontract.CLI{Args: []string{"name"}, Aliases: []string{"hail"}},
		Errors:     map[kernelcontract.Code]kernelcontract.ErrorDef{muted: {Like: kernelcontract.Forbidden}},
		Examples:   []kernelcontract.Example[greetInput]{{Input: greetInput{Name: "bb"}, Note: "greets"}},
		RenderText: func(o greetOutput, _ kernelcontract.Render) string { return o.Message },
	}
	count := &kernelcontract.Mutation[greetInput, greetOutput]{Ref: "demo/greeter.count", Summary: "Count a greeting", CLI: kernelcontract.CLI{Args: []string{"name"}}}
	shout := &kernelcontract.Query[greetInput, greetOutput]{Ref: "demo/greeter.shout", Summary: "Shout",
		CLI: kernelcontract.CLI{Args: []string{"name"}, Hidden: true, FlagAlias: &kernelcontract.FlagAlias{Group: []string{"hello"}, Name: "greet", Flag: "loud"}}}
	fail := &kernelcontract.Query[idInput, greetOutput]{Ref: "demo/greeter.fail", Summary: "Fail with a code", CLI: kernelcontract.CLI{Args: []string{"id"}},
		Errors: map[kernelcontract.Code]kernelcontract.ErrorDef{muted: {Like: kernelcontract.Forbidden}}}
	answer := func(_ context.Context, in greetInput) (greetOutput, error) {
		if in.Salutation == "" {
			in.Salutation = "Hello"
		}
		return greetOutput{Message: in.Salutation + ", " + in.Name + "!", Count: 1<<53 + 1}, nil
	}
	greeter := &kernelcontract.Service{ID: "demo/greeter", Summary: "Greet by name", Group: []string{"hello"}, Aliases: [][]string{{"hi"}},
		Methods: []kernelcontract.Method{greet, count, shout, fail}}

	apply := &kernelcontract.Mutation[applyInput, applyInput]{Ref: "demo/settings.apply", Summary: "Apply settings",
		Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID, "hostId": kernelcontract.HostID, "dir": kernelcontract.CWD},
		CLI:     kernelcontract.CLI{Flags: map[string]kernelcontract.Flag{"level": {Short: "l"}}}}
	keep := &kernelcontract.Mutation[secretInput, kernelcontract.None]{Ref: "demo/settings.keep", Summary: "Keep a secret",
		CLI: kernelcontract.CLI{Args: []string{"name"}, Flags: map[string]kernelcontract.Flag{"value": {Hidden: true, Stdin: true}}}}
	wait := &kernelcontract.Query[kernelcontract.None, kernelcontract.None]{Ref: "demo/settings.wait", Summary: "Wait", Wait: time.Hour}
	settings := &kernelcontract.Service{ID: "demo/settings", Summary: "Settings", Methods: []kernelcontract.Method{apply, keep, wait}}

	var removed atomic.Int64
	remove := &kernelcontract.Mutation[idInput, kernelcontract.None]{Ref: "demo/notes.remove", Summary: "Remove a note", Destructive: true, CLI: kernelcontract.CLI{Args: []string{"id"}}}
	file := &kernelcontract.Query[kernelcontract.None, schema.Bytes]{Ref: "demo/notes.file", Summary: "Get a file"}
	foreign := &kernelcontract.Query[kernelcontract.None, string]{Ref: "demo/notes.foreign", Summary: "Answer with control sequences"}
	list := &kernelcontract.Query[kernelcontract.None, []note]{Ref: "demo/notes.list", Summary: "List notes"}
	follow := &kernelcontract.Stream[limitInput, note]{Ref: "demo/notes.follow", Summary: "Follow notes", Cursor: func(n note) string { return n.ID },
		RenderText: func(n note, _ kernelcontract.Render) string { return "note " + n.ID }}
	once := &kernelcontract.Stream[limitInput, note]{Ref: "demo/notes.once", Summary: "Follow notes once"}
	notes := &kernelcontract.Service{ID: "demo/notes", Summary: "Notes", Methods: []kernelcontract.Method{remove, file, foreign, list, follow, once}}

	status := &kernelcontract.Query[kernelcontract.None, string]{Ref: "demo/top.status", Summary: "Show a status", CLI: kernelcontract.CLI{Group: []string{}, Name: "notes"}}
	deep := &kernelcontract.Query[kernelcontract.None, string]{Ref: "demo/top.get", Summary: "Get deep", CLI: kernelcontract.CLI{Group: []string{"settings", "config"}}}
	obscure := &kernelcontract.Query[kernelcontract.None, string]{Ref: "demo/top.obscure", Summary: "Obscure", CLI: kernelcontract.CLI{Group: []string{}, Hidden: true}}
	top := &kernelcontract.Service{ID: "demo/top", Summary: "Top", Methods: []kernelcontract.Method{status, deep, obscure}}

	cut := false
	return []kernelcontract.Implementation{
		{Service: greeter, Handlers: []kernelcontract.Handler{greet.Handle(answer), count.Handle(answer),
			shout.Handle(func(_ context.Context, in greetInput) (greetOutput, error) {
				return greetOutput{Message: "LOUD " + in.Name}, nil
			}),
			fail.Handle(func(_ context.Context, in idInput) (greetOutput, error) {
				return greetOutput{}, kernelcontract.Code(in.ID).Errorf("because of %s", in.ID)
			})}},
		{Service: settings, Handlers: []kernelcontract.Handler{
			apply.Handle(func(_ context.Context, in applyInput) (applyInput, error) { return in, nil }),
			keep.Handle(func(context.Context, secretInput) (kernelcontract.None, error) { return kernelcontract.None{}, nil }),
			wait.Handle(func(ctx context.Context, _ kernelcontract.None) (kernelcontract.None, error) {
				<-ctx.Done()
				return kernelcontract.None{}, ctx.Err()
			})}},
		{Service: notes, Handlers: []kernelcontract.Handler{
			remove.Handle(func(context.Context, idInput) (kernelcontract.None, error) {
				removed.Add(1)
				return kernelcontract.None{}, nil
			}),
			file.Handle(func(context.Context, kernelcontract.None) (schema.Bytes, error) {
				return schema.Bytes{MIMEType: "image/png", Data: []byte{0x89, 'P', 0, 0xff}}, nil
			}),
			foreign.Handle(func(context.Context, kernelcontract.None) (string, error) { return "raw:\u009b31m", nil }),
			list.Handle(func(context.Context, kernelcontract.None) ([]note, error) { return []note{}, nil }),
			follow.Handle(func(ctx context.Context, in limitInput) (iter.Seq2[note, error], error) {
				if in.Limit < 0 {
					return nil, kernelcontract.InvalidInput.Errorf("limit %d does not do", in.Limit)
				}
				return func(yield func(note, error) bool) {
					n := 0
					fmt.Sscan(kernelcontract.CallFrom(ctx).Since, &n)
					for range in.Limit {
						n++
						if n == 3 && !cut && in.Limit > 3 {
							cut = true
							yield(note{}, errCut)
							return
						}
						if n > in.Limit || !yield(note{ID: fmt.Sprint(n), Text: "t"}, nil) {
							return
						}
					}
					if in.Limit == 0 {
						yield(note{ID: "1"}, nil)
						<-ctx.Done()
					}
				}, nil
			}),
			once.Handle(func(_ context.Context, in limitInput) (iter.Seq2[note, error], error) {
				if in.Limit < 0 {
					return nil, kernelcontract.NotFound.Errorf("nothing")
				}
				return func(yield func(note, error) bool) {
					if !yield(note{ID: "1", Text: "x"}, nil) {
						return
					}
					if in.Limit > 1 {
						yield(note{}, errCut)
					}
				}, nil
			})}},
		{Service: top, Handlers: []kernelcontract.Handler{
			status.Handle(func(context.Context, kernelcontract.None) (string, error) { return "fine", nil }),
			deep.Handle(func(context.Context, kernelcontract.None) (string, error) { return "deep", nil }),
			obscure.Handle(func(context.Context, kernelcontract.None) (string, error) { return "seen", nil })}},
	}
}
