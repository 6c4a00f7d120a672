// Package threads is the part of a kernel that runs coding agents: the plugins threads and providers, with the services of
// package threadapi. [Plugins] makes them; a program that does not import this package links none of it. The rules are
// docs/spec/threads.md.
package threads
