package timeline_test

// Windows has no limit on the size of files to stand for a full disk.
var limitedChildren = map[string]func(dir string) error{}
