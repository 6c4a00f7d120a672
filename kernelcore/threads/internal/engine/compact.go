package engine

import (
	"context"
	"time"
)

// compactTimeout bounds the compaction of one turn: it goes on with the next start when the disk is that slow.
const compactTimeout = 5 * time.Minute

// compact lets the streamed text of a turn that has ended shrink, in the background and one turn at a time.
func (e *Engine) compact(threadID, turnID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.toCompact = append(e.toCompact, [2]string{threadID, turnID})
	if e.compacting {
		return
	}
	e.compacting = true
	e.work.Go(e.compactAll)
}

func (e *Engine) compactAll() {
	for {
		e.mu.Lock()
		if len(e.toCompact) == 0 || e.closed {
			e.toCompact, e.compacting = nil, false
			e.mu.Unlock()
			return
		}
		next := e.toCompact[0]
		e.toCompact = e.toCompact[1:]
		e.mu.Unlock()
		if t := e.of(next[0]); t != nil {
			t.mu.Lock() // whoever settled the turn appends its last events before letting go
			lines := t.lines
			t.mu.Unlock()
			_ = lines.Flush(e.ctx) // a failure shows elsewhere
		}
		ctx, cancel := context.WithTimeout(e.ctx, compactTimeout)
		if err := e.lines.Compact(ctx, next[0], next[1]); err != nil && e.ctx.Err() == nil {
			e.log.Warn("a turn's text was not compacted", "thread", next[0], "turn", next[1], "error", err)
		}
		cancel()
	}
}
