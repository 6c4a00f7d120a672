// Package folder keeps installed plugins in a folder: each version of a plugin in a place of its own, so that a new one is
// there whole before it takes over. It unpacks archives and believes nothing of what they say: see docs/spec/plugin-install.md.
//
//	programs, err := folder.Open("/var/lib/bb/plugins", procplugin.Options{})
//	k, err := kernelcore.New(kernelcore.Options{Programs: programs, …})
package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/procplugin"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/contract"
)

// Folder is a folder of installed plugins: <plugin id>/<n> for the n-th version that was unpacked. One kernel uses it at a time. It is safe for
// concurrent use.
type Folder struct {
	dir string // absolute
	o   procplugin.Options

	mu sync.Mutex // guards the choice of a new place
}

var _ kernelcore.Programs = (*Folder)(nil)

// unpacking begins the names of folders that are being filled; what a crash leaves of them is no place.
const unpacking = ".unpacking-"

// Open returns the folder dir, which is made when the first plugin is unpacked. o says how the programs run.
func Open(dir string, o procplugin.Options) (*Folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("the folder of plugins: %w", err)
	}
	return &Folder{dir: abs, o: o}, nil
}

// Unpack implements kernelcore.Programs: it unpacks a .tar.gz or .zip, which is told by its content. The contract is at the root of the archive or
// in the only folder there.
func (f *Folder) Unpack(ctx context.Context, archive string) (place string, err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", fmt.Errorf("the folder of plugins: %w", err)
	}
	tmp, err := os.MkdirTemp(f.dir, unpacking)
	if err != nil {
		return "", fmt.Errorf("the folder of plugins: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := unpack(ctx, archive, tmp); err != nil {
		return "", err
	}
	top, err := topOf(tmp)
	if err != nil {
		return "", err
	}
	c, err := procplugin.ReadContract(top)
	if err != nil {
		return "", kernelcontract.InvalidInput.Errorf("the archive is no plugin: %s", err)
	}
	if err := checkProgram(top, c); err != nil {
		return "", err
	}
	return f.keep(top, c.ID)
}

// topOf returns the folder that has the contract: dir, or the only thing in it.
func topOf(dir string) (string, error) {
	if _, err := os.Lstat(filepath.Join(dir, contract.File)); err == nil {
		return dir, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) == 1 && entries[0].IsDir() {
		return filepath.Join(dir, entries[0].Name()), nil
	}
	return "", kernelcontract.InvalidInput.Errorf("the archive has no %s at its root: a plugin in Go writes an installable folder with --package DIR", contract.File)
}

// checkProgram says whether the program that the contract names is there, when it should be in the folder.
func checkProgram(dir string, c *contract.Contract) error {
	command := c.Command(dir, system())
	if !strings.HasPrefix(command[0], dir) {
		return nil // it is looked up when it is started
	}
	info, err := os.Stat(command[0])
	if err != nil || !info.Mode().IsRegular() {
		name, _ := filepath.Rel(dir, command[0])
		return kernelcontract.InvalidInput.Errorf("the archive has no program %q: build it into the folder, or name another one in the contract's \"run\"", filepath.ToSlash(name))
	}
	if err := os.Chmod(command[0], 0o755); err != nil { // a zip made on Windows says nothing of it
		return err
	}
	return nil
}

// keep moves what was unpacked to a place of its own.
func (f *Folder) keep(from, id string) (place string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir := filepath.Join(f.dir, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the folder of plugins: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("the folder of plugins: %w", err)
	}
	next := 1
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			next = max(next, n+1)
		}
	}
	place = path.Join(id, strconv.Itoa(next))
	if err := os.Rename(from, f.path(place)); err != nil {
		return "", fmt.Errorf("the folder of plugins: %w", err)
	}
	return place, syncDir(dir)
}

func (f *Folder) path(place string) string { return filepath.Join(f.dir, filepath.FromSlash(place)) }

// valid reports whether a place is one that keep makes: nothing else is opened or removed.
func valid(place string) bool {
	id, n, ok := strings.Cut(place, "/")
	_, err := strconv.Atoi(n)
	return ok && err == nil && id != "" && !strings.ContainsAny(id, `./\:`) && !strings.ContainsAny(n, "+-")
}

// Open implements kernelcore.Programs.
func (f *Folder) Open(place string) (*pluginsdk.Plugin, error) {
	if !valid(place) {
		return nil, fmt.Errorf("%.100q is not the place of a plugin", place)
	}
	return procplugin.Open(f.path(place), f.o)
}

// Remove implements kernelcore.Programs.
func (f *Folder) Remove(place string) error {
	if !valid(place) {
		return fmt.Errorf("%.100q is not the place of a plugin", place)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.RemoveAll(f.path(place)); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(f.path(place))) // the plugin's folder, when nothing else is in it
	return nil
}

// Places implements kernelcore.Programs. It also removes what a crash has left of archives that were being unpacked.
func (f *Folder) Places() ([]string, error) {
	plugins, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var places []string
	for _, p := range plugins {
		if strings.HasPrefix(p.Name(), unpacking) {
			if err := os.RemoveAll(filepath.Join(f.dir, p.Name())); err != nil {
				return nil, err
			}
			continue
		}
		if !p.IsDir() {
			continue
		}
		versions, err := os.ReadDir(filepath.Join(f.dir, p.Name()))
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			if place := path.Join(p.Name(), v.Name()); valid(place) {
				places = append(places, place)
			}
		}
	}
	return places, nil
}
