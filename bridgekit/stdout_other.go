//go:build !unix

package bridgekit

import "os"

// takeStdout returns standard output and lets what writes to os.Stdout write to standard error.
func takeStdout() (*os.File, error) {
	stdout := os.Stdout
	os.Stdout = os.Stderr
	return stdout, nil
}
