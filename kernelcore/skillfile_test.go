package kernelcore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk"
)

func TestSkillFile(t *testing.T) {
	say := &kernelcontract.Query[kernelcontract.None, string]{Ref: "talk/talk.say", Summary: "Say something nice"}
	talk := &kernelcontract.Service{ID: "talk/talk", Summary: "Talk", Methods: []kernelcontract.Method{say}}
	plugin := &pluginsdk.Plugin{ID: "talk", Version: "1", Services: []*kernelcontract.Service{talk}, Guide: fstest.MapFS{"talk.md": {Data: []byte("# Talking\n\nSpeak up.\n")}},
		Setup: func(_ context.Context, h *pluginsdk.Host) error {
			h.Provide(talk, say.Handle(func(context.Context, kernelcontract.None) (string, error) { return "hi", nil }))
			return nil
		}}
	// holds waits until the file holds texts and does not hold others, which begin with "!".
	holds := func(t *testing.T, dir string, parts ...string) {
		t.Helper()
		var text string
		for end := time.Now().Add(10 * time.Second); ; {
			raw, _ := os.ReadFile(filepath.Join(dir, "bb", "SKILL.md"))
			text = string(raw)
			fits := text != ""
			for _, p := range parts {
				no, negated := strings.CutPrefix(p, "!")
				fits = fits && strings.Contains(text, no) != negated
			}
			if fits {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the file does not come to hold %q: %s", parts, text)
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	t.Run("follows the catalog", func(t *testing.T) {
		is := is.New(t)
		dir := filepath.Join(t.TempDir(), "skills")
		is.NoErr(os.MkdirAll(filepath.Join(dir, "bb"), 0o755))
		is.NoErr(os.WriteFile(filepath.Join(dir, "bb", "SKILL.md.new"), []byte("half"), 0o600)) // by one that was killed
		k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{plugin}, SkillsDir: dir})
		is.NoErr(err)
		defer k.Close()
		holds(t, dir, "---\nname: bb\n", "# Using bb", "Speak up.", "bb talk say", "Say something nice", "!(disabled)")
		is.NoErr(k.Disable(t.Context(), "talk"))
		holds(t, dir, "(disabled)", "!Speak up.")
		is.NoErr(k.Remove(t.Context(), "talk"))
		holds(t, dir, "!bb talk say")
		entries, err := os.ReadDir(filepath.Join(dir, "bb"))
		is.NoErr(err)
		is.Equal(len(entries), 1) // nothing is left of the writing
	})
	t.Run("that cannot be written is a problem", func(t *testing.T) {
		is := is.New(t)
		file := filepath.Join(t.TempDir(), "file")
		is.NoErr(os.WriteFile(file, nil, 0o600))
		k, err := kernelcore.New(kernelcore.Options{SkillsDir: file})
		is.NoErr(err)
		defer k.Close()
		for end := time.Now().Add(10 * time.Second); len(k.Problems()) == 0; <-time.After(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("there is no problem")
			}
		}
		is.True(strings.Contains(k.Problems()[0].Error(), "kernel: the skill file cannot be written"))
	})
	t.Run("is not written unless it is asked for", func(t *testing.T) {
		is := is.New(t)
		dir := t.TempDir()
		k, err := kernelcore.New(kernelcore.Options{DataDir: dir})
		is.NoErr(err)
		is.NoErr(k.Close())
		entries, err := os.ReadDir(dir)
		is.NoErr(err)
		is.Equal(len(entries), 0)
	})
}
