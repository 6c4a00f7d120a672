package cache_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
)

const server = "http://127.0.0.1:1"

// manifestOf is a manifest with n words in one group.
func manifestOf(generation, n int) json.RawMessage {
	methods := make([]string, n)
	for i := range methods {
		methods[i] = fmt.Sprintf(`{"pluginId":"a","service":"b","method":"m%d","summary":"S","input":{"type":"object"},"cli":{"ref":"a/b.m%d","kind":"query","groups":[["g"]],"name":"m%d","fields":[]}}`, i, i, i)
	}
	return json.RawMessage(fmt.Sprintf(`{"format":1,"serverId":"s","generation":%d,"plugins":[{"id":"a","services":[{"id":"a/b","summary":"B","group":["g"],"methods":[%s]}]}]}`,
		generation, strings.Join(methods, ",")))
}

func build(t testing.TB, generation, n int) *cache.Catalog {
	t.Helper()
	c, err := cache.Build(server, manifestOf(generation, n), []cache.Chapter{{Name: "intro", Text: fmt.Sprint(generation)}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check reads everything of a catalog and returns its generation.
func check(c *cache.Catalog) (uint64, error) {
	g := c.Group("g")
	if g == nil {
		return 0, errors.New("the group is missing")
	}
	head, err := c.Head(g.File)
	if err != nil {
		return 0, err
	}
	for i := range head.Words {
		r, err := c.Record(g.File, &head.Words[i])
		if err != nil {
			return 0, err
		}
		if r.Word.Name != head.Words[i].Name {
			return 0, fmt.Errorf("%s has the record of %s", head.Words[i].Name, r.Word.Name)
		}
	}
	chapters, err := c.Guide()
	if err != nil {
		return 0, err
	}
	if chapters[0].Text != fmt.Sprint(c.Index.Generation) || len(head.Words) != int(c.Index.Generation) {
		return 0, errors.New("two catalogs are mixed")
	}
	return c.Index.Generation, nil
}

func TestMemoryAndDiskAgree(t *testing.T) {
	is := is.New(t)
	s := cache.Store{Dir: t.TempDir()}
	c := build(t, 7, 7)
	_, err := check(c)
	is.NoErr(err)
	is.NoErr(s.Save(c))
	loaded, err := s.Load(server + "/")
	is.NoErr(err)
	generation, err := check(loaded)
	is.NoErr(err)
	is.Equal(generation, uint64(7))
	doc, err := loaded.Reference("a")
	is.NoErr(err)
	is.Equal(len(doc.Services[0].Methods), 7)
	doc, err = loaded.Reference("z")
	is.NoErr(err)
	is.Equal(doc, nil)
}

// TestReadersSeeOneCatalog proves that a catalog is replaced whole while others read it.
func TestReadersSeeOneCatalog(t *testing.T) {
	s := cache.Store{Dir: t.TempDir()}
	if err := s.Save(build(t, 1, 1)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c, err := s.Load(server)
				if err == nil {
					_, err = check(c)
				}
				if err != nil && !errors.Is(err, cache.ErrAbsent) { // gone meanwhile: the server is asked
					t.Error(err)
					return
				}
			}
		})
	}
	for g := 2; g < 40; g++ {
		if err := s.Save(build(t, g, g)); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	is := is.New(t)
	s := cache.Store{Dir: t.TempDir()}
	is.NoErr(s.Save(build(t, 1, 1)))
	is.NoErr(filepath.Walk(s.Dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && path != s.Dir && os.PathSeparator == '/' && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	}))
}

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"http://LOCALHOST:80/": "http://localhost", "HTTPS://a.b:443/x/": "https://a.b/x", "http://a:443": "http://a:443",
		"http://127.0.0.1:38886": "http://127.0.0.1:38886", "nonsense": "nonsense", "http://[::1]:80": "http://[::1]",
	} {
		if got := cache.Normalize(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestForeignFormat(t *testing.T) {
	is := is.New(t)
	_, err := cache.Build(server, json.RawMessage(`{"format":2}`), nil)
	var e *manifest.FormatError
	is.True(errors.As(err, &e))
	s := cache.Store{Dir: t.TempDir()}
	is.NoErr(s.Save(build(t, 1, 1)))
	files, err := filepath.Glob(filepath.Join(s.Dir, "*", "index.json"))
	is.NoErr(err)
	raw, err := os.ReadFile(files[0])
	is.NoErr(err)
	is.NoErr(os.WriteFile(files[0], []byte(strings.Replace(string(raw), `"format":1`, `"format":9`, 1)), 0o600))
	_, err = s.Load(server)
	is.True(errors.Is(err, cache.ErrAbsent))
}

func TestHelpNamesFewWordsOfMany(t *testing.T) {
	is := is.New(t)
	g := build(t, 20, 20).Group("g")
	is.Equal(g.Words, "m0, m1, m2, m3, m4, m5, m6, m7")
	is.Equal(g.More, 12)
}

func FuzzBuild(f *testing.F) {
	f.Add([]byte(manifestOf(1, 2)))
	f.Add([]byte(`{"format":1,"plugins":[{"services":[{"id":"a/b","aliases":[[]],"methods":[{"cli":{"ref":"a/b.c","groups":[[]],"name":"c","flagAlias":{"group":["g"],"name":"c","flag":"x"},"fields":[{"position":0}]}}]}]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := cache.Build(server, raw, nil)
		if err != nil {
			return
		}
		for i := range c.Index.Groups {
			g := &c.Index.Groups[i]
			head, err := c.Head(g.File)
			if err != nil {
				t.Fatal(err)
			}
			for j := range head.Words {
				if _, err := c.Record(g.File, &head.Words[j]); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
