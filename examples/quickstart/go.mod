module github.com/bb-kernel/bb/examples/quickstart

go 1.25.0

require (
	github.com/bb-kernel/bb/kernelcontract v0.1.0
	github.com/bb-kernel/bb/pluginsdk v0.1.0
	github.com/bb-kernel/bb/kernelcore v0.1.0
	github.com/bb-kernel/bb/sdk v0.1.0
	github.com/bb-kernel/bb/cli v0.1.0
	github.com/bb-kernel/bb/examples/hello-slot v0.1.0
)

replace (
	github.com/bb-kernel/bb/kernelcontract => ../../kernelcontract
	github.com/bb-kernel/bb/pluginsdk => ../../pluginsdk
	github.com/bb-kernel/bb/kernelcore => ../../kernelcore
	github.com/bb-kernel/bb/sdk => ../../sdk
	github.com/bb-kernel/bb/cli => ../../cli
	github.com/bb-kernel/bb/examples/hello-slot => ../../examples/hello-slot
)
