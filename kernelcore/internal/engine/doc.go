// Package engine runs methods: an immutable catalog of them, and the one pipeline that every surface calls through.
//
// The order of the pipeline is admission, ambient fill, validation and defaults, guards, deadline, handler, output
// validation, rendering, record (docs/spec/kernel.md).
package engine
