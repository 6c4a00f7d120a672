module github.com/bb-kernel/bb/cli

go 1.25.0

require (
	github.com/bb-kernel/bb/kernelcontract v0.1.0
	github.com/bb-kernel/bb/sdk v0.1.0
)

replace (
	github.com/bb-kernel/bb/kernelcontract => ../kernelcontract
	github.com/bb-kernel/bb/sdk => ../sdk
)
