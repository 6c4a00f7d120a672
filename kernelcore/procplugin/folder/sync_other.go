//go:build !unix

package folder

// syncDir does nothing where folders cannot be synced.
func syncDir(string) error { return nil }
