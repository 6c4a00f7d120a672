package contract

import (
	"path/filepath"
	"strings"
)

// Command returns the command line of the program for a plugin in the folder dir, which is absolute, on a system ("linux", "darwin",
// "windows"). A first word with a slash is a file of the folder, as are further words that begin with "./"; a first word
// without one is looked up where the kernel looks for programs. Without Run the program is the file that is named like the plugin.
// On Windows a program of the folder whose name has no extension gets ".exe".
func (c *Contract) Command(dir, system string) []string {
	run := c.Run
	if len(run) == 0 {
		run = []string{"./" + c.ID}
	}
	words := make([]string, len(run))
	for i, w := range run {
		words[i] = w
		if i == 0 && strings.Contains(w, "/") || strings.HasPrefix(w, "./") {
			words[i] = filepath.Join(dir, filepath.FromSlash(w))
			if i == 0 && system == "windows" && filepath.Ext(w) == "" {
				words[i] += ".exe"
			}
		}
	}
	return words
}
