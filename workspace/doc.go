// Package workspace holds the tests over the whole repository: which module may import which, how exported code is
// documented, that every listed rule has its test, that every command and every Go block of the documentation works,
// and the built programs run end to end. It exports nothing and is never released.
package workspace
