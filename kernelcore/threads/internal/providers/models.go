package providers

import (
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// maxModelLists bounds the directories whose lists of models are kept: more than a person works in within ten minutes.
const maxModelLists = 64

// modelCache keeps what the bridge of a provider said about its models, by directory.
type modelCache struct {
	mu    sync.Mutex
	lists map[string]modelList
}

type modelList struct {
	models []protocol.ModelDecl
	at     time.Time
}

func newModelCache() *modelCache { return &modelCache{lists: map[string]modelList{}} }

// get returns a list that is not too old.
func (c *modelCache) get(cwd string, now time.Time) ([]protocol.ModelDecl, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, ok := c.lists[cwd]
	return list.models, ok && now.Sub(list.at) < bridgekit.ModelListLifetime
}

// put keeps a list, and drops the oldest when there are too many.
func (c *modelCache) put(cwd string, models []protocol.ModelDecl, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lists) >= maxModelLists {
		oldest := ""
		for key, list := range c.lists {
			if oldest == "" || list.at.Before(c.lists[oldest].at) {
				oldest = key
			}
		}
		delete(c.lists, oldest)
	}
	c.lists[cwd] = modelList{models, now}
}

func (c *modelCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.lists)
}
