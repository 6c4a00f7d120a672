module github.com/bb-kernel/bb/kernelcontract

go 1.25.0

require (
	github.com/matryer/is v1.4.1
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/swaggest/jsonschema-go v0.3.74
)

require (
	github.com/swaggest/refl v1.3.0 // indirect
	golang.org/x/text v0.14.0 // indirect
)
