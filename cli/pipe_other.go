//go:build !unix

package cli

import "os"

// watchPipe does nothing here: the next write tells that nobody reads the pipe any more.
func watchPipe(*os.File, func()) (stop func()) { return func() {} }
