module github.com/bb-kernel/bb/bridgekit

go 1.25.0

require github.com/matryer/is v1.4.1
