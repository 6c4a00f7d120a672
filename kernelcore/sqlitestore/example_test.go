package sqlitestore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	for range 2 { // as two runs of a program would
		s, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		err = s.Update(ctx, func(tx store.Tx) error {
			log, err := tx.Get("runs", "log")
			fmt.Printf("%q %v\n", log, err)
			return tx.Put("runs", "log", append(log, '.'))
		})
		fmt.Println(err, s.Close())
	}
	// Output:
	// "" store: no such key
	// <nil> <nil>
	// "." <nil>
	// <nil> <nil>
}
