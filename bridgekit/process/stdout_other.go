//go:build !unix

package process

import "os"

// TakeStdout returns standard output and lets what writes to os.Stdout write to standard error.
func TakeStdout() (*os.File, error) {
	stdout := os.Stdout
	os.Stdout = os.Stderr
	return stdout, nil
}
