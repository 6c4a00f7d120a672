package header_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
)

func Example() {
	value, _ := header.FormatContext(kernelcontract.Context{ThreadID: "t1", CWD: "/home/é"})
	fmt.Println(header.Context+":", value)
	ctx, _ := header.ParseContext([]string{value})
	fmt.Println(ctx.CWD)
	_, err := header.ParseContext([]string{`{"thread":"t1"}`})
	fmt.Println(err.Code)
	// Output:
	// x-bb-context: {"threadId":"t1","cwd":"/home/\u00e9"}
	// /home/é
	// invalid_input
}

// refused checks that err is InvalidInput and names the header.
func refused(is *is.I, err *kernelcontract.Error, name string) {
	is.Helper()
	is.True(err != nil)
	is.Equal(err.Code, kernelcontract.InvalidInput)
	is.True(strings.Contains(err.Message, name))
	is.True(len(err.Message) < 400) // a foreign value is not repeated at length
}

func TestClient(t *testing.T) {
	long := strings.Repeat("a", header.MaxPart)
	for _, tt := range []struct {
		name   string
		values []string
		want   kernelcontract.ClientInfo
		ok     bool
	}{
		{"missing is the headless SDK", nil, kernelcontract.ClientInfo{Kind: "sdk", Surface: "headless"}, true},
		{"kind and surface", []string{"cli/tty"}, kernelcontract.ClientInfo{Kind: "cli", Surface: "tty"}, true},
		{"version", []string{"web/extensions; version=0.1.0-rc.1"}, kernelcontract.ClientInfo{Kind: "web", Surface: "extensions", Version: "0.1.0-rc.1"}, true},
		{"version without a space", []string{"web/extensions;version=1"}, kernelcontract.ClientInfo{Kind: "web", Surface: "extensions", Version: "1"}, true},
		{"longest", []string{long + "/" + long + "; version=" + long}, kernelcontract.ClientInfo{Kind: long, Surface: long, Version: long}, true},
		{"too long", []string{long + "a/tty"}, kernelcontract.ClientInfo{}, false},
		{"empty", []string{""}, kernelcontract.ClientInfo{}, false},
		{"no surface", []string{"cli"}, kernelcontract.ClientInfo{}, false},
		{"empty surface", []string{"cli/"}, kernelcontract.ClientInfo{}, false},
		{"three parts", []string{"cli/tty/x"}, kernelcontract.ClientInfo{}, false},
		{"capitals", []string{"CLI/tty"}, kernelcontract.ClientInfo{}, false},
		{"space", []string{"cli /tty"}, kernelcontract.ClientInfo{}, false},
		{"empty version", []string{"cli/tty; version="}, kernelcontract.ClientInfo{}, false},
		{"other parameter", []string{"cli/tty; v=1"}, kernelcontract.ClientInfo{}, false},
		{"two parameters", []string{"cli/tty; version=1; version=1"}, kernelcontract.ClientInfo{}, false},
		{"trailing semicolon", []string{"cli/tty;"}, kernelcontract.ClientInfo{}, false},
		{"twice", []string{"cli/tty", "cli/tty"}, kernelcontract.ClientInfo{}, false},
		{"other bytes", []string{"cli/\xff" + long + long}, kernelcontract.ClientInfo{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, err := header.ParseClient(tt.values)
			if !tt.ok {
				refused(is, err, "X-BB-Client")
				return
			}
			is.True(err == nil)
			is.Equal(got, tt.want)
			value, ferr := header.FormatClient(got)
			is.NoErr(ferr)
			again, err := header.ParseClient([]string{value})
			is.True(err == nil)
			is.Equal(again, got)
		})
	}
	_, err := header.FormatClient(kernelcontract.ClientInfo{Kind: "My App", Surface: "tty"})
	is.New(t).True(err != nil)
}

