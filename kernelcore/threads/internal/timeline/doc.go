// Package timeline keeps the events of threads on a store, in order and without a gap, and the rows that they fold to.
//
// A [Writer] numbers the events of one thread, folds them, and stores them in groups: what is appended while a commit runs
// goes into the next. Readers get only what is stored, from any cursor on. When a turn has ended, [Log.Compact] replaces
// runs of its streamed text by single events. The rules are docs/spec/timeline.md.
package timeline
