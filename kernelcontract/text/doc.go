// Package text turns results and errors into text for people: what a method's own RenderText does not say, the generic
// renderer does. Scalars print as they are, objects as `key: value`, arrays of objects as a table, and empty results say
// so. Text of foreign origin is stripped of what a terminal would obey.
//
// No text ends in a line feed. The rules are stated in docs/spec/cli.md.
package text
