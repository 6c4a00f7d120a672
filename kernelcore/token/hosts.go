package token

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// EnrolledHost is what is known about a host. Its key is not.
type EnrolledHost struct {
	ID      string // given when it is enrolled, and to no other host ever
	Name    string
	Proxy   bool // may relay calls of the threads that run on it
	Created time.Time
	LastUse time.Time // to the second; zero: never seen
}

// Hosts are the enrolled hosts of a data directory. They are safe for concurrent use.
type Hosts struct{ book *book[hostDetails] }

type hostDetails struct {
	ID    string `json:"id"`
	Proxy bool   `json:"proxy,omitempty"`
}

// OpenHosts reads the hosts in s and keeps them in memory from then on, as OpenTokens does.
func OpenHosts(ctx context.Context, s store.Store, log *slog.Logger) (*Hosts, error) {
	b, err := openBook[hostDetails](ctx, s, "host", "kernel/hosts", log)
	if err != nil {
		return nil, err
	}
	return &Hosts{b}, nil
}

// hostIDPrefix begins the id of a host, and the capital makes it unlike most names.
const hostIDPrefix = "H"

// Enroll makes the key of a new host. The key is in the answer and nowhere else; when Enroll returns,
// the host is stored. The error is an [*InvalidError] for a name that does not do, has [ErrExists] when
// it is taken, or is the store's.
func (h *Hosts) Enroll(ctx context.Context, name string, proxy bool) (key string, _ EnrolledHost, err error) {
	if _, err := h.Resolve(name); err == nil { // as an id too: it must stay clear who is meant
		return "", EnrolledHost{}, taken("host", name)
	}
	key, hash := Mint(Host)
	e, err := h.book.create(ctx, name, hash, time.Time{}, hostDetails{ID: hostIDPrefix + rand.Text(), Proxy: proxy})
	if err != nil {
		return "", EnrolledHost{}, err
	}
	return key, hostOf(e), nil
}

// List returns all hosts by name.
func (h *Hosts) List() []EnrolledHost {
	entries := h.book.list()
	all := make([]EnrolledHost, len(entries))
	for i, e := range entries {
		all[i] = hostOf(e)
	}
	return all
}

// Resolve returns the host with this id or name. The error has [ErrNotFound].
func (h *Hosts) Resolve(idOrName string) (EnrolledHost, error) {
	h.book.mu.RLock()
	e := h.book.byName[idOrName]
	h.book.mu.RUnlock()
	if e != nil {
		return hostOf(e), nil
	}
	if strings.HasPrefix(idOrName, hostIDPrefix) {
		for _, e := range h.book.list() {
			if e.record.Details.ID == idOrName {
				return hostOf(e), nil
			}
		}
	}
	return EnrolledHost{}, missing("host", idOrName)
}

// Remove ends a host's key for good, as Tokens.Revoke does for a token. It takes an id or a name.
func (h *Hosts) Remove(ctx context.Context, idOrName string) error {
	host, err := h.Resolve(idOrName)
	if err != nil {
		host.Name = idOrName // one that could not be read is still stored
	}
	return h.book.remove(ctx, host.Name)
}

// Lookup returns the host whose key has this hash and notes that it was seen. ended is closed when
// it is removed. The error is [ErrUnknown].
func (h *Hosts) Lookup(hash Hash) (_ EnrolledHost, ended <-chan struct{}, err error) {
	e, err := h.book.lookup(hash)
	if err != nil {
		return EnrolledHost{}, nil, err
	}
	return hostOf(e), e.ended, nil
}

// Flush writes the times of last use, which otherwise happens every minute.
func (h *Hosts) Flush(ctx context.Context) error { return h.book.flush(ctx) }

// Close stops keeping the hosts and writes the times of last use. It does not close the store.
func (h *Hosts) Close(ctx context.Context) error { return h.book.close(ctx) }

func hostOf(e *entry[hostDetails]) EnrolledHost {
	return EnrolledHost{ID: e.record.Details.ID, Name: e.name, Proxy: e.record.Details.Proxy, Created: e.record.Created, LastUse: e.lastUse()}
}
