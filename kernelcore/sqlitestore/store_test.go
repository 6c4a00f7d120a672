package sqlitestore_test

import (
	"testing"

	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) })
}

// open opens the store in dir and closes it with the test.
func open(t testing.TB, dir string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
