package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/sdk"
)

// How long the catalog is waited for.
const (
	fetchWait    = 30 * time.Second // nothing can be done without it
	refreshWait  = 5 * time.Second  // the answer is printed, the catalog only got old
	completeWait = time.Second      // somebody has pressed the tab key
)

// cached returns the catalog in the cache.
func (a *app) cached() (*cache.Catalog, error) { return a.store().Load(a.serverURL()) }

// catalog returns the cached catalog, else the server's.
func (a *app) catalog(ctx context.Context) (*cache.Catalog, error) {
	if c, err := a.cached(); err == nil {
		return c, nil
	}
	return a.fetch(ctx)
}

// fetch asks the server for its catalog and caches it.
func (a *app) fetch(ctx context.Context) (*cache.Catalog, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	client, err := a.connect(nil)
	if err != nil {
		return nil, err
	}
	get := func(ref string) (json.RawMessage, error) {
		resp, err := client.Do(ctx, sdk.Request{Signature: kernelcontract.Signature{Ref: ref, Kind: kernelcontract.KindQuery}})
		if err != nil {
			return nil, err
		}
		return resp.Body, nil
	}
	raw, err := get(kernelapi.GetManifest.Ref)
	if err != nil {
		return nil, err
	}
	var guide []cache.Chapter
	if chapters, err := get(kernelapi.ListChapters.Ref); err == nil {
		_ = json.Unmarshal(chapters, &guide) // a server without a guide is complete
	}
	c, err := cache.Build(a.serverURL(), raw, guide)
	if err != nil {
		return nil, asFailure("the catalog of "+a.serverURL(), err)
	}
	_ = a.store().Save(c) // what cannot be kept is fetched again
	return c, nil
}

// refresh renews the cache when an answer shows that it is old.
func (a *app) refresh(c *cache.Catalog, answer sdk.Answer) {
	if answer.ServerID == "" || answer.Generation == 0 || answer.ServerID == c.Index.ServerID && answer.Generation == c.Index.Generation {
		return
	}
	if a.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(a.ctx, refreshWait)
	defer cancel()
	_, _ = a.fetch(ctx) // the next call asks again
}

// newer asks the server for its catalog and returns it when it is another than c, else nil.
func (a *app) newer(c *cache.Catalog) *cache.Catalog {
	ctx, cancel := context.WithTimeout(a.ctx, refreshWait)
	defer cancel()
	now, err := a.fetch(ctx)
	if err != nil || now.Index.ServerID == c.Index.ServerID && now.Index.Generation == c.Index.Generation {
		return nil
	}
	return now
}
