package record_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/record"
	"github.com/matryer/is"
)

// conversation is a short exchange between core and a bridge: whether the bridge sent it, and the line.
var conversation = []struct {
	sent bool
	line string
}{
	{false, `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"providerIds":["echo","other"]}}`},
	{true, `{"jsonrpc":"2.0","id":"a","result":{"protocol":3}}`},
	{false, `{"jsonrpc":"2.0","id":"b","method":"thread/start","params":{"threadId":"T/1","providerId":"other"}}`},
	{true, `{"jsonrpc":"2.0","method":"thread/identity","params":{"threadId":"T/1"}}`},
	{true, `{"jsonrpc":"2.0","id":"b","result":{"providerThreadId":"p"}}`},
	{true, `{"jsonrpc":"2.0","id":1,"method":"tool/call","params":{"threadId":"T/1"}}`},
	{false, `{"jsonrpc":"2.0","id":1,"result":{}}`},
	{true, `{"jsonrpc":"2.0","method":"bridge/log","params":{"threadId":"nobody"}}`},
	{true, `no JSON at all`},
	{false, `{"jsonrpc":"2.0","id":"c","method":"shutdown","params":{"graceMs":0}}`},
}

func recorded(t *testing.T, dir string, env ...string) {
	t.Helper()
	is := is.New(t)
	r, err := record.New(record.Options{Dir: dir, Env: append(env, "HOME=/")})
	is.NoErr(err)
	c := r.Connect(record.BridgeToCore, record.CoreToBridge, "echo")
	for _, l := range conversation {
		c.Tee(l.sent, []byte(l.line))
	}
	is.NoErr(r.Close())
}

func lines(entries []record.Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Line)
	}
	return all
}

func TestLinesGoToTheFolderOfTheirThread(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	recorded(t, dir)

	thread, err := record.Read(dir, "other", "T/1")
	is.NoErr(err)
	is.Equal(lines(thread.Entries), []string{
		conversation[2].line, conversation[3].line, conversation[4].line, conversation[5].line, conversation[6].line,
	}) // its requests, notifications and answers of both lanes, merged
	is.Equal(lines(thread.Lane(record.CoreToBridge)), []string{conversation[2].line, conversation[6].line})

	process, err := record.Read(dir, "echo", "")
	is.NoErr(err)
	is.Equal(lines(process.Entries), []string{
		conversation[0].line, conversation[1].line, conversation[7].line, conversation[8].line, conversation[9].line,
	}) // no thread, an unknown thread, no JSON

	seqs := map[uint64]bool{}
	for _, e := range append(thread.Entries, process.Entries...) {
		is.Equal(e.Run, thread.Entries[0].Run)
		is.True(!seqs[e.Seq]) // one counter over all lanes
		seqs[e.Seq] = true
		is.True(time.Since(e.Time) < time.Hour)
	}
	is.Equal(len(seqs), len(conversation))
}

func TestFilesBelongToTheirOwner(t *testing.T) {
	is := is.New(t)
	dir := filepath.Join(t.TempDir(), "made")
	recorded(t, dir)
	files := 0
	is.NoErr(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		is.NoErr(err)
		if d.IsDir() {
			return nil
		}
		files++
		info, err := d.Info()
		is.NoErr(err)
		if runtime.GOOS != "windows" {
			is.Equal(info.Mode().Perm(), fs.FileMode(0o600))
		}
		is.True(strings.HasSuffix(path, ".ndjson"))
		return nil
	}))
	is.Equal(files, 4)
}

func TestEveryLineIsInTheFileAtOnce(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	r, err := record.New(record.Options{Dir: dir})
	is.NoErr(err)
	for n := 1; n <= 3; n++ {
		is.NoErr(r.Append(record.ProviderToBridge, "echo", "t", []byte("{}")))
		now, err := record.Read(dir, "echo", "t") // while the recorder is open
		is.NoErr(err)
		is.Equal(len(now.Entries), n)
	}
	is.NoErr(r.Close())
	is.NoErr(r.Close()) // again
	is.NoErr(r.Append(record.ProviderToBridge, "echo", "t", []byte("{}")))
	after, err := record.Read(dir, "echo", "t")
	is.NoErr(err)
	is.Equal(len(after.Entries), 3) // nothing after Close
}

