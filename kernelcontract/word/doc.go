// Package word derives the command line from definitions: the word of a method with its positionals and flags, the
// tree of all words, usage and help, and the way between words and a JSON input.
//
// It is pure: it reads no files, no environment and no terminal, and knows no parser. A program that parses a command
// line hands over [Values] and gets the input with [Input]; [Words] is the way back. The rules are stated in
// docs/spec/cli.md.
package word
