// Command hello-slot is the plugin hello-slot as a program of its own: bb plugin install takes the folder that its --package writes.
package main

import (
	hello "github.com/bb-kernel/bb/examples/hello-slot"
	"github.com/bb-kernel/bb/pluginsdk"
)

func main() { pluginsdk.Main(hello.Plugin()) }
