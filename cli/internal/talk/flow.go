package talk

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

// Flow shows the events of a thread as they come, for who only looks on.
type Flow struct {
	mu      sync.Mutex
	printer threadapi.Printer
	write   func(string)
	pause   *time.Timer
	closed  bool
}

// NewFlow returns a Flow that writes text as it is.
func NewFlow(r kernelcontract.Render, write func(string)) *Flow {
	f := &Flow{printer: threadapi.Printer{Render: r}, write: write}
	f.pause = time.AfterFunc(Pause, f.idle)
	return f
}

// Event shows an event as it came.
func (f *Flow) Event(raw json.RawMessage) error {
	var e threadapi.Event
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(f.printer.Event(e))
	f.pause.Reset(Pause)
	return nil
}

// idle shows what was held back.
func (f *Flow) idle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.put(f.printer.Idle())
	}
}

// Note calls note, which writes beside the text, on a line of its own when both stand on one screen.
func (f *Flow) Note(note func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.printer.Render.TTY {
		f.put(f.printer.Close())
	}
	note()
}

// Close ends the text. Nothing is written after it returns.
func (f *Flow) Close() {
	f.pause.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		f.put(f.printer.Close())
	}
}

func (f *Flow) put(s string) {
	if s != "" {
		f.write(s)
	}
}
