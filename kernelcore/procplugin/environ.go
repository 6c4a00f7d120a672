package procplugin

import (
	"os"
	"slices"
	"strings"
)

// passed are the variables that a program gets of the kernel's environment: where programs and temporary files are, and how
// people read. Everything else may be a secret.
func passed() []string {
	return []string{
		"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
		// Windows
		"SystemRoot", "SystemDrive", "windir", "TEMP", "TMP", "PATHEXT", "ComSpec", "USERPROFILE", "LOCALAPPDATA", "APPDATA", "NUMBER_OF_PROCESSORS",
	}
}

// environ returns the environment of a program.
func (p *program) environ(dataDir, tempDir string) []string {
	all := p.o.Environ
	if all == nil {
		all = os.Environ
	}
	var env []string
	for _, v := range all() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "LC_") || slices.ContainsFunc(passed(), func(n string) bool { return strings.EqualFold(n, name) }) {
			env = append(env, v)
		}
	}
	return append(env, "BB_PLUGIN_ID="+p.contract.ID, "BB_PLUGIN_DIR="+p.dir, "BB_PLUGIN_DATA_DIR="+dataDir, "BB_PLUGIN_TEMP_DIR="+tempDir)
}
