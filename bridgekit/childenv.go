package bridgekit

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/record"
)

// ChildEnv returns the environment for a program that a bridge starts, as "NAME=value", sorted. Of environ, usually
// os.Environ(), it keeps what a program needs to run and to talk: PATH, HOME, the locale, the directories for temporary
// files, proxies, on Windows the system's own names, and the names in passthrough, usually Env.Passthrough of the
// declaration. The ambient names are added, usually SessionParams.Env: core chose them for the agent's shells.
//
// Nothing else passes. The variable that turns recording on never does, nor any BB_ name of environ: those configure the
// server, and some are its secrets. Ambient names must begin with BB_.
func ChildEnv(environ, passthrough []string, ambient map[string]string) []string {
	return childEnv(environ, passthrough, ambient, runtime.GOOS == "windows")
}

func childEnv(environ, passthrough []string, ambient map[string]string, windows bool) []string {
	fold := func(name string) string { return name }
	if windows {
		fold = strings.ToUpper // names there have no case
	}
	allowed := map[string]bool{}
	for _, names := range [][]string{systemNames(windows), passthrough} {
		for _, n := range names {
			allowed[fold(n)] = true
		}
	}
	env := map[string]string{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && name != "" && !ownName(name) && (allowed[fold(name)] || isLocale(fold(name))) {
			env[name] = value
		}
	}
	for name, value := range ambient {
		if ownName(name) && !strings.EqualFold(name, record.Variable) && !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") {
			env[name] = value
		}
	}
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// ownName tells whether a name belongs to bb, however it is written.
func ownName(name string) bool { return len(name) >= 3 && strings.EqualFold(name[:3], "BB_") }

func isLocale(name string) bool { return strings.HasPrefix(name, "LC_") }

// systemNames are the names that a program needs to run and to reach the network.
func systemNames(windows bool) []string {
	names := []string{
		"PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	}
	if windows { // without these most programs do not even start
		names = append(names, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT",
			"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
			"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432")
	}
	return names
}
