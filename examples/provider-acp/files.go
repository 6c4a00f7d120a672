package acp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/examples/provider-acp/internal/schema"
)

// maxFile is the largest file that an agent reads or writes through the bridge, in bytes. Escaped it still fits a line.
const maxFile = 4 << 20

// workspace is the folders in which an agent may read and write files through the bridge. What it does by itself is the
// business of its own sandbox.
type workspace struct {
	read  []string
	write []string
}

func newWorkspace(p protocol.SessionParams) workspace {
	root := p.Workspace.Root
	if root == "" {
		root = p.Cwd
	}
	w := workspace{read: append([]string{root}, p.Workspace.WriteRoots...), write: p.Workspace.WriteRoots}
	if len(w.write) == 0 {
		w.write = []string{root}
	}
	return w
}

// open opens the folder that holds a path, and names the path below it.
func (w workspace) open(folders []string, path string) (*os.Root, string, error) {
	if !filepath.IsAbs(path) {
		return nil, "", fmt.Errorf("%q is no absolute path", path)
	}
	for _, folder := range folders {
		names := []string{folder}
		if real, err := filepath.EvalSymlinks(folder); err == nil && real != folder {
			names = append(names, real) // agents resolve their working directory
		}
		for _, name := range names {
			if below, err := filepath.Rel(name, path); err == nil && filepath.IsLocal(below) {
				root, err := os.OpenRoot(folder)
				return root, below, err
			}
		}
	}
	return nil, "", fmt.Errorf("%s lies outside of the workspace: %s", path, strings.Join(slices.Compact(folders), ", "))
}

// text reads a whole file.
func (w workspace) text(path string) (string, error) {
	root, name, err := w.open(w.read, path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	about, err := root.Stat(name) // a pipe would be waited for
	if err != nil {
		return "", err
	}
	if !about.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", path)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return string(data), err
}

// readFile answers fs/read_text_file.
func (s *Session) readFile(p schema.FileParams) (any, error) {
	text, err := s.files.text(p.Path)
	if err != nil {
		return nil, fileError(err)
	}
	if p.Line != nil || p.Limit != nil {
		lines := strings.SplitAfter(text, "\n")
		if p.Line != nil {
			lines = lines[min(max(*p.Line-1, 0), len(lines)):]
		}
		if p.Limit != nil {
			lines = lines[:min(max(*p.Limit, 0), len(lines))]
		}
		text = strings.Join(lines, "")
	}
	return map[string]string{"content": strings.ToValidUTF8(text, "\uFFFD")}, nil
}

// writeFile answers fs/write_text_file, and shows what it changed.
func (s *Session) writeFile(p schema.FileParams) (any, error) {
	before, err := s.files.put(p.Path, p.Content)
	if err != nil {
		return nil, fileError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turn; t != nil && t.prompting && !t.stopping && (before == nil || *before != p.Content) {
		t.wrote(s.path(p.Path), before, p.Content)
	}
	return struct{}{}, nil
}

// put writes a file and the folders that it needs. It returns what the file held before, nil when there was none or more
// than is read.
func (w workspace) put(path, content string) (before *string, err error) {
	if len(content) > maxFile {
		return nil, fmt.Errorf("%s would have %d bytes, and at most %d are written", path, len(content), maxFile)
	}
	root, name, err := w.open(w.write, path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if text, err := w.text(path); err == nil {
		before = &text
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
	}
	if about, err := root.Stat(name); err == nil && !about.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	return before, root.WriteFile(name, []byte(content), 0o666)
}

// wrote shows a file that the agent wrote through the bridge: in the call that is about it, or as an item of its own.
func (t *turn) wrote(path string, before *string, content string) {
	for _, c := range slices.Backward(t.order) {
		if c.closed || !c.isEdit() || c.isCommand() {
			continue
		}
		if paths := c.paths(t); len(paths) > 0 && !slices.Contains(paths, path) {
			continue
		}
		if !slices.ContainsFunc(c.changes, func(p protocol.PathChange) bool { return p.Path == path }) {
			c.change(path, before, &content)
			t.send(c.report(t)...)
		}
		return
	}
	c := &call{key: protocol.ItemKey{ProviderItemID: t.s.name("write")}, kind: "edit", title: filepath.Base(path), status: schema.Completed}
	c.change(path, before, &content)
	t.send(c.report(t)...)
}

// fileError is an error of the file system as agents understand it.
func fileError(err error) error {
	code := schema.CodeInvalidParams
	if errors.Is(err, fs.ErrNotExist) {
		code = schema.CodeResourceNotFound
	}
	return &wire.Error{Code: code, Message: err.Error()}
}
