package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
)

// Limits of skills. Agents read them whole.
const (
	// MaxSkillFile bounds a file of a skill, in bytes: as a chapter of a guide.
	MaxSkillFile = 256 << 10
	// MaxSkillFiles bounds the files of one skill.
	MaxSkillFiles = 256
)

// skillFile is what makes a folder a skill.
const skillFile = "SKILL.md"

// configureSkills gives a session the skills of the plugins and the text about bb itself. A session without them works,
// so that a failure is a warning.
func (t *thread) configureSkills(ctx context.Context, s *session) {
	if !s.bridge.Declaration.Skills.Configure {
		return
	}
	roots, err := t.e.stageSkills(ctx)
	if err == nil {
		err = s.bridge.SkillsConfigure(ctx, protocol.SkillsConfigureParams{ThreadID: t.id, Roots: roots})
	}
	if err != nil && ctx.Err() == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		_ = t.commit(t.note("", protocol.WarningConfig, "the agent has no skills of the plugins", messageOf(err)))
	}
}

// stageSkills writes the skills of the current composition into a directory of the generation, once, and returns them.
func (e *Engine) stageSkills(ctx context.Context) ([]protocol.SkillRoot, error) {
	e.staging.Lock()
	defer e.staging.Unlock()
	generation := e.kernel.Generation()
	if e.staged != nil && e.stagedFor == generation {
		return e.staged, nil
	}
	base := filepath.Join(e.kernel.DataDir(), "skills-staged")
	dir := filepath.Join(base, strconv.FormatUint(generation, 10))
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	roots := []protocol.SkillRoot{}
	system := e.kernel.As(kernelcontract.Principal{Actor: string(kernelcontract.System) + ":threads"})
	text, err := kernelapi.GetSkill.Call(ctx, system, kernelapi.SkillInput{ActiveTools: e.toolNames()})
	if err != nil {
		return nil, err
	}
	own := filepath.Join(dir, "bb")
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(own, skillFile), []byte(text), 0o600); err != nil {
		return nil, err
	}
	roots = append(roots, protocol.SkillRoot{ID: "bb", Path: own, Label: "bb"})
	for _, skill := range e.kernel.Skills() {
		to := filepath.Join(dir, skill.PluginID, skill.Name)
		if err := stage(skill.FS, to); err != nil {
			return nil, fmt.Errorf("the skill %s of the plugin %s: %w", skill.Name, skill.PluginID, err)
		}
		roots = append(roots, protocol.SkillRoot{ID: skill.PluginID + "/" + skill.Name, Path: to, Label: skill.Name})
	}
	e.removeStaged(base, filepath.Base(dir))
	e.staged, e.stagedFor = roots, generation
	return roots, nil
}

// removeStaged removes the skills of generations that no longer matter; agents of the last one may still read theirs.
func (e *Engine) removeStaged(base, current string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if name := entry.Name(); name != current && name != strconv.FormatUint(e.stagedFor, 10) {
			if err := os.RemoveAll(filepath.Join(base, name)); err != nil {
				e.log.Warn("old skills could not be removed", "error", err)
			}
		}
	}
}

func (e *Engine) toolNames() []string {
	names := []string{}
	for _, spec := range e.kernel.Tools() {
		names = append(names, spec.Tool.Name)
	}
	return names
}

// stage copies a skill into a directory. Only regular files are copied.
func stage(from fs.FS, to string) error {
	if _, err := fs.Stat(from, skillFile); err != nil {
		return fmt.Errorf("it has no %s", skillFile)
	}
	files := 0
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(path.Clean(name)))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if files++; files > MaxSkillFiles {
			return fmt.Errorf("it has more than %d files", MaxSkillFiles)
		}
		f, err := from.Open(name)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(io.LimitReader(f, MaxSkillFile+1))
		err = errors.Join(err, f.Close())
		switch {
		case err != nil:
			return err
		case len(content) > MaxSkillFile:
			return fmt.Errorf("the file %s is larger than %d bytes", name, MaxSkillFile)
		}
		return os.WriteFile(target, content, 0o600)
	})
}
