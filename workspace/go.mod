module github.com/bb-kernel/bb/workspace

go 1.25.0

require github.com/bb-kernel/bb/conformance v0.1.0

replace (
	github.com/bb-kernel/bb/conformance => ../conformance
	github.com/bb-kernel/bb/kernelcontract => ../kernelcontract
	github.com/bb-kernel/bb/sdk => ../sdk
)
