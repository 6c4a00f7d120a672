package kernelcore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// Where the kernel keeps what it is.
const (
	kernelBucket  = "kernel"
	serverIDKey   = "serverId"
	generationKey = "generation"
)

// loadServerID returns the id of the store's kernel, which is made on first use and never changes.
func loadServerID(ctx context.Context, s store.Store) (string, error) {
	var id string
	err := s.Update(ctx, func(tx store.Tx) error {
		raw, err := tx.Get(kernelBucket, serverIDKey)
		if err == nil {
			id = string(raw)
			return nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails: it ends the program instead
		id = hex.EncodeToString(b[:])
		return tx.Put(kernelBucket, serverIDKey, []byte(id))
	})
	return id, err
}

// nextGeneration returns the number of the next catalog. It is stored before it is used, so that it grows across
// restarts whatever happens. save writes in the same transaction.
func nextGeneration(ctx context.Context, s store.Store, save func(store.Tx) error) (uint64, error) {
	var n uint64
	err := s.Update(ctx, func(tx store.Tx) error {
		raw, err := tx.Get(kernelBucket, generationKey)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		case len(raw) != 8:
			return fmt.Errorf("the stored generation has %d bytes instead of 8", len(raw))
		default:
			n = binary.BigEndian.Uint64(raw)
		}
		n++
		if err := save(tx); err != nil {
			return err
		}
		return tx.Put(kernelBucket, generationKey, binary.BigEndian.AppendUint64(nil, n))
	})
	return n, err
}
