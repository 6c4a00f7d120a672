module github.com/bb-kernel/bb/bridgekit

go 1.25.0

require github.com/matryer/is v1.4.1

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/sourcegraph/jsonrpc2 v0.2.3
	golang.org/x/sys v0.47.0
)

require golang.org/x/text v0.14.0 // indirect
