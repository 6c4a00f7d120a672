package providers

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// environment is that of a bridge's process: what a program needs of this one's, what the declaration lets through, what
// the plugin sets, and the directories that are the plugin's.
func environment(d protocol.ProviderDeclaration, set map[string]string, data, temp string) []string {
	base := bridgekit.ChildEnv(os.Environ(), d.Env.Passthrough, map[string]string{
		bridgekit.DataDirVariable: data, bridgekit.TempDirVariable: temp,
	})
	env := make([]string, 0, len(base)+len(set))
	for _, line := range base {
		name, _, _ := strings.Cut(line, "=")
		if _, again := set[name]; !again {
			env = append(env, line)
		}
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	return env
}

// ambient are the variables that every session gets for the shells of its agent.
func (p *Pool) ambient() map[string]string {
	env := map[string]string{"BB_HOST_ID": p.kernel.ServerID()}
	if url := p.kernel.URL(); url != "" {
		env["BB_SERVER_URL"] = url
	}
	if path := commandLine(); path != "" {
		env["BB_CLI"] = path
	}
	return env
}

// commandLine finds the bb program: beside this one, else in the PATH. "" when it is in neither.
func commandLine() string {
	name := "bb"
	if runtime.GOOS == "windows" {
		name = "bb.exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	return path
}

// absolute makes a relative path of a command one that holds in every directory. A bare name is left to the PATH.
func absolute(command []string) []string {
	if len(command) == 0 || !strings.ContainsAny(command[0], `/\`) || filepath.IsAbs(command[0]) {
		return command
	}
	path, err := filepath.Abs(command[0])
	if err != nil {
		return command
	}
	return append([]string{path}, command[1:]...)
}
