package kernelcore

import "github.com/bb-kernel/bb/kernelcontract"

// BeginSession makes the credential of an agent's session, for as long as the session lives: end ends it, and calling that
// again does nothing. HTTP calls that carry it run as agent:<threadID>, with c for what their own context leaves out. It is
// valid on this machine only, and never stored.
func (k *Kernel) BeginSession(threadID string, c kernelcontract.Context) (secret string, end func()) {
	c.ThreadID = threadID
	return k.sessions.Begin(c)
}

// knownThreads is somebody who knows threads.
type knownThreads struct{ live func(id string) bool }

// KnowThreads makes the kernel ask live about the threads that callers name as their context. From then on an HTTP call in
// the context of a thread that nobody knows is refused with kernelcontract.InvalidInput, and a host that relays calls may
// name those that are known. forget ends it; without anybody who knows threads every name passes. live is called
// concurrently, for each such call; it must be fast.
func (k *Kernel) KnowThreads(live func(id string) bool) (forget func()) {
	one := &knownThreads{live}
	k.threadsMu.Lock()
	defer k.threadsMu.Unlock()
	k.threads[one] = true
	return func() {
		k.threadsMu.Lock()
		defer k.threadsMu.Unlock()
		delete(k.threads, one)
	}
}

// asked returns whether anybody knows threads, and whether one of them knows this one.
func (k *Kernel) asked(id string) (anybody, known bool) {
	k.threadsMu.RLock()
	all := make([]*knownThreads, 0, len(k.threads))
	for one := range k.threads {
		all = append(all, one)
	}
	k.threadsMu.RUnlock()
	for _, one := range all {
		if one.live(id) {
			return true, true
		}
	}
	return len(all) > 0, false
}

// liveThread reports whether a context may name a thread.
func (k *Kernel) liveThread(id string) bool {
	anybody, known := k.asked(id)
	return known || !anybody
}

// threadOnHost reports whether the thread of a context is a live one. Threads run where the kernel does, for each host that
// may relay calls.
func (k *Kernel) threadOnHost(c kernelcontract.Context) bool {
	if c.ThreadID == "" {
		return false
	}
	_, known := k.asked(c.ThreadID)
	return known
}
