package sqlitestore_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// The baseline of each benchmark is database/sql on the same table with the same durability: one
// transaction a put, one connection that writes.

const (
	benchKeys = 10_000
	benchSize = 200 // bytes of a value
)

func benchKey(i int) string { return fmt.Sprintf("key-%08d", i%benchKeys) }

func benchStore(b *testing.B) store.Store {
	s := open(b, b.TempDir())
	err := s.Update(b.Context(), func(tx store.Tx) error {
		for i := range benchKeys {
			if err := tx.Put("b", benchKey(i), make([]byte, benchSize)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func benchSQL(b *testing.B) (write, read *sql.DB) {
	dir := b.TempDir()
	s := open(b, dir)
	_ = s.Close()
	for _, db := range []**sql.DB{&write, &read} {
		var err error
		*db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "bb.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { (*db).Close() })
	}
	write.SetMaxOpenConns(1)
	tx, err := write.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for i := range benchKeys {
		if _, err := tx.Exec(`INSERT INTO entry VALUES (?, ?, ?)`, "b", []byte(benchKey(i)), make([]byte, benchSize)); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return write, read
}

func BenchmarkPut(b *testing.B) {
	value := make([]byte, benchSize)
	b.Run("store", func(b *testing.B) {
		s := benchStore(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := s.Update(b.Context(), func(tx store.Tx) error { return tx.Put("b", benchKey(i), value) }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline database-sql", func(b *testing.B) {
		db, _ := benchSQL(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := sqlPut(db, benchKey(i), value); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPutConcurrent(b *testing.B) {
	const parallelism = 32 // times GOMAXPROCS
	value := make([]byte, benchSize)
	b.Run("store", func(b *testing.B) {
		s := benchStore(b)
		b.SetParallelism(parallelism)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := s.Update(b.Context(), func(tx store.Tx) error { return tx.Put("b", benchKey(rand.Int()), value) }); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("baseline database-sql", func(b *testing.B) {
		db, _ := benchSQL(b)
		b.SetParallelism(parallelism)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := sqlPut(db, benchKey(rand.Int()), value); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func sqlPut(db *sql.DB, key string, value []byte) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`INSERT INTO entry VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value`, "b", []byte(key), value); err != nil {
		return err
	}
	return tx.Commit()
}

func BenchmarkGet(b *testing.B) {
	b.Run("store", func(b *testing.B) {
		s := benchStore(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := s.View(b.Context(), func(tx store.Tx) error { _, err := tx.Get("b", benchKey(i)); return err }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline database-sql", func(b *testing.B) {
		_, db := benchSQL(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			var v []byte
			if err := db.QueryRow(`SELECT value FROM entry WHERE bucket = ? AND key = ?`, "b", []byte(benchKey(i))).Scan(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRange(b *testing.B) {
	const entries = 100
	b.Run("store", func(b *testing.B) {
		s := benchStore(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			n := 0
			err := s.View(b.Context(), func(tx store.Tx) error {
				for _, err := range tx.Range("b", store.Range{After: benchKey(i % (benchKeys / 2)), Limit: entries}) {
					if err != nil {
						return err
					}
					n++
				}
				return nil
			})
			if err != nil || n != entries {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("baseline database-sql", func(b *testing.B) {
		_, db := benchSQL(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			rows, err := db.Query(`SELECT key, value FROM entry WHERE bucket = ? AND key > ? ORDER BY key LIMIT ?`, "b", []byte(benchKey(i%(benchKeys/2))), entries)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for rows.Next() {
				var k, v []byte
				if err := rows.Scan(&k, &v); err != nil {
					b.Fatal(err)
				}
				n++
			}
			if err := rows.Close(); err != nil || n != entries {
				b.Fatal(n, err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	_ = open(b, dir).Close()
	for b.Loop() {
		if err := open(b, dir).Close(); err != nil {
			b.Fatal(err)
		}
	}
}
