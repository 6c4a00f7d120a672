// Package engine runs threads: it gives inputs to the agents of providers, turns what they report into persisted events,
// and sees to it that every input reaches exactly one end, whatever happens to the agent, the store or the program.
//
// A thread that does something has an actor, [thread], with a mutex under which its events are made and appended, and a
// driver goroutine that sends one thing after the other to the bridge while there is something to send. What the bridge
// reports comes on the goroutine that reads from it. The rules are docs/spec/threads.md.
package engine
