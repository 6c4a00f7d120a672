module github.com/bb-kernel/bb/server

go 1.25.0

require (
	github.com/bb-kernel/bb/kernelcontract v0.1.0
	github.com/bb-kernel/bb/pluginsdk v0.1.0
	github.com/bb-kernel/bb/kernelcore v0.1.0
	github.com/bb-kernel/bb/examples/hello-slot v0.1.0
	github.com/bb-kernel/bb/examples/notes-fixture v0.1.0
)

replace (
	github.com/bb-kernel/bb/kernelcontract => ../kernelcontract
	github.com/bb-kernel/bb/pluginsdk => ../pluginsdk
	github.com/bb-kernel/bb/kernelcore => ../kernelcore
	github.com/bb-kernel/bb/examples/hello-slot => ../examples/hello-slot
	github.com/bb-kernel/bb/examples/notes-fixture => ../examples/notes-fixture
)
