package process_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bb-kernel/bb/bridgekit/process"
)

// role names, in the environment of a child, which of the programs below it is.
const role = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	if program := os.Getenv(role); program != "" {
		child(program)
	}
	os.Exit(m.Run())
}

// child is what the tests start.
func child(program string) {
	switch program {
	case "echo": // ends with its input
		io.Copy(os.Stdout, os.Stdin)
	case "exit3":
		fmt.Fprint(os.Stderr, "last words")
		os.Exit(3)
	case "suicide":
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		time.Sleep(time.Minute)
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		dir, _ := os.Getwd()
		fmt.Println("dir", dir)
	case "stubborn": // ends neither with its input nor on a request
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Minute)
	case "polite": // ends on a request, not with its input
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		fmt.Println("ready")
		<-stop
		os.Exit(7)
	case "parent": // leaves a child of the same group that holds all pipes
		c := exec.Command(os.Args[0])
		c.Env = []string{role + "=stubborn"}
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		c.Start()
		fmt.Println("child", c.Process.Pid)
	case "noisy":
		line := strings.Repeat("n", 1023) + "\n"
		for range 10 << 10 {
			os.Stderr.WriteString(line)
		}
		os.Stderr.WriteString("the end")
	case "closer": // lives without a standard output
		fmt.Println("bye")
		os.Stdout.Close()
		io.Copy(io.Discard, os.Stdin)
	case "blob": // more than a pipe holds, then the end
		os.Stdout.Write(make([]byte, 1<<20))
	case "middle": // starts a child and lives until it is killed
		p, err := process.Start(background, process.Options{Command: []string{os.Args[0]}, Env: []string{role + "=stubborn"}})
		if err != nil {
			panic(err)
		}
		bufio.NewReader(p.Stdout).ReadString('\n')
		fmt.Println(p.PID())
		time.Sleep(time.Minute)
	}
	os.Exit(0)
}
