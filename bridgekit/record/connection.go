package record

import (
	"encoding/json"
	"sync"
)

// Bounds of what a connection remembers in order to find the folder of a line. Beyond them it forgets everything, and
// lines go to the folder of the process until their thread is named again.
const (
	maxThreads = 4096 // threads whose provider is known
	maxPending = 4096 // requests whose answer is awaited
)

// Connection records the two lanes between core and a bridge. Its Tee fits wire.Options. It is safe for concurrent use.
type Connection struct {
	r              *Recorder
	sent, received Lane

	mu        sync.Mutex
	provider  string            // of lines that name none
	providers map[string]string // by thread
	pending   map[answer]place  // by the answer that is awaited
}

// answer is an answer to a request: the lane on which it comes, and the id.
type answer struct {
	lane Lane
	id   string
}

// place is the folder of a line.
type place struct{ provider, thread string }

// Connect records the lanes of one connection: sent for the lines that this process writes, received for those that it
// reads. The provider is that of lines which name none; initialize replaces it by the first that it lists.
func (r *Recorder) Connect(sent, received Lane, provider string) *Connection {
	return &Connection{r: r, sent: sent, received: received, provider: provider, providers: map[string]string{}, pending: map[answer]place{}}
}

// Tee records one line. A failure to write stops the recording; Close of the Recorder reports it.
func (c *Connection) Tee(sent bool, line []byte) {
	if c == nil || c.r == nil {
		return
	}
	lane, back := c.received, c.sent
	if sent {
		lane, back = c.sent, c.received
	}
	c.mu.Lock()
	p := c.place(lane, back, line)
	c.mu.Unlock()
	c.r.Append(lane, p.provider, p.thread, line)
}

// place finds the folder of a line that came on a lane and whose answer would come back on another.
func (c *Connection) place(lane, back Lane, line []byte) place {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Params struct {
			ThreadID    string   `json:"threadId"`
			ProviderID  string   `json:"providerId"`
			ProviderIDs []string `json:"providerIds"`
		} `json:"params"`
	}
	err := json.Unmarshal(line, &m)
	if m.Method == nil {
		key := answer{lane, string(m.ID)}
		if p, ok := c.pending[key]; ok {
			delete(c.pending, key)
			return p
		}
		return place{provider: c.provider}
	}
	if err == nil && len(m.Params.ProviderIDs) > 0 {
		c.provider = m.Params.ProviderIDs[0]
	}
	p := place{provider: c.provider, thread: m.Params.ThreadID}
	switch known, ok := c.providers[p.thread]; {
	case m.Params.ProviderID != "":
		p.provider = m.Params.ProviderID
		if p.thread != "" {
			remember(c.providers, p.thread, p.provider, maxThreads)
		}
	case ok:
		p.provider = known
	default:
		p.thread = "" // a thread that nobody started
	}
	if len(m.ID) > 0 {
		remember(c.pending, answer{back, string(m.ID)}, p, maxPending)
	}
	return p
}

func remember[K comparable, V any](m map[K]V, key K, value V, limit int) {
	if _, known := m[key]; !known && len(m) >= limit {
		clear(m)
	}
	m[key] = value
}
