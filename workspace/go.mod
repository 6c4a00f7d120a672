module github.com/bb-kernel/bb/workspace

go 1.25.0
