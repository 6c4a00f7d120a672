package cli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/sdk"
)

const (
	// idsWait is how long the server is asked for ids: somebody has pressed the tab key, and goes on without them.
	idsWait = 500 * time.Millisecond
	// maxIDs bounds how many are offered: nobody reads more.
	maxIDs = 100
)

// kindOfID says what a field of a word names.
type kindOfID string

const (
	threadID      kindOfID = "thread"
	providerID    kindOfID = "provider"
	interactionID kindOfID = "interaction"
)

// idKind returns what the field names, "" when it is no id that the server can list.
func idKind(w *word.Word, f *word.Field) kindOfID {
	service, _, _ := strings.Cut(w.Ref, ".")
	switch {
	case f.Ambient == kernelcontract.ThreadID,
		f.Name == "thread" && (service == threadapi.Threads.ID || service == threadapi.Interactions.ID):
		return threadID
	case f.Name == "providerId" && service == threadapi.Threads.ID, f.Name == "id" && service == threadapi.Providers.ID:
		return providerID
	case f.Name == "id" && service == threadapi.Interactions.ID:
		return interactionID
	}
	return ""
}

// ids lists the ids that may stand at the place of current, with what they name. It is silent when the server is.
func (a *app) ids(w *word.Word, before []string, current string) []word.Row {
	f, prefix, _ := wanted(w, before, current)
	if f == nil {
		return nil
	}
	kind := idKind(w, f)
	if kind == "" {
		return nil
	}
	client, err := a.connect(nil)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.ctx, idsWait)
	defer cancel()
	var rows []word.Row
	add := func(id, text string) { rows = append(rows, word.Row{Form: prefix + id, Text: text}) }
	switch kind {
	case threadID:
		for _, t := range listed[threadapi.Thread](ctx, client, threadapi.List.Ref, map[string]any{"limit": maxIDs, "archived": w.Ref == threadapi.Unarchive.Ref}) {
			add(t.ID, strings.TrimSpace(t.Title+" ("+string(t.Status)+")"))
		}
	case providerID:
		for _, p := range listed[threadapi.Provider](ctx, client, threadapi.ListProviders.Ref, map[string]any{"all": true}) {
			add(p.ID, p.DisplayName)
		}
	case interactionID:
		for _, i := range listed[threadapi.Interaction](ctx, client, threadapi.ListInteractions.Ref, map[string]any{"limit": maxIDs}) {
			add(i.ID, i.Kind+" of thread "+i.ThreadID)
		}
	}
	return rows
}

// listed asks the server for a list; nil when it does not answer.
func listed[T any](ctx context.Context, client *sdk.Client, ref string, in map[string]any) []T {
	input, err := json.Marshal(in)
	if err != nil {
		return nil
	}
	resp, err := client.Do(ctx, sdk.Request{Signature: kernelcontract.Signature{Ref: ref, Kind: kernelcontract.KindQuery}, Input: input})
	if err != nil {
		return nil
	}
	var out []T
	if json.Unmarshal(resp.Body, &out) != nil {
		return nil
	}
	return out
}
