// Package pluginlog keeps the last records of each plugin's log, for people who look for what went wrong with one.
package pluginlog

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"
)

// Limits of what is kept of a plugin.
const (
	MaxLines   = 1000
	MaxBytes   = 1 << 20 // of all lines: a plugin that logs much must not fill the memory
	maxMessage = 8 << 10 // bytes of a message; the rest is left out
)

// Line is a record.
type Line struct {
	Seq     uint64 // counts from 1, without gaps
	Time    time.Time
	Level   slog.Level
	Message string
	Attrs   json.RawMessage // an object, nil for none
}

// Log is the log of one plugin. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	seq     uint64
	lines   []Line // the last ones
	bytes   int
	changed chan struct{} // closed at the next line
}

// New returns an empty log.
func New() *Log { return &Log{changed: make(chan struct{})} }

func (l *Log) add(line Line) {
	if len(line.Message) > maxMessage {
		line.Message = line.Message[:maxMessage] + "…"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	line.Seq = l.seq
	l.lines = append(l.lines, line)
	l.bytes += size(line)
	for len(l.lines) > MaxLines || l.bytes > MaxBytes && len(l.lines) > 1 {
		l.bytes -= size(l.lines[0])
		l.lines[0] = Line{} // its texts go
		l.lines = l.lines[1:]
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func size(l Line) int { return len(l.Message) + len(l.Attrs) }

// After returns the lines behind seq that are kept, and a channel that is closed when there are more.
func (l *Log) After(seq uint64) ([]Line, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.lines)
	for n > 0 && l.lines[n-1].Seq > seq {
		n--
	}
	return append([]Line{}, l.lines[n:]...), l.changed
}

// Handler returns a handler that adds records to the log from info up, and hands all that next wants to it.
func (l *Log) Handler(next slog.Handler) slog.Handler { return &handler{log: l, next: next} }

type handler struct {
	log   *Log
	next  slog.Handler
	group string
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		line := Line{Time: r.Time, Level: r.Level, Message: r.Message}
		attrs := map[string]any{}
		for _, a := range h.attrs {
			put(attrs, "", a)
		}
		r.Attrs(func(a slog.Attr) bool {
			put(attrs, h.group, a)
			return true
		})
		if len(attrs) > 0 {
			line.Attrs, _ = json.Marshal(attrs) // texts, numbers and booleans encode
		}
		h.log.add(line)
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

func put(attrs map[string]any, group string, a slog.Attr) {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, part := range v.Group() {
			put(attrs, group, part)
		}
	case slog.KindBool:
		attrs[group+a.Key] = v.Bool()
	case slog.KindInt64:
		attrs[group+a.Key] = v.Int64()
	case slog.KindUint64:
		attrs[group+a.Key] = v.Uint64()
	default:
		attrs[group+a.Key] = v.String()
	}
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.next = h.next.WithAttrs(attrs)
	c.attrs = append([]slog.Attr{}, h.attrs...)
	for _, a := range attrs {
		a.Key = h.group + a.Key
		c.attrs = append(c.attrs, a)
	}
	return &c
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	c := *h
	c.next = h.next.WithGroup(name)
	if name != "" {
		c.group += name + "."
	}
	return &c
}
