package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// put writes the files of a folder.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGeneratedGo compiles the client of a running server, and calls the server with it.
func TestGeneratedGo(t *testing.T) {
	t.Parallel()
	i := install(t)
	_, url := i.serve(t, "127.0.0.1:0")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bbclient"), 0o755); err != nil {
		t.Fatal(err)
	}
	i.bb(t, url, "sdk", "types", "--lang", "go", "--output", filepath.Join(dir, "bbclient", "client.go"))
	at := filepath.ToSlash(root(t))
	put(t, dir, map[string]string{
		"go.mod":  "module example.com/caller\n\ngo 1.25.0\n",
		"go.work": "go 1.25.0\n\nuse (\n\t.\n\t" + at + "/kernelcontract\n\t" + at + "/sdk\n)\n",
		"main.go": `package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/bb-kernel/bb/sdk"

	"example.com/caller/bbclient"
)

func main() {
	ctx := context.Background()
	client, err := sdk.Connect(sdk.Options{})
	check(err)
	greeter, notes := bbclient.NewHelloSlotGreeter(client), bbclient.NewNotesFixtureNotes(client)
	welcome := "Welcome"
	greeting, err := greeter.Greet(ctx, bbclient.HelloSlotGreeterGreetInput{Name: "bb", Salutation: &welcome})
	check(err)
	fmt.Println(greeting.Message)
	_, err = greeter.Greet(ctx, bbclient.HelloSlotGreeterGreetInput{Name: "nobody"})
	fmt.Println(errors.Is(err, bbclient.HelloSlotGreeterCodeMuted))
	_, err = notes.Add(ctx, bbclient.NotesFixtureNotesAddInput{Text: "a note"})
	check(err)
	one := int64(1)
	for ev, err := range notes.Follow(ctx, bbclient.NotesFixtureNotesFollowInput{Limit: &one}, "") {
		check(err)
		fmt.Println(ev.Cursor, ev.Item.Text)
	}
	exact := int64(1)<<53 + 1
	circle := bbclient.NotesFixtureSettingsApplyInputShape{Circle: &bbclient.NotesFixtureSettingsApplyInputShapeCircle{Radius: 2}}
	settings, err := bbclient.NewNotesFixtureSettings(client).Apply(ctx, bbclient.NotesFixtureSettingsApplyInput{
		Title: "t", Count: &exact, Data: []byte("bytes"), Vars: map[string]string{"a": "b"}, Shape: shape(circle),
		Tree: &bbclient.NotesFixtureSettingsApplyTree{Name: "root", Children: []bbclient.NotesFixtureSettingsApplyTree{{Name: "leaf"}}},
	})
	check(err)
	fmt.Println(*settings.Count, string(settings.Data), settings.Vars["a"], settings.Shape.Value.Circle.Radius, settings.Tree.Children[0].Name, *settings.Enabled)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
`,
		"shape.go": `package main

import (
	"github.com/bb-kernel/bb/kernelcontract"

	"example.com/caller/bbclient"
)

func shape(v bbclient.NotesFixtureSettingsApplyInputShape) *kernelcontract.Union[bbclient.NotesFixtureSettingsApplyInputShape] {
	return &kernelcontract.Union[bbclient.NotesFixtureSettingsApplyInputShape]{Value: v}
}
`,
	})
	environ := append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0", "BB_SERVER_URL="+url)
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"gofmt", "-l", "."}, ""},
		{[]string{"go", "vet", "./..."}, ""},
		{[]string{"go", "run", "."}, "Welcome, bb!\ntrue\n1.0 a note\n9007199254740993 bytes b 2 leaf true\n"},
	} {
		cmd := exec.CommandContext(deadline(t), c.words[0], c.words[1:]...)
		cmd.Dir, cmd.Env = dir, environ
		if got := output(t, cmd); got != c.want {
			t.Errorf("%v: got %q, want %q", c.words, got, c.want)
		}
	}
}

