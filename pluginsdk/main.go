package pluginsdk

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/bb-kernel/bb/bridgekit/process"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/contract"
)

// Main makes a program of a plugin, and ends the process:
//
//	demo                  serves the plugin to the kernel that has started it
//	demo --manifest       prints the plugin's contract.json; Setup does not run
//	demo --package DIR    writes a folder that `bb plugin install` takes
//
// A plugin with problems ends the second and third with status 1 and every problem on standard error. While it serves,
// standard output belongs to the protocol: what the program prints by itself goes to standard error, which is its log.
// SIGTERM and an interrupt from the keyboard are taken as the end of the input.
func Main(p *Plugin) { os.Exit(run(p, os.Args[1:], os.Stdout, os.Stderr)) }

func run(p *Plugin, args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 0:
		return serveStdio(p, stderr)
	case len(args) == 1 && args[0] == "--manifest":
		raw, err := manifest(p)
		if err == nil {
			_, err = stdout.Write(raw)
		}
		return exit(err, stderr)
	case len(args) == 2 && args[0] == "--package":
		return exit(writePackage(p, args[1]), stderr)
	}
	fmt.Fprint(stderr, usage(p))
	return kernelcontract.ExitUsage
}

func usage(p *Plugin) string {
	return fmt.Sprintf(`This is the plugin %s: a program that a kernel starts and talks to over standard input and output.

  --manifest       print its contract.json
  --package DIR    write a folder that can be installed: bb plugin install DIR
`, p.ID)
}

func exit(err error, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintln(stderr, err)
		return kernelcontract.ExitFailure
	}
	return 0
}

// serveStdio serves the plugin on standard input and output.
func serveStdio(p *Plugin, stderr io.Writer) int {
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprint(stderr, usage(p))
		return kernelcontract.ExitUsage
	}
	stdout, err := process.TakeStdout()
	if err != nil {
		return exit(fmt.Errorf("standard output cannot be kept for the protocol: %w", err), stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = Serve(ctx, p, os.Stdin, stdout)
	if ctx.Err() != nil {
		err = nil // the end was asked for
	}
	return exit(err, stderr)
}

func manifest(p *Plugin) ([]byte, error) {
	c, err := ContractOf(p)
	if err != nil {
		return nil, err
	}
	return c.Encode()
}

// writePackage writes what is installed into dir, which may exist: the contract, this program under the plugin's name, the
// guide and the skills.
func writePackage(p *Plugin, dir string) error {
	raw, err := manifest(p)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program's own file is not found: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := p.ID
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := copyFile(filepath.Join(dir, name), self); err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		content fs.FS
	}{{guideFolder, p.Guide}, {skillsFolder, p.Skills}} {
		to := filepath.Join(dir, f.name)
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if f.content == nil {
			continue
		}
		if err := os.CopyFS(to, f.content); err != nil {
			return fmt.Errorf("the folder %s: %w", f.name, err)
		}
	}
	return os.WriteFile(filepath.Join(dir, contract.File), raw, 0o644) // last: a folder without it is not a package
}

// copyFile copies an executable file, whatever stands there.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) { // one that runs cannot be written to
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
