package sqlitestore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/bb-kernel/bb/kernelcore/store"
)

// Migration n, numbered from 1 without a gap, brings a database from format n-1 to format n; format 0
// is the empty file. A migration that was released is never changed: a later one corrects it.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID is what the first migration marks a database with.
const applicationID = 0x62626b76

// migrations returns the SQL of the migrations in files, in order.
func migrations(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]string, len(names))
	for i, name := range names { // in lexical order
		var n int
		if _, err := fmt.Sscanf(name, "migrations/%04d_", &n); err != nil || n != i+1 {
			return nil, fmt.Errorf("store: migration %s stands at place %d", name, i+1)
		}
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		all[i] = string(sql)
	}
	return all, nil
}

// openDatabase opens the database at path for writing, up to date.
func openDatabase(ctx context.Context, path string, log *slog.Logger) (*conn, error) {
	all, err := migrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	return openMigrated(ctx, path, all, log)
}

// openMigrated is openDatabase with these migrations.
func openMigrated(ctx context.Context, path string, all []string, log *slog.Logger) (*conn, error) {
	if err := createFile(path); err != nil {
		return nil, err
	}
	have, err := probe(path, len(all))
	if err != nil {
		return nil, err
	}
	c, err := open(path, writing)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, c, have, all, log); err != nil {
		_ = c.close() // the first error tells more
		return nil, err
	}
	if err := c.prepare(writing); err != nil {
		_ = c.close()
		return nil, err
	}
	return c, nil
}

// createFile makes sure that path is a writable file that nobody else can read. SQLite gives its
// other files the same permissions.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unwritable(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return unwritable(path, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return unwritable(path, err)
		}
	}
	return nil
}

// probe returns the format of the database at path without changing it. More than know is a
// *store.NewerError.
func probe(path string, know int) (have int, err error) {
	c, err := open(path, probing)
	if err != nil {
		return 0, err
	}
	defer c.close()
	format, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	owner, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	switch {
	case owner != applicationID && (format != 0 || tables != 0):
		return 0, &store.DamagedError{Path: path, Err: errors.New("it belongs to another program")}
	case format > int64(know):
		return 0, &store.NewerError{Path: path, Have: int(format), Know: know}
	}
	return int(format), nil
}

// migrate brings a database of format have up to date, each step in a transaction of its own.
func migrate(ctx context.Context, c *conn, have int, all []string, log *slog.Logger) error {
	for n := have + 1; n <= len(all); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.script(fmt.Sprintf("BEGIN IMMEDIATE;\n%s\n;PRAGMA user_version = %d;\nCOMMIT", all[n-1], n))
		if err != nil {
			return fmt.Errorf("store: migrating %s to format %d: %w", c.path, n, err)
		}
		log.Info("store: migrated", "path", c.path, "format", n)
	}
	return nil
}
