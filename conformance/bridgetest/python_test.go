package bridgetest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/conformance/bridgecheck"
	"github.com/bb-kernel/bb/conformance/bridgetest"
)

// pythonBridge returns the command of a bridge that was written from docs/bridges.md, with nothing of ours in it, with
// an empty state, and its fixture.
func pythonBridge(t *testing.T) (command []string, state string, fixture bridgecheck.Fixture) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to run the bridge with; .ci/run installs one, and allows no skip")
	}
	dir := filepath.Join("..", "testdata", "python-bridge")
	data, err := os.ReadFile(filepath.Join(dir, "fixture.json"))
	if err != nil {
		t.Fatal(err)
	}
	fixture, err = bridgecheck.ParseFixture(data)
	if err != nil {
		t.Fatal(err)
	}
	bridge, err := filepath.Abs(filepath.Join(dir, "bridge.py"))
	if err != nil {
		t.Fatal(err)
	}
	state = t.TempDir()
	return []string{python, bridge, "--state", state}, state, fixture
}

// TestPythonBridge holds the bridge to all rules; none is skipped.
func TestPythonBridge(t *testing.T) {
	command, _, fixture := pythonBridge(t)
	bridgetest.TestBridge(t, command, fixture)
}

// TestPythonBridgeWithALot makes it say a word of 6 MiB that is not ASCII: in pieces, on lines that core still reads.
func TestPythonBridgeWithALot(t *testing.T) {
	command, _, fixture := pythonBridge(t)
	fixture.Profiles = fixture.Profiles[:1]
	fixture.Prompts = bridgecheck.Prompts{Plain: &bridgecheck.Prompt{Input: protocol.Inputs{
		&protocol.TextInput{Text: strings.Repeat("é", 3<<20), Visibility: protocol.VisibleUser},
	}}}
	bridgetest.Test(t, command, fixture, bridgecheck.Options{
		Rules: []string{"turn/lifecycle", "events/schema-valid", "rpc/stdout-clean"},
	})
}

// parrot is the bridge with the test in the place of core.
type parrot struct {
	t       *testing.T
	fixture bridgecheck.Fixture
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	cmd     *exec.Cmd
	last    int
	unread  []heard
}

// patience is how long a bridge may take for all of a test; beyond it the process is killed and the test fails.
const patience = time.Minute

func startParrot(t *testing.T) (p *parrot, state string) {
	t.Helper()
	command, state, fixture := pythonBridge(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	p = &parrot{t: t, fixture: fixture, stdin: stdin, stdout: bufio.NewReader(stdout), cmd: cmd}
	plugin := map[string]any{"id": fixture.Plugin.ID, "name": "core", "version": "1"}
	p.answer(p.request("initialize", map[string]any{
		"protocol": map[string]any{"min": 3, "max": 3}, "client": plugin, "plugin": plugin, "providerIds": fixture.ProviderIDs,
	}))
	return p, state
}

// request sends a request and returns its id as it stands on the wire.
func (p *parrot) request(method string, params any) string {
	p.last++
	id := fmt.Sprint(p.last)
	p.send(id, method, params)
	return id
}

func (p *parrot) send(id, method string, params any) {
	p.t.Helper()
	data, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(p.stdin, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, data); err != nil {
		p.t.Fatal(err)
	}
}

// heard is a line of the bridge.
type heard struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Deltas []delta
	}
	Result, Error json.RawMessage
}

type delta struct{ Kind, Status string }

// until returns the first line that fits of those that were not asked for yet.
func (p *parrot) until(what string, fits func(heard) bool) heard {
	p.t.Helper()
	for i, h := range p.unread {
		if fits(h) {
			p.unread = slices.Delete(p.unread, i, i+1)
			return h
		}
	}
	for {
		line, err := p.stdout.ReadBytes('\n')
		if err != nil {
			p.t.Fatalf("%s did not come: %v", what, err)
		}
		var h heard
		if err := json.Unmarshal(line, &h); err != nil {
			p.t.Fatalf("%v: %.200s", err, line)
		}
		if fits(h) {
			return h
		}
		p.unread = append(p.unread, h)
	}
}

// answer reads up to the answer to a request, which must be a result.
func (p *parrot) answer(id string) json.RawMessage {
	p.t.Helper()
	h := p.until("the answer to "+id, func(h heard) bool { return string(h.ID) == id && h.Method == "" })
	if h.Error != nil {
		p.t.Fatalf("request %.100s failed: %s", id, h.Error)
	}
	return h.Result
}

// settled reads up to a turn.boundary and returns its status.
func (p *parrot) settled() (status string) {
	p.t.Helper()
	p.until("turn.boundary", func(h heard) bool {
		i := slices.IndexFunc(h.Params.Deltas, func(d delta) bool { return d.Kind == "turn.boundary" })
		if i >= 0 {
			status = h.Params.Deltas[i].Status
		}
		return i >= 0
	})
	return status
}

