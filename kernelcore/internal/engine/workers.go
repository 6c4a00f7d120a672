package engine

import "sync"

// maxIdleWorkers is how many goroutines wait for the next call: about what a busy moment on a few cores uses. Their stacks
// have grown to what handlers and encoding need; a fresh goroutine would copy its stack several times in every call.
const maxIdleWorkers = 32

// workers runs jobs on goroutines that it keeps. The zero value is not ready; see newWorkers.
type workers struct {
	jobs chan *job
	quit chan struct{}
	stop sync.Once

	mu   sync.Mutex
	idle int
}

func newWorkers() *workers {
	return &workers{jobs: make(chan *job), quit: make(chan struct{})}
}

// do runs j on an idle goroutine or a new one, and does not wait for it.
func (w *workers) do(j *job) {
	select {
	case w.jobs <- j:
	default:
		go w.work(j) // owned by quit, and by the instance whose call it runs
	}
}

func (w *workers) work(j *job) {
	for {
		j.run()
		if !w.rest(+1) {
			return
		}
		select {
		case j = <-w.jobs:
			w.rest(-1)
		case <-w.quit:
			return
		}
	}
}

// rest counts an idle goroutine in or out; false when there are enough.
func (w *workers) rest(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle+n > maxIdleWorkers {
		return false
	}
	w.idle += n
	return true
}

// close ends the idle goroutines; one that still runs a job ends after it. It does not wait for a handler that
// ignores its context.
func (w *workers) close() { w.stop.Do(func() { close(w.quit) }) }
