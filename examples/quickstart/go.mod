module github.com/bb-kernel/bb/examples/quickstart

go 1.25.0

require (
	github.com/bb-kernel/bb/bridgekit v0.1.0
	github.com/bb-kernel/bb/cli v0.1.0
	github.com/bb-kernel/bb/examples/hello-slot v0.1.0
	github.com/bb-kernel/bb/examples/provider-echo v0.1.0
	github.com/bb-kernel/bb/kernelcontract v0.1.0
	github.com/bb-kernel/bb/kernelcore v0.1.0
	github.com/bb-kernel/bb/pluginsdk v0.1.0
	github.com/bb-kernel/bb/sdk v0.1.0
	github.com/matryer/is v1.4.1
)

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/sourcegraph/jsonrpc2 v0.2.3 // indirect
	github.com/swaggest/jsonschema-go v0.3.74 // indirect
	github.com/swaggest/refl v1.3.0 // indirect
	github.com/tidwall/btree v1.8.2 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/term v0.45.0 // indirect
	golang.org/x/text v0.14.0 // indirect
	modernc.org/libc v1.75.7 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
	modernc.org/sqlite v1.59.0 // indirect
)

replace (
	github.com/bb-kernel/bb/cli => ../../cli
	github.com/bb-kernel/bb/examples/hello-slot => ../../examples/hello-slot
	github.com/bb-kernel/bb/examples/provider-echo => ../../examples/provider-echo
	github.com/bb-kernel/bb/kernelcontract => ../../kernelcontract
	github.com/bb-kernel/bb/kernelcore => ../../kernelcore
	github.com/bb-kernel/bb/pluginsdk => ../../pluginsdk
	github.com/bb-kernel/bb/sdk => ../../sdk
)

replace github.com/bb-kernel/bb/bridgekit => ../../bridgekit
