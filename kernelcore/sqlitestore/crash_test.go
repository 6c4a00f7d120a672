package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
)

const crashWriters = 8

// acknowledgeUntilKilled writes pairs of records for ever, some in vain, and prints each key as soon
// as it is acknowledged.
func acknowledgeUntilKilled(dir string) error {
	s, err := sqlitestore.Open(context.Background(), dir, sqlitestore.Options{})
	if err != nil {
		return err
	}
	var out sync.Mutex
	var wg sync.WaitGroup
	for w := range crashWriters {
		wg.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d-%d-%06d", os.Getpid(), w, n)
				err := s.Update(context.Background(), func(tx store.Tx) error {
					err := errors.Join(tx.Put("left", key, []byte(key)), tx.Put("right", key, []byte(strings.Repeat(key, 20))))
					if n%5 == 4 {
						return errors.New("in vain")
					}
					return err
				})
				if err == nil {
					out.Lock()
					fmt.Println(key) // unbuffered: written before the next update begins
					out.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// TestAcknowledgedSurvivesKill kills a process in the middle of its writes, several times on the same
// directory: what was acknowledged is there, whole, and nothing half.
func TestAcknowledgedSurvivesKill(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	var acknowledged []string
	for round := range 5 {
		cmd := child(t, "acknowledge", dir)
		stdout, err := cmd.StdoutPipe()
		is.NoErr(err)
		is.NoErr(cmd.Start())
		lines := bufio.NewScanner(stdout)
		for n := 0; lines.Scan(); n++ {
			acknowledged = append(acknowledged, lines.Text())
			if n == 100+50*round {
				is.NoErr(cmd.Process.Kill()) // what it printed before it died is still read
			}
		}
		is.True(cmd.Wait() != nil) // it was killed

		s := open(t, dir) // the lock died with it
		is.NoErr(s.View(t.Context(), func(tx store.Tx) error {
			for _, key := range acknowledged {
				if v, err := tx.Get("left", key); err != nil || string(v) != key {
					t.Errorf("round %d: acknowledged %s: %q, %v", round, key, v, err)
				}
			}
			left, right := 0, 0
			for e, err := range tx.Range("left", store.Range{}) {
				is.NoErr(err)
				left++
				v, err := tx.Get("right", e.Key)
				is.NoErr(err) // both or none
				is.Equal(string(v), strings.Repeat(e.Key, 20))
				if strings.HasSuffix(e.Key, "4") || strings.HasSuffix(e.Key, "9") {
					t.Errorf("%s was written in vain and is there", e.Key)
				}
			}
			for _, err := range tx.Range("right", store.Range{}) {
				is.NoErr(err)
				right++
			}
			is.Equal(left, right)
			return nil
		}))
		is.NoErr(s.Close())
	}
	is.True(len(acknowledged) > 500)
}