func TestContext(t *testing.T) {
	long := strings.Repeat("a", header.MaxContextValue)
	for _, tt := range []struct {
		name   string
		values []string
		want   kernelcontract.Context
		ok     bool
	}{
		{"missing", nil, kernelcontract.Context{}, true},
		{"empty object", []string{"{}"}, kernelcontract.Context{}, true},
		{"every key", []string{`{"threadId":"t","projectId":"p","environmentId":"e","hostId":"h","cwd":"/x"}`},
			kernelcontract.Context{ThreadID: "t", ProjectID: "p", EnvironmentID: "e", HostID: "h", CWD: "/x"}, true},
		{"escapes", []string{`{"cwd":"\u00e9\ud83d\ude00\n"}`}, kernelcontract.Context{CWD: "é😀\n"}, true},
		{"escaped backslash before u", []string{`{"cwd":"\\ud800"}`}, kernelcontract.Context{CWD: `\ud800`}, true},
		{"longest", []string{`{"cwd":"` + long + `"}`}, kernelcontract.Context{CWD: long}, true},
		{"too long", []string{`{"cwd":"` + long + `a"}`}, kernelcontract.Context{}, false},
		{"too long as bytes", []string{`{"cwd":"` + strings.Repeat(`\u00e9`, header.MaxContextValue/2+1) + `"}`}, kernelcontract.Context{}, false},
		{"empty value", []string{`{"cwd":""}`}, kernelcontract.Context{}, false},
		{"unknown key", []string{`{"cwd":"/x","pid":"1"}`}, kernelcontract.Context{}, false},
		{"other case", []string{`{"threadid":"t"}`}, kernelcontract.Context{}, false},
		{"duplicate key", []string{`{"cwd":"/x","cwd":"/y"}`}, kernelcontract.Context{}, false},
		{"number", []string{`{"threadId":1}`}, kernelcontract.Context{}, false},
		{"null", []string{`{"threadId":null}`}, kernelcontract.Context{}, false},
		{"list", []string{`["t"]`}, kernelcontract.Context{}, false},
		{"string", []string{`"{}"`}, kernelcontract.Context{}, false},
		{"empty", []string{""}, kernelcontract.Context{}, false},
		{"trailing bytes", []string{`{} {}`}, kernelcontract.Context{}, false},
		{"cut", []string{`{"cwd":"/x"`}, kernelcontract.Context{}, false},
		{"UTF-8 bytes", []string{`{"cwd":"é"}`}, kernelcontract.Context{}, false},
		{"high half alone", []string{`{"cwd":"\ud83dx"}`}, kernelcontract.Context{}, false},
		{"low half alone", []string{`{"cwd":"\ude00"}`}, kernelcontract.Context{}, false},
		{"twice", []string{"{}", "{}"}, kernelcontract.Context{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, err := header.ParseContext(tt.values)
			if !tt.ok {
				refused(is, err, "x-bb-context")
				return
			}
			is.True(err == nil)
			is.Equal(got, tt.want)
		})
	}
}

func TestFormatContext(t *testing.T) {
	is := is.New(t)
	value, err := header.FormatContext(kernelcontract.Context{})
	is.NoErr(err)
	is.Equal(value, "")
	value, err = header.FormatContext(kernelcontract.Context{CWD: "<é😀\x7f>"})
	is.NoErr(err)
	is.Equal(value, `{"cwd":"<\u00e9\ud83d\ude00\u007f>"}`)
	_, err = header.FormatContext(kernelcontract.Context{CWD: "\xff"})
	is.True(err != nil)
	_, err = header.FormatContext(kernelcontract.Context{CWD: strings.Repeat("x", header.MaxContextValue+1)})
	is.True(err != nil)
}

