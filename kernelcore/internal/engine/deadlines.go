package engine

import (
	"container/heap"
	"sync"
	"time"
)

// deadlines tells jobs when their time is up, with one timer for all. A call that answers in time leaves the timer as it
// is: setting one and stopping it again in each call would wake the thread that waits for the network. The zero value is
// ready.
type deadlines struct {
	mu    sync.Mutex
	jobs  jobHeap
	timer *time.Timer // nil until there is a job
	rings time.Time   // when the timer fires: not after the first of jobs; zero: it is not set
}

// add has j.late get a value at the deadline of j.
func (d *deadlines) add(j *job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	heap.Push(&d.jobs, j)
	if d.rings.IsZero() || j.ctx.deadline.Before(d.rings) {
		d.set(j.ctx.deadline)
	}
}

// set makes the timer fire at t. d.mu is held.
func (d *deadlines) set(t time.Time) {
	d.rings = t
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(t), d.ring)
		return
	}
	d.timer.Reset(time.Until(t))
}

// ring runs when the timer fires.
func (d *deadlines) ring() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for len(d.jobs) > 0 && !d.jobs[0].ctx.deadline.After(now) {
		heap.Pop(&d.jobs).(*job).late <- struct{}{}
	}
	if d.rings = (time.Time{}); len(d.jobs) > 0 {
		d.set(d.jobs[0].ctx.deadline)
	}
}

// remove forgets j. Afterwards j.late holds nothing and gets nothing.
func (d *deadlines) remove(j *job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j.place >= 0 {
		heap.Remove(&d.jobs, j.place)
		return
	}
	select {
	case <-j.late: // rung and not taken
	default:
	}
}

// stop releases the timer, unless a job still needs it: then it is released when it has rung.
func (d *deadlines) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && len(d.jobs) == 0 {
		d.timer.Stop()
	}
}

// jobHeap has the job with the earliest deadline first. Each job knows its place, -1 outside.
type jobHeap []*job

func (h jobHeap) Len() int           { return len(h) }
func (h jobHeap) Less(a, b int) bool { return h[a].ctx.deadline.Before(h[b].ctx.deadline) }

func (h jobHeap) Swap(a, b int) {
	h[a], h[b] = h[b], h[a]
	h[a].place, h[b].place = a, b
}

// Push implements heap.Interface.
func (h *jobHeap) Push(j any) {
	j.(*job).place = len(*h)
	*h = append(*h, j.(*job))
}

// Pop implements heap.Interface.
func (h *jobHeap) Pop() any {
	last := len(*h) - 1
	j := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	j.place = -1
	return j
}
