// Package doctest holds the documentation to the truth: it reads the fenced blocks of Markdown files, checks that Go
// blocks are parts of compiled files, and runs the commands of console blocks and compares what they print.
//
// CONTRIBUTING.md states the conventions for authors.
package doctest
