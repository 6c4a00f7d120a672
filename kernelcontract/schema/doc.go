// Package schema derives JSON Schemas from Go types and holds them as ordered data.
//
// The result is JSON Schema 2020-12, strict, with properties in Go field order; docs/spec/schemas.md states the rules.
package schema
