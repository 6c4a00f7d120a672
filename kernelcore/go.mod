module github.com/bb-kernel/bb/kernelcore

go 1.25.0

require (
	github.com/bb-kernel/bb/kernelcontract v0.1.0
	github.com/bb-kernel/bb/pluginsdk v0.1.0
	github.com/matryer/is v1.4.1
	github.com/tidwall/btree v1.8.2
	golang.org/x/sys v0.47.0
	modernc.org/sqlite v1.59.0
)

require github.com/tetratelabs/wazero v1.12.0

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/sourcegraph/jsonrpc2 v0.2.3 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/text v0.14.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)

require (
	github.com/bb-kernel/bb/bridgekit v0.1.0
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/swaggest/jsonschema-go v0.3.74 // indirect
	github.com/swaggest/refl v1.3.0 // indirect
	modernc.org/libc v1.75.7 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

replace (
	github.com/bb-kernel/bb/kernelcontract => ../kernelcontract
	github.com/bb-kernel/bb/pluginsdk => ../pluginsdk
)

replace github.com/bb-kernel/bb/bridgekit => ../bridgekit
