package isolate

import (
	"container/list"
	"context"
	"sync"
)

// guests bounds the instances of the whole process: how many run, and how much memory all of them have. A running one
// counts with all that it may grow to.
type guests struct {
	mu      sync.Mutex
	running int
	most    int
	memory  uint64 // of idle instances
	limit   uint64
	idle    list.List // of *instance, the one that has been idle longest in front
	waiting list.List // of chan struct{}, the one that has waited longest in front
	closed  bool
}

func newGuests(most int, limit uint64) *guests { return &guests{most: most, limit: limit} }

// enter waits until one more guest may run. Idle instances are ended when their memory is needed.
func (g *guests) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.closed {
			g.mu.Unlock()
			return ErrClosed
		}
		var ended []*instance
		for g.running < g.most && !g.fits() && g.idle.Len() > 0 {
			i := g.idle.Front().Value.(*instance)
			g.drop(i)
			ended = append(ended, i)
		}
		enter := g.running < g.most && g.fits()
		var wake chan struct{}
		var place *list.Element
		if enter {
			g.running++
		} else {
			wake = make(chan struct{}, 1)
			place = g.waiting.PushBack(wake)
		}
		g.mu.Unlock()
		for _, i := range ended {
			i.end()
		}
		if enter {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			g.mu.Lock()
			g.waiting.Remove(place)
			select {
			case <-wake: // somebody left in the meantime: the next one's turn
				g.wake()
			default:
			}
			g.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}

// fits reports whether one more guest that runs fits into the memory; at least one always does. g.mu is held.
func (g *guests) fits() bool {
	return g.running == 0 && g.idle.Len() == 0 || uint64(g.running+1)*GuestPages*pageSize+g.memory <= g.limit
}

// leave ends what enter began.
func (g *guests) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.wake()
}

// wake tells the one that has waited longest to try again. g.mu is held.
func (g *guests) wake() {
	if first := g.waiting.Front(); first != nil {
		g.waiting.Remove(first)
		first.Value.(chan struct{}) <- struct{}{}
	}
}

// rest keeps an instance that waits for its next call, and reports whether it may.
func (g *guests) rest(i *instance) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	i.place = g.idle.PushBack(i)
	g.memory += i.size
	return true
}

// resume takes an instance back; false says that it has been ended meanwhile.
func (g *guests) resume(i *instance) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.drop(i)
}

// drop takes an instance out of the idle ones, and reports whether it was one. g.mu is held.
func (g *guests) drop(i *instance) bool {
	if i.place == nil {
		return false
	}
	g.idle.Remove(i.place)
	i.place = nil
	g.memory -= i.size
	g.wake()
	return true
}

// close refuses further guests and wakes those that wait.
func (g *guests) close() {
	g.mu.Lock()
	g.closed = true
	for g.waiting.Len() > 0 {
		g.wake()
	}
	var ended []*instance
	for g.idle.Len() > 0 {
		i := g.idle.Front().Value.(*instance)
		g.drop(i)
		ended = append(ended, i)
	}
	g.mu.Unlock()
	for _, i := range ended {
		i.end()
	}
}

// counts returns how many guests run, how many are idle and the memory of the idle ones.
func (g *guests) counts() (running, idle int, memory uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running, g.idle.Len(), g.memory
}