func TestRender(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   *kernelcontract.Render
		ok     bool
	}{
		{"missing is JSON", nil, nil, true},
		{"text", []string{"text"}, &kernelcontract.Render{}, true},
		{"all", []string{"text; width=120; color=1; tty=1"}, &kernelcontract.Render{Width: 120, Color: true, TTY: true}, true},
		{"any order, no spaces", []string{"text;tty=0;width=20"}, &kernelcontract.Render{Width: 20}, true},
		{"widest", []string{"text; width=1000"}, &kernelcontract.Render{Width: 1000}, true},
		{"too narrow", []string{"text; width=19"}, nil, false},
		{"too wide", []string{"text; width=1001"}, nil, false},
		{"width with a sign", []string{"text; width=+80"}, nil, false},
		{"width with a leading zero", []string{"text; width=080"}, nil, false},
		{"no width", []string{"text; width="}, nil, false},
		{"color", []string{"text; color=2"}, nil, false},
		{"tty", []string{"text; tty=true"}, nil, false},
		{"unknown key", []string{"text; height=10"}, nil, false},
		{"repeated key", []string{"text; tty=1; tty=1"}, nil, false},
		{"trailing semicolon", []string{"text;"}, nil, false},
		{"other mode", []string{"html"}, nil, false},
		{"empty", []string{""}, nil, false},
		{"twice", []string{"text", "text"}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, err := header.ParseRender(tt.values)
			if !tt.ok {
				refused(is, err, "Bb-Render")
				return
			}
			is.True(err == nil)
			is.Equal(got, tt.want)
		})
	}
	is := is.New(t)
	is.Equal(header.FormatRender(kernelcontract.Render{Width: 5, Color: true}), "text; width=20; color=1; tty=0")
}

func TestLastEventID(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   string
		ok     bool
	}{
		{"missing", nil, "", true},
		{"empty", []string{""}, "", true},
		{"zero", []string{"0"}, "0", true},
		{"inner space", []string{"a b"}, "a b", true},
		{"longest", []string{strings.Repeat("x", kernelcontract.MaxCursor)}, strings.Repeat("x", kernelcontract.MaxCursor), true},
		{"too long", []string{strings.Repeat("x", kernelcontract.MaxCursor+1)}, "", false},
		{"control character", []string{"a\tb"}, "", false},
		{"not ASCII", []string{"é"}, "", false},
		{"outer space", []string{" a"}, "", false},
		{"twice", []string{"1", "2"}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			got, err := header.ParseLastEventID(tt.values)
			if !tt.ok {
				refused(is, err, "Last-Event-ID")
				return
			}
			is.True(err == nil)
			is.Equal(got, tt.want)
		})
	}
}

func FuzzClient(f *testing.F) {
	f.Add("cli/tty; version=1")
	f.Fuzz(func(t *testing.T, value string) {
		got, err := header.ParseClient([]string{value})
		if err != nil {
			return
		}
		if _, err := header.FormatClient(got); err != nil {
			t.Fatalf("%q parsed as %v, which cannot be sent: %v", value, got, err)
		}
	})
}

func FuzzContext(f *testing.F) {
	for _, v := range []string{`{"cwd":"\ud83d\ude00"}`, `{"threadId":"t","hostId":"h"}`, `{"cwd":"\ud800"}`, `{"cwd":"\\u"}`} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, err := header.ParseContext([]string{value})
		if err != nil || got == (kernelcontract.Context{}) {
			return
		}
		sent, ferr := header.FormatContext(got)
		if ferr != nil {
			t.Fatalf("%q parsed as %v, which cannot be sent: %v", value, got, ferr)
		}
		again, err := header.ParseContext([]string{sent})
		if err != nil || again != got {
			t.Fatalf("%q came back as %v from %q: %v", value, again, sent, err)
		}
	})
}

func FuzzRender(f *testing.F) {
	f.Add("text; width=80; color=1; tty=1")
	f.Fuzz(func(t *testing.T, value string) {
		got, err := header.ParseRender([]string{value})
		if err != nil {
			return
		}
		again, err := header.ParseRender([]string{header.FormatRender(*got)})
		if err != nil || again.Columns() != got.Columns() || again.Color != got.Color || again.TTY != got.TTY {
			t.Fatalf("%q came back as %v: %v", value, again, err)
		}
	})
}

func FuzzLastEventID(f *testing.F) {
	f.Add("41")
	f.Fuzz(func(t *testing.T, value string) {
		got, err := header.ParseLastEventID([]string{value})
		if err == nil && got != "" && !header.ValidCursor(got) {
			t.Fatalf("%q is accepted", value)
		}
	})
}
