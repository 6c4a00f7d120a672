package sqlitestore_test

// Windows has neither a limit on file sizes nor users to become.
var limitedChildren map[string]func(dir string) error
