// Package stage prepares the modules of the repository as they are published: on a copy, never in the work tree.
//
// In the copy every module loses its replace lines, requires its siblings at the versions of versions.yaml, is tidied
// against a module proxy in a folder that already holds those siblings, is committed, and is then zipped into that
// folder exactly as the public proxy would zip the tag.
package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/bb-kernel/bb/tools/internal/modset"
)

// Stage is a copy of the repository with a module proxy beside it.
type Stage struct {
	Repo  string // the copy, a git repository
	Proxy string // folder laid out as a module proxy: PATH/@v/VERSION.zip
	Cache string // module cache of its own, so that nothing but the proxy can provide a sibling
}

// FromWorkTree copies the files of the work tree at root that git tracks or would track, changed or not, into dir.
func FromWorkTree(ctx context.Context, root, dir string) (*Stage, error) {
	s := layout(dir)
	list, err := Run(ctx, root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(s.Repo, name)); err != nil {
			return nil, err
		}
	}
	if _, err := Run(ctx, s.Repo, nil, "git", "init", "-q"); err != nil {
		return nil, err
	}
	return s, s.Commit(ctx, "Stage the work tree")
}

// FromHead clones the last commit of the repository at root into dir.
func FromHead(ctx context.Context, root, dir string) (*Stage, error) {
	s := layout(dir)
	_, err := Run(ctx, dir, nil, "git", "clone", "-q", "--no-tags", "file://"+filepath.ToSlash(root), s.Repo)
	return s, err
}

func layout(dir string) *Stage {
	return &Stage{Repo: filepath.Join(dir, "repo"), Proxy: filepath.Join(dir, "proxy"), Cache: filepath.Join(dir, "modcache")}
}

// Commit records everything in the copy.
func (s *Stage) Commit(ctx context.Context, message string) error {
	if _, err := Run(ctx, s.Repo, nil, "git", "add", "--all"); err != nil {
		return err
	}
	_, err := Run(ctx, s.Repo, nil, "git", "-c", "user.name=release", "-c", "user.email=release@localhost",
		"-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "--no-verify", "-m", message)
	return err
}

// Publish prepares m in the copy and writes it to the proxy. Its siblings must be published already.
func (s *Stage) Publish(ctx context.Context, m modset.Module, versions map[string]string) error {
	dir := filepath.Join(s.Repo, filepath.FromSlash(m.Dir))
	if err := require(filepath.Join(dir, "go.mod"), versions); err != nil {
		return err
	}
	env, err := s.Env(ctx)
	if err != nil {
		return err
	}
	if _, err := Run(ctx, dir, env, "go", "mod", "tidy"); err != nil {
		return err
	}
	if err := s.Commit(ctx, "Release "+m.Tag()); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	return s.write(m, "HEAD", data)
}

// PublishTagged writes m to the proxy as its tag has it, for siblings that are released already.
func (s *Stage) PublishTagged(ctx context.Context, m modset.Module) error {
	if _, err := Run(ctx, s.Repo, nil, "git", "fetch", "-q", "origin", "refs/tags/"+m.Tag()+":refs/tags/"+m.Tag()); err != nil {
		return err
	}
	gomod, err := Run(ctx, s.Repo, nil, "git", "show", m.Tag()+":"+m.Dir+"/go.mod")
	if err != nil {
		return err
	}
	return s.write(m, m.Tag(), []byte(gomod))
}

// require drops the replace lines of a go.mod and sets the versions of the siblings.
func require(file string, versions map[string]string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mod, err := modfile.Parse(file, data, nil)
	if err != nil {
		return err
	}
	for _, r := range mod.Replace {
		if !strings.HasPrefix(r.Old.Path, modset.Prefix) {
			return fmt.Errorf("%s: replaces %s, which is not ours: a release must not need that", file, r.Old.Path)
		}
		if err := mod.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	for _, r := range mod.Require {
		if v := versions[r.Mod.Path]; v != "" {
			if err := mod.AddRequire(r.Mod.Path, v); err != nil {
				return err
			}
		}
	}
	mod.Cleanup()
	out, err := mod.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(file, out, 0o644)
}

// write puts the four files of one version into the proxy, zipped from a revision of the copy.
func (s *Stage) write(m modset.Module, revision string, gomod []byte) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := zip.CreateFromVCS(&archive, m.ID(), s.Repo, revision, m.Dir); err != nil {
		return fmt.Errorf("zip %s: %w", m.Tag(), err)
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		m.Version + ".zip":  archive.Bytes(),
		m.Version + ".mod":  gomod,
		m.Version + ".info": info,
		"list":              []byte(m.Version + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Unzip unpacks a published module into dir, which must be empty.
func (s *Stage) Unzip(m modset.Module, dir string) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	return zip.Unzip(dir, m.ID(), filepath.Join(s.Proxy, filepath.FromSlash(escaped), "@v", m.Version+".zip"))
}

// Env is the environment in which only the stage's proxy provides our modules and nothing reaches the network: modules
// of others come from what the machine's module cache has already downloaded. -trimpath keeps the build cache of use
// although every stage has another path.
func (s *Stage) Env(ctx context.Context) ([]string, error) {
	cache, err := Run(ctx, s.Repo, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	downloads := filepath.ToSlash(filepath.Join(strings.TrimSpace(cache), "cache", "download"))
	return []string{
		// A module from a zip has no version control, whatever folder it is unpacked below.
		"GOWORK=off", "GOSUMDB=off", "GOFLAGS=-mod=mod -trimpath -buildvcs=false",
		"GOMODCACHE=" + s.Cache,
		"GOPROXY=" + fileURL(s.Proxy) + "," + fileURL(downloads) + ",off",
	}, nil
}

// Clean removes the stage's module cache, which the go command writes read-only.
func (s *Stage) Clean(ctx context.Context) error {
	_, err := Run(ctx, s.Repo, []string{"GOMODCACHE=" + s.Cache, "GOFLAGS="}, "go", "clean", "-modcache")
	return err
}

// fileURL is the address of a folder: file:///C:/x on Windows.
func fileURL(dir string) string {
	dir = filepath.ToSlash(dir)
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir
	}
	return "file://" + dir
}

// Run runs a command in dir with env added to the environment and returns what it wrote to stdout. The error holds
// both outputs.
func Run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s (in %s): %w\n%s%s", name, strings.Join(args, " "), dir, err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// copyFile copies one regular file with its mode. A file that git lists but the work tree has lost is left out.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a folder: modules hold only regular files", from)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
