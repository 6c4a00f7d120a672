package pluginsdk

import (
	"context"
	"log/slog"
	"slices"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

func (s *program) sendLog(p stdio.LogParams) error { return s.peer.Notify(s.ctx, stdio.Log, p) }

// logHandler sends the records of a plugin's log to the kernel.
type logHandler struct {
	send  func(stdio.LogParams) error
	group string // in front of the names of attributes
	attrs []slog.Attr
}

// Enabled implements slog.Handler: what is worth keeping is the kernel's to say.
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	p := stdio.LogParams{Level: level(r.Level), Message: r.Message, Call: kernelcontract.CallFrom(ctx).ID, Attrs: map[string]any{}}
	for _, a := range h.attrs {
		put(p.Attrs, "", a)
	}
	r.Attrs(func(a slog.Attr) bool {
		put(p.Attrs, h.group, a)
		return true
	})
	return h.send(p)
}

// put adds an attribute under its whole name. What does not encode as JSON is written as text.
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

func level(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		a.Key = h.group + a.Key
		c.attrs = append(c.attrs, a)
	}
	return &c
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	c := *h
	if name != "" {
		c.group += name + "."
	}
	return &c
}
