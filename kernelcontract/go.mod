module github.com/bb-kernel/bb/kernelcontract

go 1.25.0

require (
	github.com/matryer/is v1.4.1 // indirect
	github.com/swaggest/jsonschema-go v0.3.74 // indirect
	github.com/swaggest/refl v1.3.0 // indirect
)
