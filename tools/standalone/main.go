// Standalone proves that every module of the repository works outside it.
//
// It publishes each module of versions.yaml into a module proxy in a folder, as a release would, and then, with that
// folder as the only source of our modules and a fresh module cache, builds, vets and tests each one alone from its
// zip. Last it builds and runs a program that is in no workspace and embeds the kernel with hello-slot.
//
//	go run . [-root DIR] [-keep] [MODULE-DIR...]
//
// With arguments only the named modules are tested; all are published. -keep leaves the stage in place.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bb-kernel/bb/tools/internal/modset"
	"github.com/bb-kernel/bb/tools/internal/stage"
)

// outside is the program that embeds the kernel from its published modules.
//
//go:embed testdata/outside
var outside embed.FS

func main() {
	root := flag.String("root", "..", "root of the repository")
	keep := flag.Bool("keep", false, "leave the stage in place and print where it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := prove(ctx, *root, *keep, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "standalone:", err)
		os.Exit(1)
	}
}

func prove(ctx context.Context, root string, keep bool, only []string) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	modules, err := modset.Load(root)
	if err != nil {
		return err
	}
	for _, dir := range only {
		if !slices.ContainsFunc(modules, func(m modset.Module) bool { return m.Dir == dir }) {
			return fmt.Errorf("no released module has the folder %q", dir)
		}
	}
	dir, err := os.MkdirTemp("", "bb-standalone-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Println("stage:", dir)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	s, err := stage.FromWorkTree(ctx, root, dir)
	if err != nil {
		return err
	}
	if !keep {
		defer func() { err = errors.Join(err, s.Clean(context.WithoutCancel(ctx))) }()
	}
	versions := modset.Versions(modules)
	for _, m := range modules {
		if err := timed("publish "+m.Tag(), func() error { return s.Publish(ctx, m, versions) }); err != nil {
			return err
		}
	}
	env, err := s.Env(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, m := range modules {
		if len(only) > 0 && !slices.Contains(only, m.Dir) {
			continue
		}
		alone := filepath.Join(dir, "alone", filepath.FromSlash(m.Dir))
		failed = append(failed, timed("alone   "+m.Tag(), func() error {
			if err := s.Unzip(m, alone); err != nil {
				return err
			}
			for _, args := range [][]string{{"build", "./..."}, {"vet", "./..."}, {"test", "./..."}} {
				if _, err := stage.Run(ctx, alone, env, "go", args...); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	failed = append(failed, timed("outside program", func() error { return embedder(ctx, env, versions, filepath.Join(dir, "outside")) }))
	return errors.Join(failed...)
}

// embedder builds and runs the outside program as its author would: a new module, go get, go run.
func embedder(ctx context.Context, env []string, versions map[string]string, dir string) error {
	const source = "testdata/outside"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files, err := fs.ReadDir(outside, source)
	if err != nil {
		return err
	}
	for _, f := range files {
		data, err := fs.ReadFile(outside, path.Join(source, f.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), data, 0o644); err != nil {
			return err
		}
	}
	steps := [][]string{{"mod", "init", "example.com/outside"}, {"get"}, {"mod", "tidy"}, {"vet", "."}}
	for _, name := range []string{"kernelcontract", "pluginsdk", "kernelcore", "examples/hello-slot"} {
		steps[1] = append(steps[1], modset.Prefix+name+"@"+versions[modset.Prefix+name])
	}
	for _, args := range steps {
		if _, err := stage.Run(ctx, dir, env, "go", args...); err != nil {
			return err
		}
	}
	out, err := stage.Run(ctx, dir, env, "go", "run", ".")
	if err != nil {
		return err
	}
	if want := "in process: Hello, bb!\nover HTTP: Hello, bb!\n"; out != want {
		return fmt.Errorf("the outside program printed %q, want %q", out, want)
	}
	return nil
}

// timed runs one step and prints its name, its outcome and its time.
func timed(name string, step func() error) error {
	start := time.Now()
	err := step()
	outcome := "ok"
	if err != nil {
		outcome = "FAILED"
		err = fmt.Errorf("%s: %w", strings.TrimSpace(name), err)
	}
	fmt.Printf("%-42s %-6s %5.1fs\n", name, outcome, time.Since(start).Seconds())
	return err
}
