module github.com/bb-kernel/bb/cli

go 1.25.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/bb-kernel/bb/kernelcontract v0.1.0
	github.com/bb-kernel/bb/sdk v0.1.0
	github.com/matryer/is v1.4.1
	golang.org/x/sys v0.47.0
	golang.org/x/term v0.45.0
)

require (
	github.com/swaggest/jsonschema-go v0.3.74 // indirect
	github.com/swaggest/refl v1.3.0 // indirect
)

replace (
	github.com/bb-kernel/bb/kernelcontract => ../kernelcontract
	github.com/bb-kernel/bb/sdk => ../sdk
)
