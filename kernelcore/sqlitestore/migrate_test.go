package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matryer/is"
)

// later are migrations as a later version could add them.
var later = []string{
	"CREATE TABLE later (id INTEGER PRIMARY KEY); INSERT INTO later VALUES (1); INSERT INTO later VALUES (2)",
	"UPDATE entry SET value = CAST(value || '!' AS BLOB)",
}

// TestMigrationsFromEachVersion brings databases of each earlier format up to date.
func TestMigrationsFromEachVersion(t *testing.T) {
	released, err := migrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	all := append(released, later...)
	for from := range len(all) + 1 {
		t.Run(fmt.Sprintf("from %d", from), func(t *testing.T) {
			is := is.New(t)
			path := filepath.Join(t.TempDir(), DatabaseFile)
			quiet := slog.New(slog.DiscardHandler)
			if from > 0 {
				c, err := openMigrated(t.Context(), path, all[:from], quiet)
				is.NoErr(err)
				is.NoErr(c.exec(c.put, arg(1, "b"), arg(2, []byte("k")), arg(3, []byte("v"))))
				is.NoErr(c.close())
			}
			c, err := openMigrated(t.Context(), path, all, quiet)
			is.NoErr(err)
			defer c.close()
			n, err := c.number("PRAGMA user_version")
			is.NoErr(err)
			is.Equal(n, int64(len(all)))
			n, err = c.number("SELECT count(*) FROM later")
			is.NoErr(err)
			is.Equal(n, int64(2))
			if from > 0 {
				v, err := c.read("b", "k")
				is.NoErr(err)
				is.Equal(string(v), "v"+strings.Repeat("!", min(1, len(all)-from)))
			}
		})
	}
}

// TestMigrationIsWholeOrNothing has a migration fail in its middle.
func TestMigrationIsWholeOrNothing(t *testing.T) {
	is := is.New(t)
	released, err := migrations(migrationFiles)
	is.NoErr(err)
	path := filepath.Join(t.TempDir(), DatabaseFile)
	quiet := slog.New(slog.DiscardHandler)
	bad := append(released, "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1)")
	_, err = openMigrated(t.Context(), path, bad, quiet)
	is.True(err != nil)
	is.True(strings.Contains(err.Error(), path))
	is.True(strings.Contains(err.Error(), fmt.Sprintf("format %d", len(bad))))

	c, err := openMigrated(t.Context(), path, released, quiet) // the old version still can
	is.NoErr(err)
	n, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'half'")
	is.NoErr(err)
	is.Equal(n, int64(0))
	is.NoErr(c.close())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = openMigrated(ctx, path, append(released, later...), quiet)
	is.True(errors.Is(err, context.Canceled))
}

func TestMigrationsAreNumberedWithoutGap(t *testing.T) {
	is := is.New(t)
	_, err := migrations(fstest.MapFS{"migrations/0001_a.sql": {}, "migrations/0003_b.sql": {}})
	is.True(err != nil && strings.Contains(err.Error(), "0003_b.sql"))
	_, err = migrations(fstest.MapFS{"migrations/a.sql": {}})
	is.True(err != nil)
}
