module github.com/bb-kernel/bb/bridgekit

go 1.25.0
