package pluginlog_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/internal/pluginlog"
)

func TestLog(t *testing.T) {
	t.Run("keeps records from info up, with their attributes", func(t *testing.T) {
		is := is.New(t)
		l := pluginlog.New()
		var out strings.Builder
		log := slog.New(l.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))).With("plugin", "p")
		log.Debug("no")
		log.WithGroup("g").Info("yes", "n", 7, "s", fmt.Errorf("e"))
		log.Warn("both")
		lines, _ := l.After(0)
		is.Equal(len(lines), 2)
		is.Equal(lines[0].Message, "yes")
		is.Equal(string(lines[0].Attrs), `{"g.n":7,"g.s":"e","plugin":"p"}`)
		is.Equal(lines[1].Seq, uint64(2))
		is.True(!strings.Contains(out.String(), "yes"))
		is.True(strings.Contains(out.String(), "msg=both plugin=p"))
	})
	t.Run("keeps the last lines", func(t *testing.T) {
		is := is.New(t)
		l := pluginlog.New()
		log := slog.New(l.Handler(slog.DiscardHandler))
		for n := range pluginlog.MaxLines + 10 {
			log.Info(fmt.Sprint(n))
		}
		lines, more := l.After(0)
		is.Equal(len(lines), pluginlog.MaxLines)
		is.Equal(lines[0].Message, "10")
		lines, _ = l.After(pluginlog.MaxLines + 9)
		is.Equal(len(lines), 1)
		log.Info("next")
		<-more
	})
	t.Run("is bounded in bytes", func(t *testing.T) {
		is := is.New(t)
		l := pluginlog.New()
		log := slog.New(l.Handler(slog.DiscardHandler))
		for range 1000 {
			log.Info(strings.Repeat("x", 100_000))
		}
		lines, _ := l.After(0)
		total := 0
		for _, line := range lines {
			total += len(line.Message)
		}
		is.True(total <= pluginlog.MaxBytes)
		is.True(len(lines) > 100)
	})
}

func TestHandlerKeepsTheRules(t *testing.T) {
	var out strings.Builder
	err := slogtest.TestHandler(pluginlog.New().Handler(slog.NewJSONHandler(&out, nil)), func() []map[string]any { return decode(t, out.String()) })
	if err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}