// TestGeneratedTypeScript checks a program against the declarations of a running server with the compiler of the language, and runs it
// on the client that belongs to them.
func TestGeneratedTypeScript(t *testing.T) {
	t.Parallel()
	compiler := script(t, "typescript/bin/tsc")
	i := install(t)
	server, url := i.serve(t, "127.0.0.1:0")
	dir := t.TempDir()
	i.bb(t, url, "sdk", "types", "--output", filepath.Join(dir, "bb.d.ts"))
	i.bb(t, url, "sdk", "types", "--lang", "js", "--output", filepath.Join(dir, "bb.js"))
	put(t, dir, map[string]string{
		"package.json":  `{"type": "module"}`,
		"tsconfig.json": `{"compilerOptions": {"strict": true, "target": "es2022", "module": "es2022", "moduleResolution": "bundler", "lib": ["es2022", "dom", "dom.iterable"], "types": []}, "files": ["main.ts"]}`,
		"main.ts": `import { BbError, connect, cursorOf } from "./bb.js";

declare const process: { env: Record<string, string>; exit(code: number): never };
const bb = connect();
const greeter = bb.service("hello-slot/greeter");
const notes = bb.service("notes-fixture/notes");

const greeting = await greeter.greet({ name: "bb", salutation: "Welcome" });
console.log(greeting.message satisfies string);
try {
  await greeter.greet({ name: "" });
} catch (e) {
  if (!(e instanceof BbError)) throw e;
  console.log(e.code, e.status, JSON.stringify(e.issues[0].path), e.retryable, e.callId !== "");
}
await notes.add({ text: "first" });
await notes.add({ text: "second" });
const texts: string[] = [];
let cursor = "";
for await (const note of notes.follow({ limit: 2 })) {
  texts.push(note.text);
  cursor = cursorOf(note);
}
console.log(texts.join(","), cursor);
for await (const note of notes.follow({ limit: 1 }, { since: "1" })) console.log(note.text);
const settings = await bb.service("notes-fixture/settings").apply({ title: "t", count: 9007199254740993n, shape: { kind: "circle", radius: 2 } });
console.log(String(settings.count), settings.shape?.kind, settings.enabled);
const stop = new AbortController();
const waiting = (async () => {
  for await (const note of notes.follow({}, { signal: stop.signal, since: "2" })) console.log("unexpected", note.text);
})();
setTimeout(() => stop.abort(new Error("enough")), 50);
await waiting.catch((e) => console.log(e.message));
await connect({ serverUrl: "http://127.0.0.1:1" }).service("hello-slot/greeter").greet({ name: "x" }).catch((e: unknown) => console.log((e as BbError).code, (e as BbError).status));

// @ts-expect-error: a member that is required is missing
void (() => greeter.greet({}));
// @ts-expect-error: another type
void (() => greeter.greet({ name: 1 }));
// @ts-expect-error: no such service
void (() => bb.service("hello-slot/nobody"));
// @ts-expect-error: no such constant
void (() => bb.service("notes-fixture/settings").apply({ title: "t", color: "pink" }));
// @ts-expect-error: a result is not an input
void (async () => { const n: number = (await greeter.greet({ name: "a" })).message; void n; });
`,
		"follow.mjs": `import { connect } from "./bb.js";
let n = 0;
for await (const note of connect().service("notes-fixture/notes").follow({}, { since: "2" })) {
  console.log(note.text);
  if (++n === 2) process.exit(0);
}
`,
	})
	run := func(command []string, args ...string) *exec.Cmd {
		cmd := i.command(deadline(t), url, "bb")
		cmd.Path, cmd.Args, cmd.Dir = command[0], append(append([]string{}, command...), args...), dir
		return cmd
	}
	if out, err := run(compiler, "-p", ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const want = "Welcome, bb!\ninvalid_input 400 [\"name\"] false true\nfirst,second 2.0\nsecond\n9007199254740993 circle true\nenough\nservice_unavailable 0\n"
	if got := output(t, run(compiler[:1], "main.js")); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// A stream goes on when the server was started again.
	follower := start(t, run(compiler[:1], "follow.mjs"))
	i.bb(t, url, "notes", "add", "third")
	if line := follower.next(t); line != "third" {
		t.Fatal(line)
	}
	server.kill()
	i.serve(t, strings.TrimPrefix(url, "http://"))
	i.bb(t, url, "notes", "add", "fourth")
	if line := follower.next(t); line != "fourth" {
		t.Fatal(line)
	}
}
