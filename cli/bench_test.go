package cli_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/cli"
	"github.com/bb-kernel/bb/kernelcontract"
)

// many returns services with n words in groups of ten.
func many(n int) []kernelcontract.Implementation {
	out := make([]kernelcontract.Implementation, n/10)
	for i := range out {
		s := &kernelcontract.Service{ID: fmt.Sprintf("many/s%d", i), Summary: "A service of ten words"}
		for j := range 10 {
			s.Methods = append(s.Methods, &kernelcontract.Query[greetInput, greetOutput]{
				Ref: fmt.Sprintf("%s.method%d", s.ID, j), Summary: "Does one of many things", CLI: kernelcontract.CLI{Args: []string{"name"}}})
		}
		out[i] = kernelcontract.Implementation{Service: s}
	}
	return out
}

// warm returns a shell whose cache knows n words.
func warm(b *testing.B, n int) *shell {
	f := serve(b, many(n)...)
	s := newShell(b, f.URL)
	if r := s.run("--help"); r.code != 0 {
		b.Fatal(r.err)
	}
	f.Close()
	return s
}

// BenchmarkHelp measures `bb --help` in process with a warm cache.
func BenchmarkHelp(b *testing.B) {
	for _, n := range []int{50, 5000} {
		b.Run(fmt.Sprint(n, " words"), func(b *testing.B) {
			s := warm(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if code := cli.Main(b.Context(), []string{"--help"}, s.options(io.Discard, io.Discard)); code != 0 {
					b.Fatal(code)
				}
			}
		})
	}
}

// BenchmarkCompleteWord measures the completion of a flag with a warm cache.
func BenchmarkCompleteWord(b *testing.B) {
	for _, n := range []int{50, 5000} {
		b.Run(fmt.Sprint(n, " words"), func(b *testing.B) {
			s := warm(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if code := cli.Main(b.Context(), []string{"__complete", "--", "s3", "method4", "--sal"}, s.options(io.Discard, io.Discard)); code != 0 {
					b.Fatal(code)
				}
			}
		})
	}
}

// BenchmarkProgram measures the program from start to end, beside a Go program that does nothing.
func BenchmarkProgram(b *testing.B) {
	dir := b.TempDir()
	build := func(name, target string) string {
		out := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-o", out, target)
		if text, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, text)
		}
		return out
	}
	empty := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(empty, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	nothing, bb := build("nothing", empty), build("bb", "./cmd/bb")
	run := func(b *testing.B, env []string, args ...string) {
		for b.Loop() {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), env...)
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("empty program", func(b *testing.B) { run(b, nil, nothing) })
	for _, n := range []int{50, 5000} {
		b.Run(fmt.Sprint("help of ", n, " words"), func(b *testing.B) {
			f := serve(b, many(n)...)
			home := b.TempDir()
			env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "LocalAppData=" + home, "BB_SERVER_URL=" + f.URL, "BB_TOKEN="}
			cmd := exec.Command(bb, "--help")
			cmd.Env = append(os.Environ(), env...)
			if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "A service of ten words") {
				b.Fatalf("%v: %s", err, out)
			}
			f.Close()
			run(b, env, bb, "--help")
		})
	}
}
