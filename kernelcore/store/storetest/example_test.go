package storetest_test

import (
	"testing"

	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/store/storetest"
)

// A store's own test hands the kit a function that opens a fresh, empty store.
func ExampleTest() {
	_ = func(t *testing.T) { // func TestStore(t *testing.T)
		storetest.Test(t, func(*testing.T) store.Store { return store.Memory() })
	}
}
