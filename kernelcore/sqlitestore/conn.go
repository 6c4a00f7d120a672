package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// conn is one connection with its prepared statements. It belongs to one goroutine at a time. It
// speaks to the driver directly: a pool, which is what database/sql adds, is what must not be here.
type conn struct {
	path string
	c    driver.Conn

	begin, commit, rollback  driver.Stmt
	savepoint, release, undo driver.Stmt // nil on a connection that only reads
	put, del                 driver.Stmt // nil on a connection that only reads
	get, up, down            driver.Stmt
}

// access is what a connection may do.
type access int

const (
	probing access = iota // reads a database of which nothing is known, touches nothing, prepares nothing
	reading               // reads
	writing               // reads and writes
)

// lockWait is how long a connection waits for a lock in milliseconds. Only programs other than ours
// (a backup, a sqlite3 shell) can hold one.
const lockWait = "5000"

// open opens a connection to the database at path. Only writing needs prepare to be called, after the
// database is known to be up to date.
func open(path string, a access) (*conn, error) {
	q := url.Values{"_pragma": {"busy_timeout(" + lockWait + ")", "temp_store(MEMORY)", "foreign_keys(1)"}}
	switch a {
	case probing:
		q.Set("mode", "ro")
	case reading:
		q.Set("mode", "rw")
		q.Add("_pragma", "query_only(1)")
	case writing:
		q.Set("mode", "rw")
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(FULL)")
	}
	c, err := (&sqlite.Driver{}).Open(fileURI(path) + "?" + q.Encode())
	if err != nil {
		return nil, translate(path, err)
	}
	return &conn{path: path, c: c}, nil
}

// fileURI returns the URI by which SQLite opens the file at an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath()
}

const (
	sqlGet = `SELECT value FROM entry WHERE bucket = ?1 AND key = ?2`
	sqlPut = `INSERT INTO entry (bucket, key, value) VALUES (?1, ?2, ?3) ON CONFLICT (bucket, key) DO UPDATE SET value = excluded.value`
	sqlDel = `DELETE FROM entry WHERE bucket = ?1 AND key = ?2`

	sqlUp   = `SELECT key, value FROM entry WHERE bucket = ?1 AND key >= ?2 AND key < ?3 ORDER BY key LIMIT ?4`
	sqlDown = `SELECT key, value FROM entry WHERE bucket = ?1 AND key >= ?2 AND key < ?3 ORDER BY key DESC LIMIT ?4`
)

// prepare prepares the statements that a needs.
func (c *conn) prepare(a access) error {
	begin := "BEGIN"
	if a == writing {
		begin = "BEGIN IMMEDIATE"
	}
	statements := []struct {
		stmt *driver.Stmt
		sql  string
	}{
		{&c.begin, begin}, {&c.commit, "COMMIT"}, {&c.rollback, "ROLLBACK"},
		{&c.get, sqlGet}, {&c.up, sqlUp}, {&c.down, sqlDown},
		{&c.put, sqlPut}, {&c.del, sqlDel},
		{&c.savepoint, "SAVEPOINT u"}, {&c.release, "RELEASE u"}, {&c.undo, "ROLLBACK TO u"},
	}
	if a == reading {
		statements = statements[:6]
	}
	for _, s := range statements {
		var err error
		if *s.stmt, err = c.c.Prepare(s.sql); err != nil {
			return translate(c.path, err)
		}
	}
	return nil
}

// close closes the connection; its statements go with it.
func (c *conn) close() error {
	for _, s := range []driver.Stmt{c.begin, c.commit, c.rollback, c.get, c.up, c.down, c.put, c.del, c.savepoint, c.release, c.undo} {
		if s != nil {
			_ = s.Close() // says again what the last use of it said
		}
	}
	return translate(c.path, c.c.Close())
}

// exec runs a prepared statement without a result. It is never interrupted: how a write ends must be
// known.
func (c *conn) exec(s driver.Stmt, args ...driver.NamedValue) error {
	_, err := s.(driver.StmtExecContext).ExecContext(context.Background(), args)
	return translate(c.path, err)
}

// script runs SQL statements without results.
func (c *conn) script(sql string) error {
	_, err := c.c.(driver.ExecerContext).ExecContext(context.Background(), sql, nil)
	return translate(c.path, err)
}

// number returns the first column of the first row of a query, an integer.
func (c *conn) number(sql string) (int64, error) {
	rows, err := c.c.(driver.QueryerContext).QueryContext(context.Background(), sql, nil)
	if err != nil {
		return 0, translate(c.path, err)
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return 0, translate(c.path, err)
	}
	n, _ := row[0].(int64)
	return n, nil
}

func arg(n int, v driver.Value) driver.NamedValue { return driver.NamedValue{Ordinal: n, Value: v} }

// read returns the value of a key, or store.ErrNotFound.
func (c *conn) read(bucket, key string) ([]byte, error) {
	rows, err := c.get.(driver.StmtQueryContext).QueryContext(context.Background(),
		[]driver.NamedValue{arg(1, bucket), arg(2, []byte(key))})
	if err != nil {
		return nil, translate(c.path, err)
	}
	defer rows.Close()
	var row [1]driver.Value
	switch err := rows.Next(row[:]); {
	case errors.Is(err, io.EOF):
		return nil, store.ErrNotFound
	case err != nil:
		return nil, translate(c.path, err)
	}
	return blob(row[0]), nil
}

// A page of a range ends after so many entries or so many bytes, whichever comes first, so that a
// loop holds little in memory and no statement open.
const (
	pageEntries = 128
	pageBytes   = 1 << 20
)

// page appends to entries the first ones of a bucket that lie at or after low and before high, at most
// limit, and tells whether there may be more.
func (c *conn) page(entries []store.Entry, reverse bool, bucket, low, high string, limit int) (_ []store.Entry, more bool, err error) {
	s := c.up
	if reverse {
		s = c.down
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(),
		[]driver.NamedValue{arg(1, bucket), arg(2, []byte(low)), arg(3, []byte(high)), arg(4, int64(limit))})
	if err != nil {
		return entries, false, translate(c.path, err)
	}
	defer rows.Close()
	var row [2]driver.Value
	for size := 0; size < pageBytes; {
		err := rows.Next(row[:])
		if errors.Is(err, io.EOF) {
			return entries, len(entries) == limit, nil
		}
		if err != nil {
			return entries, false, translate(c.path, err)
		}
		e := store.Entry{Key: string(blob(row[0])), Value: blob(row[1])}
		entries = append(entries, e)
		size += len(e.Key) + len(e.Value)
	}
	return entries, true, nil
}

// blob returns a blob that the driver has read, never nil.
func blob(v driver.Value) []byte {
	b, _ := v.([]byte)
	if b == nil {
		return []byte{}
	}
	return b
}
