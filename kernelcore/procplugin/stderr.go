package procplugin

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Bounds of what a program's standard error puts into its log.
const (
	MaxStderrLine  = 8 << 10 // bytes; the rest of a longer line is left out
	MaxStderrLines = 100     // a second; a line says how many were left out
)

// stderrLines writes standard error to a log, line by line. It is used by one goroutine.
type stderrLines struct {
	log     *slog.Logger
	rest    []byte // of a line that has not ended
	skip    bool   // the rest of a line that was too long
	second  time.Time
	count   int // lines of this second
	dropped int
}

func (s *stderrLines) write(chunk []byte) {
	for len(chunk) > 0 {
		line, rest, ended := bytes.Cut(chunk, []byte("\n"))
		chunk = rest
		if room := MaxStderrLine - len(s.rest); len(line) > room {
			line = line[:room]
			s.skip = true
		}
		s.rest = append(s.rest, line...)
		if ended {
			s.emit()
		}
	}
}

// emit writes the line that has ended.
func (s *stderrLines) emit() {
	text := strings.TrimRight(strings.ToValidUTF8(string(s.rest), "\uFFFD"), "\r")
	if s.skip {
		text += "…"
	}
	s.rest, s.skip = s.rest[:0], false
	if now := time.Now(); now.Sub(s.second) >= time.Second {
		if s.dropped > 0 {
			s.log.Warn(fmt.Sprintf("%d lines of standard error were left out: at most %d a second are kept", s.dropped, MaxStderrLines))
		}
		s.second, s.count, s.dropped = now, 0, 0
	}
	if s.count++; s.count > MaxStderrLines {
		s.dropped++
		return
	}
	if strings.TrimSpace(text) != "" {
		s.log.Info(text, "from", "stderr")
	}
}
