package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/sdk"
)

// Bounds of watching a plugin's folder.
const (
	// pollEvery is how often the folder is looked at: a person who saves a file waits no longer.
	pollEvery = 300 * time.Millisecond
	// maxWatched is how many files are looked at: more are no plugin, but a home directory.
	maxWatched = 20_000
)

// pluginDev answers `bb plugin dev`: it builds and installs a plugin, and does so again whenever its files change, until it
// is interrupted. What was installed last stays.
func (a *app) pluginDev(input json.RawMessage) int {
	var in struct {
		Dir   string `json:"dir"`
		Build string `json:"build"`
		Once  bool   `json:"once"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return a.fail(asFailure("the input", err), false)
	}
	if in.Dir == "" {
		in.Dir = "."
	}
	dir, err := filepath.Abs(a.path(in.Dir))
	if err != nil {
		return a.fail(asFailure("the folder", err), false)
	}
	client, err := a.connect(nil)
	if err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	tmp, err := os.MkdirTemp("", "bb-plugin-dev-")
	if err != nil {
		return a.fail(asFailure("the folder for what is built", err), false)
	}
	defer os.RemoveAll(tmp)
	w := &workshop{app: a, client: client, dir: dir, build: in.Build, out: tmp}
	seen, err := snapshot(dir)
	if err != nil {
		return a.fail(kernelcontract.InvalidInput.Errorf("the folder %s: %s", in.Dir, err), false)
	}
	last := w.round()
	if in.Once {
		if last != nil {
			return a.fail(last, false)
		}
		return kernelcontract.ExitOK
	}
	if last != nil {
		a.err.print(a.strip(last.Error()))
	}
	defer w.unfollow()
	a.warnf("watching %s; Ctrl-C ends it", in.Dir)
	for {
		select {
		case <-time.After(pollEvery):
		case <-a.ctx.Done():
			if w.id != "" {
				a.warnf("the plugin %s stays installed: bb plugin remove %s", w.id, w.id)
			}
			return kernelcontract.ExitInterrupted
		}
		now, err := snapshot(dir)
		if err != nil {
			a.warnf("the folder cannot be read: %v", err)
			continue
		}
		if same(seen, now) {
			continue
		}
		seen = now
		if e := w.round(); e != nil {
			a.err.print(a.strip(e.Error()))
			a.warnf("what was installed before runs on")
		}
	}
}

// workshop builds and installs one plugin.
type workshop struct {
	app     *app
	client  *sdk.Client
	dir     string
	build   string // a command of the author's; "": that of a plugin in Go
	out     string
	id      string // "": nothing is installed yet
	stopLog func()
}

// round builds and installs the plugin as it is now.
func (w *workshop) round() *kernelcontract.Error {
	began := time.Now()
	folder, err := w.built(w.app.ctx)
	if err != nil {
		return kernelcontract.AsError(err)
	}
	file, size, err := w.app.archive(folder)
	if err != nil {
		return kernelcontract.AsError(err)
	}
	defer file.Close()
	upload, err := w.client.Upload(w.app.ctx, file, size)
	if err != nil {
		return kernelcontract.AsError(err)
	}
	info, err := kernelapi.InstallPlugin.Call(w.app.ctx, w.client, kernelapi.InstallInput{UploadID: upload})
	if err != nil {
		return kernelcontract.AsError(err)
	}
	w.app.out.print(fmt.Sprintf("%s %s is %s, after %s", info.ID, info.Version, info.State, time.Since(began).Round(10*time.Millisecond)))
	detail, err := kernelapi.ShowPlugin.Call(w.app.ctx, w.client, kernelapi.PluginInput{ID: info.ID})
	if err == nil {
		for _, problem := range detail.Problems {
			w.app.err.print(w.app.strip("problem: " + problem))
		}
	}
	if w.id != info.ID {
		w.follow(info.ID)
	}
	return nil
}

// built builds the plugin and returns the folder to be installed.
func (w *workshop) built(ctx context.Context) (string, error) {
	if w.build != "" {
		name, flag := "sh", "-c"
		if runtime.GOOS == "windows" {
			name, flag = "cmd", "/C"
		}
		return w.dir, w.run(ctx, name, flag, w.build)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "go.mod")); err != nil {
		return w.dir, nil // whatever is there: the server says what is missing
	}
	main, err := mainPackage(w.dir)
	if err != nil {
		return "", err
	}
	program := filepath.Join(w.out, "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := w.run(ctx, "go", "build", "-o", program, main); err != nil {
		return "", err
	}
	folder := filepath.Join(w.out, "package")
	return folder, w.run(ctx, program, "--package", folder)
}

// mainPackage returns the program of a module: the folder itself, or the only one below cmd.
func mainPackage(dir string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "cmd"))
	if errors.Is(err, fs.ErrNotExist) {
		return ".", nil
	}
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, "./cmd/"+e.Name())
		}
	}
	switch len(names) {
	case 0:
		return ".", nil
	case 1:
		return names[0], nil
	}
	return "", kernelcontract.InvalidInput.Errorf("there are several programs: say with --build how the plugin is built: %s", strings.Join(names, ", "))
}

// run runs a step of the build. What it says is shown when it fails.
func (w *workshop) run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = w.dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return kernelcontract.InvalidInput.Errorf("the build failed: %s: %s\n%s", filepath.Base(name), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// follow shows what the plugin logs from now on.
func (w *workshop) follow(id string) {
	w.unfollow()
	w.id = id
	ctx, cancel := context.WithCancel(w.app.ctx)
	done := make(chan struct{})
	w.stopLog = func() {
		cancel()
		<-done
	}
	go func() { // ends with stopLog
		defer close(done)
		for l, err := range kernelapi.PluginLogs.Stream(ctx, w.client, kernelapi.LogsInput{ID: id, Limit: 1, Follow: true}) {
			if err != nil {
				return // the plugin is gone, or so is the server: the next round says so
			}
			w.app.err.print(w.app.strip(kernelapi.PluginLogs.RenderText(l, kernelcontract.Render{})))
		}
	}()
}

func (w *workshop) unfollow() {
	if w.stopLog != nil {
		w.stopLog()
		w.stopLog = nil
	}
}

// stamp is what a file looks like from outside.
type stamp struct {
	size int64
	time time.Time
}

// snapshot looks at the files that a plugin is made of. Folders of tools, and what is built, are left out.
func snapshot(dir string) (map[string]stamp, error) {
	files := map[string]stamp{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != dir:
			return nil // it went while we looked
		case err != nil:
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != dir && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "build" || base == "__pycache__") {
				return fs.SkipDir
			}
			return nil
		}
		if len(files) == maxWatched {
			return fmt.Errorf("it has more than %d files: name the folder of one plugin", maxWatched)
		}
		info, err := d.Info()
		if err != nil {
			return nil // as above
		}
		files[name] = stamp{info.Size(), info.ModTime()}
		return nil
	})
	return files, err
}

func same(a, b map[string]stamp) bool {
	if len(a) != len(b) {
		return false
	}
	for name, s := range a {
		if other, ok := b[name]; !ok || other.size != s.size || !other.time.Equal(s.time) {
			return false
		}
	}
	return true
}
