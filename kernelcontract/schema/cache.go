package schema

import (
	"reflect"
	"sync"
)

// Cache keeps the schemas of Go types, so that each is derived once. The zero Cache is empty and ready; it is safe for
// concurrent use and must not be copied.
type Cache struct {
	entries sync.Map // reflect.Type → *cacheEntry
}

type cacheEntry struct {
	once   sync.Once
	schema *Schema
	err    error
}

// Of is schema.Of, remembered. Several callers of one type wait for the same derivation; the Schema is shared and
// read-only.
func (c *Cache) Of(t reflect.Type) (*Schema, error) {
	v, ok := c.entries.Load(t)
	if !ok {
		v, _ = c.entries.LoadOrStore(t, &cacheEntry{})
	}
	e := v.(*cacheEntry)
	e.once.Do(func() { e.schema, e.err = Of(t) })
	return e.schema, e.err
}
