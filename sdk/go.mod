module github.com/bb-kernel/bb/sdk

go 1.25.0

require github.com/matryer/is v1.4.1

replace github.com/bb-kernel/bb/kernelcontract => ../kernelcontract
