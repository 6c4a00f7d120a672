module github.com/bb-kernel/bb/bridgekit

go 1.25.0

require github.com/matryer/is v1.4.1

require (
	github.com/sourcegraph/jsonrpc2 v0.2.3
	golang.org/x/sys v0.47.0
)