func (p *parrot) session(thread string) map[string]any {
	return map[string]any{
		"threadId": thread, "providerId": p.fixture.ProviderIDs[0], "cwd": "/", "workspace": map[string]any{"root": "/", "writeRoots": []string{}},
		"env": map[string]any{}, "options": p.fixture.Options, "tools": []string{}, "disallowedTools": []string{},
		"instructionMode": "append", "actions": []string{}, "bridgeOptions": map[string]any{},
	}
}

func (p *parrot) start(thread string) (ref map[string]any) {
	p.t.Helper()
	var identity struct{ ProviderThreadID string }
	if err := json.Unmarshal(p.answer(p.request("thread/start", p.session(thread))), &identity); err != nil {
		p.t.Fatal(err)
	}
	return map[string]any{"threadId": thread, "providerThreadId": identity.ProviderThreadID}
}

func with(ref map[string]any, more map[string]any) map[string]any {
	all := map[string]any{}
	for _, m := range []map[string]any{ref, more} {
		for name, value := range m {
			all[name] = value
		}
	}
	return all
}

func (p *parrot) say(ref map[string]any, text string) map[string]any {
	return with(ref, map[string]any{
		"clientRequestId": "client-" + fmt.Sprint(p.last), "options": p.fixture.Options, "actions": []string{},
		"input": []any{map[string]any{"type": "text", "text": text, "mentions": []any{}, "visibility": "user"}},
	})
}

// ended waits for the process to exit by itself.
func (p *parrot) ended() {
	p.t.Helper()
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("the bridge did not end by itself: %v", err)
	}
}

// TestPythonBridgeKeepsIDs sends ids that no number of Python's can hold, and gets back every character.
func TestPythonBridgeKeepsIDs(t *testing.T) {
	p, _ := startParrot(t)
	ref := p.start("thread-1")
	for _, id := range []string{"-1", `"7"`, "9007199254740993", strings.Repeat("9", 5000), "-" + strings.Repeat("8", 5000)} {
		p.send(id, "thread/goal/clear", ref)
		p.answer(id)
	}
}

// TestPythonBridgeKeepsWhatItIsTold gives a session a name and a goal while a turn runs. The end of the turn must not
// forget them.
func TestPythonBridgeKeepsWhatItIsTold(t *testing.T) {
	is := is.New(t)
	p, state := startParrot(t)
	ref := p.start("thread-1")
	p.answer(p.request("turn/start", p.say(ref, "ask")))
	asked := p.until("interaction/request", func(h heard) bool { return h.Method == "interaction/request" })
	for method, more := range map[string]map[string]any{
		"thread/name/set": {"title": "Seeds"}, "thread/goal/set": {"goal": "Eat"}, "thread/archive": {},
	} {
		p.answer(p.request(method, with(ref, more)))
	}
	_, err := fmt.Fprintf(p.stdin, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"answer","answers":{"seed":{"selected":["hemp"],"freeText":null}}}}`+"\n", asked.ID)
	is.NoErr(err)
	is.Equal(p.settled(), "completed")
	data, err := os.ReadFile(filepath.Join(state, ref["providerThreadId"].(string)+".json"))
	is.NoErr(err)
	var kept struct {
		Name, Goal string
		Archived   bool
		Turns      []any
	}
	is.NoErr(json.Unmarshal(data, &kept))
	is.Equal(kept.Name, "Seeds")
	is.Equal(kept.Goal, "Eat")
	is.True(kept.Archived)
	is.Equal(len(kept.Turns), 1)
}

// TestPythonBridgeStopsInOrder sends stop and the next turn in one breath, often: the stop is for the turn before it.
func TestPythonBridgeStopsInOrder(t *testing.T) {
	is := is.New(t)
	p, _ := startParrot(t)
	ref := p.start("thread-1")
	for range 50 {
		begun := p.request("turn/start", p.say(ref, "slow"))
		stopped := p.request("thread/stop", with(ref, map[string]any{"intent": "interrupt"}))
		next := p.request("turn/start", p.say(ref, "next"))
		p.answer(begun)
		is.Equal(p.settled(), "interrupted")
		p.answer(stopped)
		p.answer(next)
		is.Equal(p.settled(), "completed")
	}
}

// TestPythonBridgeEndsUnread has core read no more while the bridge has a lot to say. It ends all the same, with its
// input or when the grace is over.
func TestPythonBridgeEndsUnread(t *testing.T) {
	for name, end := range map[string]func(*parrot){
		"input": func(p *parrot) { _ = p.stdin.Close() },
		"grace": func(p *parrot) { p.request("shutdown", map[string]any{"graceMs": 200}) },
		"input before grace": func(p *parrot) {
			p.request("shutdown", map[string]any{"graceMs": 3_600_000})
			_ = p.stdin.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := startParrot(t)
			ref := p.start("thread-1")
			for range 3 {
				p.request("turn/start", p.say(ref, strings.Repeat("seed ", 1<<18)))
			}
			p.until("a first piece", func(h heard) bool { return len(h.Params.Deltas) > 0 && h.Params.Deltas[0].Kind == "item.text" })
			end(p)
			p.ended()
		})
	}
}
