package kernelcore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
)

// skillFile is where the skill text stands below Options.SkillsDir, as programs of agents look for it.
const skillFile = "bb/SKILL.md"

// writeSkill makes the skill file that of the present catalog, in the background. Of several changes at once the last one
// counts.
func (k *Kernel) writeSkill() {
	if k.o.SkillsDir == "" {
		return
	}
	k.work.Go(func() {
		k.skillMu.Lock()
		defer k.skillMu.Unlock()
		if k.ctx.Err() != nil {
			return
		}
		err := k.skillNow(k.ctx)
		if k.ctx.Err() != nil {
			return // the kernel has closed meanwhile: the next one writes it
		}
		if err != nil {
			err = fmt.Errorf("the skill file cannot be written: %w", err)
			k.log.Warn("skill file", "error", err)
		}
		k.Degrade(kernelcontract.KernelID, "skill", err)
	})
}

// skillNow writes the skill text when it differs from what is there, whole or not at all.
func (k *Kernel) skillNow(ctx context.Context) error {
	reader := k.As(kernelcontract.Principal{Actor: string(kernelcontract.System) + ":skill"})
	text, err := kernelapi.GetSkill.Call(ctx, reader, kernelapi.SkillInput{})
	if err != nil {
		return err
	}
	file := filepath.Join(k.o.SkillsDir, filepath.FromSlash(skillFile))
	if there, err := os.ReadFile(file); err == nil && bytes.Equal(there, []byte(text)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	next := file + ".new" // one name, so that what a killed process leaves is used again
	err = os.WriteFile(next, []byte(text), 0o644)
	if err == nil {
		err = os.Rename(next, file)
	}
	if err != nil {
		_ = os.Remove(next) // it may never have been there
	}
	return err
}
