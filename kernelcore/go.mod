module github.com/bb-kernel/bb/kernelcore

go 1.25.0

require (
	github.com/bb-kernel/bb/kernelcontract v0.1.0
	github.com/bb-kernel/bb/pluginsdk v0.1.0
)

require (
	github.com/matryer/is v1.4.1 // indirect
	github.com/tidwall/btree v1.8.2 // indirect
)

replace (
	github.com/bb-kernel/bb/kernelcontract => ../kernelcontract
	github.com/bb-kernel/bb/pluginsdk => ../pluginsdk
)
