// Package isolate runs the modules of bundles: it compiles them, keeps instances warm, and dispatches one call at a time to an
// instance. A module has memory, the time and random bytes, and nothing else; all that it asks for goes through the function that
// the dispatch brings. The rules are docs/spec/bundles.md.
package isolate
