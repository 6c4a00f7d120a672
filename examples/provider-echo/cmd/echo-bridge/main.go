// Echo-bridge serves the echo provider on standard input and output. See package echo.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/bb-kernel/bb/bridgekit"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
)

func main() { os.Exit(run()) }

func run() int {
	flags := flag.NewFlagSet("echo-bridge", flag.ContinueOnError)
	profile := flags.String("profile", string(echo.Full), fmt.Sprintf("what the provider can do, one of %v", echo.Profiles()))
	state := flags.String("state", "", "the `directory` in which sessions are kept (default: BB_PLUGIN_DATA_DIR, or one below the temporary directory)")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "echo-bridge is a provider bridge without a model. It speaks the bridge protocol on standard input and output;\nstart it from a server, or with: bb-conformance bridge -- echo-bridge")
		flags.PrintDefaults()
		fmt.Fprintln(flags.Output(), "\nA prompt that begins with one of these words:")
		for _, w := range echo.Words() {
			fmt.Fprintf(flags.Output(), "  %-38s %s\n", w.Name+" "+w.Usage, w.Summary)
		}
	}
	switch err := flags.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(os.Stderr, "echo-bridge takes no arguments, only flags: %q\n", flags.Args())
		return 2
	}
	bridge, err := echo.Bridge(echo.Options{Profile: echo.Profile(*profile), StateDir: *state})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	bridgekit.Main(bridge) // ends the process
	return 0
}
