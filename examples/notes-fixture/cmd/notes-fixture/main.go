// Command notes-fixture is the plugin notes-fixture as a program of its own: bb plugin install takes the folder that its --package writes.
package main

import (
	notes "github.com/bb-kernel/bb/examples/notes-fixture"
	"github.com/bb-kernel/bb/pluginsdk"
)

func main() { pluginsdk.Main(notes.Plugin()) }
