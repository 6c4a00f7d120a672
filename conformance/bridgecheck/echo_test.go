package bridgecheck_test

import (
	"context"
	"io"
	"os"

	"github.com/bb-kernel/bb/bridgekit"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
)

func echoFixture() []byte { return echo.Fixture() }

// startEcho runs the echo bridge of a profile in this process. wait returns when it has ended.
func startEcho(args []string) (stdin io.WriteCloser, stdout io.Reader, wait func()) {
	profile := echo.Full
	for i, arg := range args {
		if arg == "--profile" && i+1 < len(args) {
			profile = echo.Profile(args[i+1])
		}
	}
	definition, err := echo.Bridge(echo.Options{Profile: profile})
	if err != nil {
		panic(err)
	}
	bridge, err := bridgekit.Define(definition)
	if err != nil {
		panic(err)
	}
	in, toBridge, err := os.Pipe() // pipes of the system hold some lines: the proxy writes to one while it reads the other
	if err != nil {
		panic(err)
	}
	fromBridge, out, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := bridge.Run(context.Background(), in, out); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
		}
		in.Close()
		out.Close()
	}()
	return toBridge, fromBridge, func() { <-done }
}
