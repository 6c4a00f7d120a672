package providers

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// ModelLifetime is how long a bridge's list of models is used again.
const ModelLifetime = bridgekit.ModelListLifetime

// maxModelLists bounds the lists that are kept for a provider, one for each directory: the oldest go first.
const maxModelLists = 256

// modelCache keeps what the bridge of a provider answered, by directory.
type modelCache struct {
	asking chan struct{} // one asks at a time, the others use its answer

	mu    sync.Mutex
	lists map[string]modelList
}

type modelList struct {
	models []protocol.ModelDecl
	until  time.Time
}

func newModelCache() *modelCache {
	return &modelCache{asking: make(chan struct{}, 1), lists: map[string]modelList{}}
}

func (c *modelCache) get(cwd string, now time.Time) ([]protocol.ModelDecl, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, ok := c.lists[cwd]
	return list.models, ok && now.Before(list.until)
}

func (c *modelCache) put(cwd string, models []protocol.ModelDecl, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, again := c.lists[cwd]; !again && len(c.lists) >= maxModelLists {
		oldest := cwd
		for dir, list := range c.lists {
			if first, ok := c.lists[oldest]; !ok || list.until.Before(first.until) {
				oldest = dir
			}
		}
		delete(c.lists, oldest)
	}
	c.lists[cwd] = modelList{models, now.Add(ModelLifetime)}
}

func (c *modelCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.lists)
}

// Models lists the models of a provider: what its plugin says, else what its bridge says, for ModelLifetime, else those of
// its declaration. The error is kernelcontract.NotFound, or why the bridge cannot be asked when the declaration has none.
func (p *Pool) Models(ctx context.Context, in threadapi.ModelsInput) ([]threadapi.Model, error) {
	one, err := p.provider(in.ID)
	if err != nil {
		return nil, err
	}
	s, err := p.slot(in.ID)
	if err != nil {
		return nil, err
	}
	if in.Cwd != "" && !filepath.IsAbs(in.Cwd) {
		return nil, kernelcontract.InvalidInput.Errorf("cwd: %q is not an absolute path", in.Cwd)
	}
	models, err := p.models(ctx, s, one, in)
	if err != nil {
		if ctx.Err() != nil || len(one.Declaration.Models.Fallback) == 0 {
			return nil, err
		}
		p.log.Warn("the models of a provider cannot be listed; those of its declaration are shown", "provider", in.ID, "error", err)
		models = one.Declaration.Models.Fallback
	}
	out := make([]threadapi.Model, 0, len(models))
	for _, m := range models {
		out = append(out, threadapi.Model{
			ID: m.ID, Label: m.Label, Description: m.Description, ReasoningLevels: orEmpty(m.ReasoningLevels),
			DefaultReasoningLevel: m.DefaultReasoningLevel, ServiceTiers: orEmpty(m.ServiceTiers), IsDefault: m.IsDefault,
		})
	}
	return out, nil
}

func (p *Pool) models(ctx context.Context, s *slot, one kernelcore.Provider, in threadapi.ModelsInput) ([]protocol.ModelDecl, error) {
	models, err := one.Program.Hooks.Models(ctx, bridge.ModelsRequest{ProviderID: in.ID, Cwd: in.Cwd})
	if err != nil || models != nil {
		return models, err
	}
	source := one.Declaration.Models
	if source.Catalog != protocol.CatalogBridge {
		return source.Fallback, nil
	}
	key := ""
	if source.Scope == protocol.ModelsPerWorkspace {
		key = in.Cwd
	}
	if models, ok := s.models.get(key, time.Now()); ok && !in.Refresh {
		return models, nil
	}
	asked := time.Now()
	select {
	case s.models.asking <- struct{}{}:
		defer func() { <-s.models.asking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if models, ok := s.models.get(key, asked); ok && !in.Refresh { // somebody else asked meanwhile
		return models, nil
	}
	var result protocol.ModelListResult
	err = p.ask(ctx, s, func(b *Bridge) (err error) {
		result, err = b.ModelList(ctx, b.about(in.Cwd))
		return err
	})
	if err != nil {
		return nil, err
	}
	s.models.put(key, result.Models, time.Now())
	return result.Models, nil
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