func TestRunsAreAppended(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	recorded(t, dir)
	recorded(t, dir)
	thread, err := record.Read(dir, "other", "T/1")
	is.NoErr(err)
	is.Equal(len(thread.Entries), 10)
	is.True(thread.Entries[4].Run != thread.Entries[5].Run)
	is.Equal(thread.Entries[0].Line, thread.Entries[5].Line)
}

func TestSecretsAreRedacted(t *testing.T) {
	const secret = `s3cr"et\välue<x>`
	asJSON, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(asJSON))
	for name, test := range map[string]struct {
		env, line string
		hidden    bool
	}{
		"as it is":              {"API_KEY=" + secret, "banner " + secret, true},
		"in a JSON string":      {"API_KEY=" + secret, `{"a":` + string(asJSON) + `}`, true},
		"in JSON in a string":   {"API_KEY=" + secret, `{"a":` + string(twice) + `}`, true},
		"with other escapes":    {"API_KEY=plainvalue", `{"a":"x plain\u0076alue"}`, true},
		"every letter escaped":  {"API_KEY=aaaabbbb", `{"a":"\u0061\u0061\u0061\u0061\u0062\u0062\u0062\u0062"}`, true},
		"name with TOKEN":       {"gh_token_2=12345678", "12345678", true},
		"name with SECRET":      {"MYSECRET=12345678", "12345678", true},
		"name with PASSWORD":    {"DB_PASSWORD=12345678", "12345678", true},
		"a part of another one": {"A_KEY=12345678", "a 1234567890 b", true},
		"seven bytes":           {"API_KEY=1234567", "1234567", false},
		"another name":          {"HOME=/home/user", "/home/user", false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			dir := t.TempDir()
			r, err := record.New(record.Options{Dir: dir, Env: []string{test.env}})
			is.NoErr(err)
			is.NoErr(r.Append(record.BridgeToCore, "echo", "t", []byte(test.line)))
			is.NoErr(r.Close())
			got, err := record.Read(dir, "echo", "t")
			is.NoErr(err)
			_, value, _ := strings.Cut(test.env, "=")
			is.Equal(strings.Contains(got.Entries[0].Line, "[redacted]"), test.hidden)
			if test.hidden {
				is.True(!strings.Contains(got.Entries[0].Line, value))
				if test.line[0] == '{' {
					is.True(json.Valid([]byte(got.Entries[0].Line))) // still JSON
				}
			} else {
				is.Equal(got.Entries[0].Line, test.line)
			}
		})
	}
	t.Run("two secrets of which one begins the other", func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		r, err := record.New(record.Options{Dir: dir, Env: []string{"A_KEY=12345678", "B_KEY=1234567890"}})
		is.NoErr(err)
		is.NoErr(r.Append(record.BridgeToCore, "echo", "t", []byte("1234567890")))
		is.NoErr(r.Close())
		got, err := record.Read(dir, "echo", "t")
		is.NoErr(err)
		is.Equal(got.Entries[0].Line, "[redacted]")
	})
}

func TestIDsFromOutsideStayInsideTheDirectory(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	r, err := record.New(record.Options{Dir: filepath.Join(dir, "in")})
	is.NoErr(err)
	ids := []string{"..", ".", "../../x", "/etc/passwd", `a\b`, "a/b", "A", "a", "a:b", "a.", "con", "com1.x", "_process", "", "=", strings.Repeat("x", 1000), strings.Repeat("x", 1001), "\x00", "\xff"}
	for n, id := range ids {
		is.NoErr(r.Append(record.BridgeToCore, id, "x"+id, []byte{byte('a' + n)}))
		is.NoErr(r.Append(record.BridgeToCore, "echo", id, []byte{byte('a' + n)}))
	}
	is.NoErr(r.Close())
	for n, id := range ids {
		got, err := record.Read(filepath.Join(dir, "in"), "echo", id)
		is.NoErr(err)
		is.Equal(lines(got.Entries), []string{string(rune('a' + n))}) // different ids, different files
	}
	outside, err := os.ReadDir(dir)
	is.NoErr(err)
	is.Equal(len(outside), 1)
}

