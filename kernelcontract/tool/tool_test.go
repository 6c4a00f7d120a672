package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/tool"
)

// caller is a Caller made of functions.
type caller struct {
	call func(ctx context.Context, ref string, in json.RawMessage) (any, error)
	open func(ctx context.Context, ref string, in json.RawMessage) iter.Seq2[kernelcontract.Event[json.RawMessage], error]
}

func (c caller) Call(ctx context.Context, ref string, in, out any) error {
	v, err := c.call(ctx, ref, in.(json.RawMessage))
	if err != nil {
		return err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

func (c caller) Open(ctx context.Context, ref string, in any, since string) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
	return c.open(ctx, ref, in.(json.RawMessage))
}

func answer(v any, err error) caller {
	return caller{call: func(context.Context, string, json.RawMessage) (any, error) { return v, err }}
}

var presentation = kernelcontract.Presentation{Pending: "Doing", Completed: "Did", Icon: "hand", Intent: "generic"}

type input struct {
	Thread string `json:"thread" description:"Which"`
	CWD    string `json:"cwd,omitempty"`
	N      int    `json:"n"`
}

func define(t *testing.T, m kernelcontract.Method) *kernelcontract.MethodDef {
	t.Helper()
	s := &kernelcontract.Service{ID: "hello-slot/greeter", Summary: "s", Methods: []kernelcontract.Method{m}}
	def, err := s.Def()
	if err != nil {
		t.Fatal(err)
	}
	return def.Methods[0]
}

func query[Out any](t *testing.T, render func(Out, kernelcontract.Render) string) *kernelcontract.MethodDef {
	return define(t, &kernelcontract.Query[kernelcontract.None, Out]{
		Ref: "hello-slot/greeter.greet", Summary: "s", Tool: &kernelcontract.Tool{Presentation: presentation}, RenderText: render,
	})
}

func stream(t *testing.T) *kernelcontract.MethodDef {
	return define(t, &kernelcontract.Stream[kernelcontract.None, string]{
		Ref: "hello-slot/greeter.follow", Summary: "s", Tool: &kernelcontract.Tool{Presentation: presentation},
		Cursor: func(s string) string { return s },
	})
}

func TestSpecOf(t *testing.T) {
	is := is.New(t)
	d := define(t, &kernelcontract.Mutation[input, string]{
		Ref: "hello-slot/greeter.sayHello", Summary: "Say it", Description: "Loudly.", Wait: 90 * time.Second,
		Ambient: map[string]kernelcontract.ContextKey{"thread": kernelcontract.ThreadID, "cwd": kernelcontract.CWD},
		Tool:    &kernelcontract.Tool{Instructions: "Be kind.", Presentation: presentation},
	})
	s, err := tool.SpecOf(d)
	is.NoErr(err)
	raw, err := json.Marshal(s)
	is.NoErr(err)
	want := `{"tool":{"name":"hello_slot_greeter_say_hello","description":"Say it\n\nLoudly.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"thread":{"type":"string","description":"Which (default: the current thread)"},` +
		`"cwd":{"type":"string","description":"default: the working directory"},` +
		`"n":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}},` +
		`"required":["n"],"additionalProperties":false},` +
		`"presentation":{"pending":"Doing","completed":"Did","icon":"hand","intent":"generic","suppress":false}},` +
		`"ref":"hello-slot/greeter.sayHello","method":"sayHello","pluginId":"hello-slot","kind":"mutation","instructions":"Be kind.",` +
		`"destructive":false,"blocking":{"maxMs":90000}}`
	is.Equal(canonical(t, raw), canonical(t, []byte(want)))

	in, err := d.Input()
	is.NoErr(err)
	is.True(in.Property("thread").Required) // the method's own schema is as it was
	is.Equal(in.Property("thread").Schema.Description, "Which")
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func TestSpecOfMore(t *testing.T) {
	t.Run("no tool", func(t *testing.T) {
		is := is.New(t)
		s, err := tool.SpecOf(define(t, &kernelcontract.Query[kernelcontract.None, string]{Ref: "hello-slot/greeter.a", Summary: "s"}))
		is.NoErr(err)
		is.Equal(s, nil)
	})
	t.Run("declared names and descriptions win", func(t *testing.T) {
		is := is.New(t)
		s, err := tool.SpecOf(define(t, &kernelcontract.Query[kernelcontract.None, string]{Ref: "hello-slot/greeter.a", Summary: "s",
			Tool: &kernelcontract.Tool{Name: "A-b_1", Description: "Other", Presentation: presentation}}))
		is.NoErr(err)
		is.Equal(s.Tool.Name, "A-b_1")
		is.Equal(s.Tool.Description, "Other")
		is.Equal(s.Blocking, nil)
	})
	t.Run("destructive says so", func(t *testing.T) {
		is := is.New(t)
		s, err := tool.SpecOf(define(t, &kernelcontract.Mutation[kernelcontract.None, string]{Ref: "hello-slot/greeter.a", Summary: "s", Destructive: true,
			Tool: &kernelcontract.Tool{Presentation: presentation}}))
		is.NoErr(err)
		is.True(s.Destructive)
		is.True(strings.HasSuffix(s.Tool.Description, "Destructive: confirm with the user first."))
	})
	t.Run("input without a schema", func(t *testing.T) {
		is := is.New(t)
		type bad struct {
			C chan int `json:"c"`
		}
		_, err := tool.SpecOf(define(t, &kernelcontract.Query[bad, string]{Ref: "hello-slot/greeter.a", Summary: "s", Tool: &kernelcontract.Tool{Presentation: presentation}}))
		is.True(err != nil)
	})
}

func TestRunUnary(t *testing.T) {
	type out struct {
		Message string `json:"message"`
	}
	png := kernelcontract.Bytes{MIMEType: "image/png; x=y", Data: []byte("hi")}
	textFile := kernelcontract.Bytes{MIMEType: "text/plain; charset=utf-8", Data: []byte("line\x1b[2J\n")}
	binaryText := kernelcontract.Bytes{MIMEType: "text/plain", Data: []byte{0xff, 0xfe}}
	pdf := kernelcontract.Bytes{MIMEType: "application/pdf", Data: make([]byte, 1500)}
	invalid := kernelcontract.InvalidIssues([]kernelcontract.Issue{{Path: []any{"name"}, Code: "required", Message: "is required"}})
	render := func(o out, r kernelcontract.Render) string { return "*" + o.Message + "*" }
	panics := func(out, kernelcontract.Render) string { panic("boom") }
	for _, tt := range []struct {
		name string
		def  *kernelcontract.MethodDef
		v    any
		err  error
		want string
	}{
		{"value with RenderText", query(t, render), out{"hi"}, nil, `{"success":true,"content":[{"type":"text","text":"*hi*"}]}`},
		{"value without", query[out](t, nil), out{"hi"}, nil, `{"success":true,"content":[{"type":"text","text":"message: hi"}]}`},
		{"nothing", query[kernelcontract.None](t, nil), kernelcontract.None{}, nil, `{"success":true,"content":[{"type":"text","text":"done"}]}`},
		{"image", query[kernelcontract.Bytes](t, nil), png, nil, `{"success":true,"content":[{"type":"image","mimeType":"image/png","base64":"aGk="}]}`},
		{"text file", query[kernelcontract.Bytes](t, nil), textFile, nil, `{"success":true,"content":[{"type":"text","text":"line\n"}]}`},
		{"text that is no text", query[kernelcontract.Bytes](t, nil), binaryText, nil, `{"success":true,"content":[{"type":"text","text":"text/plain, 2 bytes"}]}`},
		{"other file", query[kernelcontract.Bytes](t, nil), pdf, nil, `{"success":true,"content":[{"type":"text","text":"application/pdf, 1.5 kB"}]}`},
		{"no file", query[*kernelcontract.Bytes](t, nil), nil, nil, `{"success":true,"content":[{"type":"text","text":"(none)"}]}`},
		{"error", query[out](t, nil), nil, kernelcontract.NotFound.Errorf("no %s", "bb"), `{"success":false,"content":[{"type":"text","text":"not_found: no bb"}]}`},
		{"error with issues", query[out](t, nil), nil, invalid, `{"success":false,"content":[{"type":"text","text":"invalid_input: the input has an issue\n  name: is required"}]}`},
		{"timeout", query[out](t, nil), nil, kernelcontract.Timeout.Errorf("late"), `{"success":false,"content":[{"type":"text","text":"timeout: late"}]}`},
		{"cancelled", query[out](t, nil), nil, kernelcontract.Cancelled.Errorf("gone"), `{"success":false,"content":[{"type":"text","text":"cancelled: gone"}]}`},
		{"foreign error", query[out](t, nil), nil, errors.New("secret"), `{"success":false,"content":[{"type":"text","text":"internal: the handler failed; the log has the cause under the call id"}]}`},
		{"panic in RenderText", query(t, panics), out{"hi"}, nil, `{"success":false,"content":[{"type":"text","text":"internal: the text form of hello-slot/greeter.greet failed"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			raw, err := json.Marshal(tool.Run(t.Context(), answer(tt.v, tt.err), tt.def, nil))
			is.NoErr(err)
			is.Equal(string(raw), tt.want)
		})
	}
	t.Run("no input is an empty object", func(t *testing.T) {
		is := is.New(t)
		var got, ref string
		c := caller{call: func(_ context.Context, r string, in json.RawMessage) (any, error) {
			got, ref = string(in), r
			return out{}, nil
		}}
		tool.Run(t.Context(), c, query[out](t, nil), nil)
		is.Equal(got, "{}")
		is.Equal(ref, "hello-slot/greeter.greet")
	})
	t.Run("long text is whole", func(t *testing.T) {
		is := is.New(t)
		long := strings.Repeat("word ", 1000)
		r := tool.Run(t.Context(), answer([]out{{long}}, nil), query[[]out](t, nil), nil)
		is.True(strings.Contains(r.Content[0].Text, strings.TrimSpace(long)))
	})
}

// yields answers a stream with items whose cursor is themselves, then err unless it is nil.
func yields(err error, items ...string) caller {
	return caller{open: func(context.Context, string, json.RawMessage) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
		return func(yield func(kernelcontract.Event[json.RawMessage], error) bool) {
			for i, s := range items {
				raw, _ := json.Marshal(s)
				if !yield(kernelcontract.Event[json.RawMessage]{Cursor: strconv.Itoa(i + 1), Item: raw}, nil) {
					return
				}
			}
			if err != nil {
				yield(kernelcontract.Event[json.RawMessage]{}, err)
			}
		}
	}}
}

func TestRunStream(t *testing.T) {
	half := strings.Repeat("x", tool.MaxStreamBytes/2-200)
	huge := strings.Repeat("é", tool.MaxStreamBytes)
	t.Run("items until the end", func(t *testing.T) {
		is := is.New(t)
		r := tool.Run(t.Context(), yields(nil, "a", "b"), stream(t), nil)
		is.True(r.Success)
		is.Equal(len(r.Content), 1)
		is.Equal(r.Content[0].Text, "a\nb\n[End of the stream, cursor 2]")
	})
	t.Run("no items", func(t *testing.T) {
		is := is.New(t)
		r := tool.Run(t.Context(), yields(nil), stream(t), nil)
		is.True(r.Success)
		is.Equal(r.Content[0].Text, "[End of the stream, no items]")
	})
	t.Run("an error ends it and what came is kept", func(t *testing.T) {
		is := is.New(t)
		r := tool.Run(t.Context(), yields(kernelcontract.ServiceUnavailable.Errorf("reload"), "a"), stream(t), nil)
		is.True(!r.Success)
		is.Equal(r.Content[0].Text, "service_unavailable: reload")
		is.Equal(r.Content[1].Text, "a")
	})
	t.Run("256 KiB", func(t *testing.T) {
		is := is.New(t)
		r := tool.Run(t.Context(), yields(nil, half, half, half), stream(t), nil)
		is.True(r.Success)
		is.True(len(r.Content[0].Text) <= tool.MaxStreamBytes)
		is.True(strings.HasSuffix(r.Content[0].Text, "x\n[Stopped at 256 KiB, cursor 2]"))
	})
	t.Run("a first item over 256 KiB is cut between characters", func(t *testing.T) {
		is := is.New(t)
		r := tool.Run(t.Context(), yields(nil, huge), stream(t), nil)
		is.True(r.Success)
		is.True(len(r.Content[0].Text) <= tool.MaxStreamBytes)
		is.True(strings.HasSuffix(r.Content[0].Text, "é\n[Stopped at 256 KiB]")) // no cursor: the item is not whole
		is.True(!strings.Contains(r.Content[0].Text, "\uFFFD"))
	})
	t.Run("30 seconds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			c := caller{open: func(ctx context.Context, _ string, _ json.RawMessage) iter.Seq2[kernelcontract.Event[json.RawMessage], error] {
				return func(yield func(kernelcontract.Event[json.RawMessage], error) bool) {
					yield(kernelcontract.Event[json.RawMessage]{Cursor: "7", Item: json.RawMessage(`"a"`)}, nil)
					<-ctx.Done()
					yield(kernelcontract.Event[json.RawMessage]{}, kernelcontract.Cancelled.Errorf("gone"))
				}
			}}
			start := time.Now()
			r := tool.Run(t.Context(), c, stream(t), nil)
			is.Equal(time.Since(start), 30*time.Second)
			is.True(r.Success)
			is.Equal(r.Content[0].Text, "a\n[Stopped after 30s, cursor 7]")
		})
	})
	t.Run("the caller's own end is an error", func(t *testing.T) {
		is := is.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := tool.Run(ctx, yields(kernelcontract.Cancelled.Errorf("gone"), "a"), stream(t), nil)
		is.True(!r.Success)
		is.Equal(r.Content[0].Text, "cancelled: gone")
	})
}

func TestRunRefusesRawEndpoints(t *testing.T) {
	is := is.New(t)
	s := &kernelcontract.Service{ID: "kernel/x", Summary: "s", Methods: []kernelcontract.Method{&kernelcontract.Custom[int]{Ref: "kernel/x.raw", Summary: "s", Path: "/internal/x"}}}
	def, err := s.Def()
	is.NoErr(err)
	is.True(!tool.Run(t.Context(), caller{}, def.Methods[0], nil).Success)
}

func TestContentJSON(t *testing.T) {
	for _, tt := range []struct {
		name, json string
		want       tool.Content
	}{
		{"text", `{"type":"text","text":"a"}`, tool.TextContent("a")},
		{"empty text", `{"type":"text","text":""}`, tool.TextContent("")},
		{"image", `{"type":"image","mimeType":"image/png","base64":"aGk="}`, tool.Content{MIMEType: "image/png", Base64: "aGk="}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			raw, err := json.Marshal(tt.want)
			is.NoErr(err)
			is.Equal(string(raw), tt.json)
			var got tool.Content
			is.NoErr(json.Unmarshal(raw, &got))
			is.Equal(got, tt.want)
		})
	}
	for _, bad := range []string{`{"type":"audio"}`, `{"type":"image"}`, `[]`} {
		t.Run("refuses "+bad, func(t *testing.T) {
			var got tool.Content
			is.New(t).True(json.Unmarshal([]byte(bad), &got) != nil)
		})
	}
}

func ExampleRun() {
	greet := &kernelcontract.Query[kernelcontract.None, string]{
		Ref: "demo/greeter.greet", Summary: "Greet", Tool: &kernelcontract.Tool{Presentation: presentation},
	}
	s := &kernelcontract.Service{ID: "demo/greeter", Summary: "Greet", Methods: []kernelcontract.Method{greet}}
	def, err := s.Def()
	if err != nil {
		panic(err)
	}
	result := tool.Run(context.Background(), answer("Hello, bb!", nil), def.Methods[0], nil)
	fmt.Println(result.Success, result.Content[0].Text)
	// Output: true Hello, bb!
}
