// Release prepares the release that versions.yaml describes: it checks the versions, drops the replace lines and sets
// the siblings' versions on a clone of the last commit, verifies each module there, and tags it.
//
//	go run . [-root DIR] [-dry-run=false]
//
// By default it only prints the plan. With -dry-run=false it needs a clean work tree, and then fetches the release
// commit and its tags (kernelcontract/v0.1.0, …) from the clone into the repository. It never pushes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/bb-kernel/bb/tools/internal/modset"
	"github.com/bb-kernel/bb/tools/internal/stage"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	dry := flag.Bool("dry-run", true, "only print the plan")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, *dry); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, dry bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	modules, err := modset.Load(root)
	if err != nil {
		return err
	}
	due, err := plan(ctx, root, modules, dry)
	if err != nil {
		return err
	}
	for _, m := range modules {
		action := "tag"
		if !due[m.Set] {
			action = "keep, already tagged:"
		}
		fmt.Printf("%s %s\n", action, m.Tag())
		for _, s := range m.Siblings {
			fmt.Printf("\trequires %s\n", tagOf(modules, s))
		}
	}
	if dry {
		fmt.Println("dry run: nothing was written; -dry-run=false tags")
		return nil
	}
	if len(due) == 0 {
		return errors.New("every version in versions.yaml is tagged already: raise one first")
	}
	return tag(ctx, root, modules, due)
}

// plan tells which module sets are to be tagged. A set with only some of its tags is an error.
func plan(ctx context.Context, root string, modules []modset.Module, dry bool) (map[string]bool, error) {
	list, err := stage.Run(ctx, root, nil, "git", "tag", "--list")
	if err != nil && !dry {
		return nil, err
	}
	if err != nil { // a plan can be made without git, or outside a repository
		fmt.Println("no tags are known, git does not list them")
	}
	have := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		have[name] = true
	}
	tagged, due := map[string]string{}, map[string]bool{}
	for _, m := range modules {
		if have[m.Tag()] {
			tagged[m.Set] = m.Tag()
		} else {
			due[m.Set] = true
		}
	}
	var problems []error
	for set, name := range tagged {
		if due[set] {
			problems = append(problems, fmt.Errorf("set %q is half tagged (%s exists): raise its version in versions.yaml", set, name))
		}
	}
	return due, errors.Join(problems...)
}

// tag makes the release commit in a clone, verifies every due module there, and brings its tags into the repository.
func tag(ctx context.Context, root string, modules []modset.Module, due map[string]bool) (err error) {
	dirty, err := stage.Run(ctx, root, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if dirty != "" {
		return fmt.Errorf("the work tree has changes: commit or remove them first\n%s", dirty)
	}
	dir, err := os.MkdirTemp("", "bb-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := stage.FromHead(ctx, root, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Clean(context.WithoutCancel(ctx))) }()

	base, err := stage.Run(ctx, s.Repo, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	versions := modset.Versions(modules)
	for _, m := range modules {
		publish := s.PublishTagged
		if due[m.Set] {
			publish = func(ctx context.Context, m modset.Module) error { return s.Publish(ctx, m, versions) }
		}
		if err := publish(ctx, m); err != nil {
			return err
		}
	}
	env, err := s.Env(ctx)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if !due[m.Set] {
			continue
		}
		alone := filepath.Join(dir, "alone", filepath.FromSlash(m.Dir))
		if err := s.Unzip(m, alone); err != nil {
			return err
		}
		for _, verb := range []string{"build", "vet"} {
			if _, err := stage.Run(ctx, alone, env, "go", verb, "./..."); err != nil {
				return err
			}
		}
	}
	if _, err := stage.Run(ctx, s.Repo, nil, "git", "reset", "-q", "--soft", strings.TrimSpace(base)); err != nil {
		return err
	}
	if err := s.Commit(ctx, "Release\n\nDrop the replace lines and require the released siblings."); err != nil {
		return err
	}
	fetch := []string{"fetch", "-q", "--no-tags", s.Repo}
	for _, m := range modules {
		if !due[m.Set] {
			continue
		}
		if _, err := stage.Run(ctx, s.Repo, nil, "git", "tag", m.Tag()); err != nil {
			return err
		}
		fetch = append(fetch, "refs/tags/"+m.Tag()+":refs/tags/"+m.Tag())
	}
	if _, err := stage.Run(ctx, root, nil, "git", fetch...); err != nil {
		return err
	}
	fmt.Println("tagged; publish with: git push origin --tags")
	return nil
}

// tagOf is the tag of the module with that path.
func tagOf(modules []modset.Module, path string) string {
	for _, m := range modules {
		if m.Path == path {
			return m.Tag()
		}
	}
	return path
}