func TestManyThreadsNeedFewFiles(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	r, err := record.New(record.Options{Dir: dir})
	is.NoErr(err)
	var writers sync.WaitGroup
	for n := range 200 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			id := strings.Repeat("t", n+1)[:min(n+1, 100)] + string(rune('a'+n%26))
			for range 5 {
				r.Append(record.CoreToBridge, "echo", id, []byte("{}"))
			}
		}()
	}
	writers.Wait()
	is.NoErr(r.Close())
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	_, err := record.Read(dir, "echo", "t")
	is.True(err != nil && strings.Contains(err.Error(), record.Variable)) // nothing there: was it switched on?

	recorded(t, dir)
	name := filepath.Join(dir, "echo", "_process", "bridge-to-core.ndjson")
	whole, err := os.ReadFile(name)
	is.NoErr(err)
	is.NoErr(os.WriteFile(name, whole[:len(whole)-5], 0o600)) // the process was killed while it wrote
	cut, err := record.Read(dir, "echo", "")
	is.NoErr(err)
	is.Equal(len(cut.Entries), 4)

	is.NoErr(os.WriteFile(name, append([]byte("{}\n"), whole...), 0o600))
	_, err = record.Read(dir, "echo", "")
	is.True(err != nil && strings.Contains(err.Error(), "line 1: not an entry"))
	is.NoErr(os.WriteFile(name, append(whole, "junk\n"...), 0o600))
	_, err = record.Read(dir, "echo", "")
	is.True(err != nil && strings.Contains(err.Error(), "line 4: "))
}

func TestNoDirectoryNoRecorder(t *testing.T) {
	is := is.New(t)
	t.Setenv(record.Variable, "")
	r, err := record.FromEnv()
	is.NoErr(err)
	is.True(r == nil)
	is.NoErr(r.Append(record.CoreToBridge, "echo", "t", nil)) // a nil recorder records nothing
	r.Connect(record.CoreToBridge, record.BridgeToCore, "echo").Tee(true, []byte("{}"))
	is.NoErr(r.Close())

	dir := filepath.Join(t.TempDir(), "new")
	t.Setenv(record.Variable, dir)
	r, err = record.FromEnv()
	is.NoErr(err)
	is.NoErr(r.Close())

	file := filepath.Join(t.TempDir(), "file")
	is.NoErr(os.WriteFile(file, nil, 0o600))
	t.Setenv(record.Variable, file)
	_, err = record.FromEnv()
	is.True(err != nil && strings.Contains(err.Error(), record.Variable))
}

func TestAFailureStopsTheRecording(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	is.NoErr(os.WriteFile(filepath.Join(dir, "echo"), nil, 0o600)) // where a folder should be
	r, err := record.New(record.Options{Dir: dir})
	is.NoErr(err)
	is.True(r.Append(record.CoreToBridge, "echo", "t", []byte("{}")) != nil)
	is.True(r.Append(record.CoreToBridge, "other", "t", []byte("{}")) != nil) // a gap would look like a whole recording
	is.True(r.Close() != nil)
}

func FuzzTee(f *testing.F) {
	for _, l := range conversation {
		f.Add(l.sent, []byte(l.line))
	}
	dir := f.TempDir()
	r, err := record.New(record.Options{Dir: dir, Env: []string{"A_KEY=12345678"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { r.Close() })
	c := r.Connect(record.BridgeToCore, record.CoreToBridge, "echo")
	f.Fuzz(func(t *testing.T, sent bool, line []byte) {
		c.Tee(sent, line)
		if err := r.Append(record.CoreToBridge, string(line), string(line), line); err != nil {
			t.Fatal(err)
		}
		got, err := record.Read(dir, string(line), string(line))
		if err != nil {
			t.Fatal(err)
		}
		if last := got.Entries[len(got.Entries)-1].Line; strings.Contains(last, "12345678") {
			t.Fatalf("a secret is in %q", last)
		}
	})
}
