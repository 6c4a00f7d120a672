module github.com/bb-kernel/bb/conformance

go 1.25.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/bb-kernel/bb/bridgekit v0.1.0
	github.com/bb-kernel/bb/examples/provider-echo v0.1.0
	github.com/bb-kernel/bb/kernelcontract v0.1.0
	github.com/bb-kernel/bb/pluginsdk v0.1.0
	github.com/bb-kernel/bb/sdk v0.1.0
	github.com/matryer/is v1.4.1
)

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/sourcegraph/jsonrpc2 v0.2.3 // indirect
	github.com/swaggest/jsonschema-go v0.3.74 // indirect
	github.com/swaggest/refl v1.3.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.14.0 // indirect
)

replace (
	github.com/bb-kernel/bb/bridgekit => ../bridgekit
	github.com/bb-kernel/bb/examples/provider-echo => ../examples/provider-echo
	github.com/bb-kernel/bb/kernelcontract => ../kernelcontract
	github.com/bb-kernel/bb/pluginsdk => ../pluginsdk
	github.com/bb-kernel/bb/sdk => ../sdk
)
