package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxLinks is how many symbolic links a path may lead through: what Linux follows.
const maxLinks = 40

// resolve returns where a file at path would be, with every symbolic link followed and every ".." taken after the links
// before it, as the system does. What does not exist yet is kept as it is written. A relative path starts at base.
func resolve(base, path string) (string, error) {
	path, err := absolute(base, path)
	if err != nil {
		return "", err
	}
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	done := root
	rest := strings.Split(path[len(volume):], string(filepath.Separator))
	missing := false // done does not exist: nothing below it does
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if missing {
				return "", fmt.Errorf("%s: a .. behind a folder that does not exist", path)
			}
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		if missing {
			done = next
			continue
		}
		target, link, err := readLink(next)
		if errors.Is(err, fs.ErrNotExist) {
			missing, done = true, next
			continue
		}
		if err != nil {
			return "", err
		}
		if !link {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
		}
		if target, err = absolute(done, target); err != nil {
			return "", err
		}
		if filepath.VolumeName(target) != volume {
			return "", fmt.Errorf("%s: a link leads to another volume", path)
		}
		rest = append(strings.Split(target[len(volume):], string(filepath.Separator)), rest...)
		done = root
	}
	return done, nil
}

// readLink says whether there is a symbolic link at path, or a junction, and where it leads.
func readLink(path string) (target string, link bool, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", false, err
	}
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 { // Windows shows junctions as irregular files
		return "", false, nil
	}
	target, err = os.Readlink(path)
	return target, true, err
}

// absolute makes path absolute without resolving anything in it.
func absolute(base, path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", errors.New("an empty path, or one with a zero byte")
	}
	if runtime.GOOS == "windows" {
		if err := checkWindows(path); err != nil {
			return "", err
		}
		path = filepath.FromSlash(path)
	}
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(base) {
			return "", fmt.Errorf("%s: relative to %s, which is relative itself", path, base)
		}
		// not Join: it would take a ".." before the link in front of it is followed
		path = base + string(filepath.Separator) + path
	}
	return path, nil
}

// checkWindows refuses what names a file on Windows in other ways than it looks: a path that is relative to the current
// folder of a drive or to the current drive, device names and namespaces, streams of a file, and names that end in a
// dot or a space, which the system cuts off.
func checkWindows(path string) error {
	slashed := strings.ReplaceAll(path, `\`, "/")
	if strings.HasPrefix(slashed, "//") {
		return fmt.Errorf("%s: paths of servers and devices are not looked at", path)
	}
	rest := slashed
	if len(rest) >= 2 && rest[1] == ':' {
		if rest = rest[2:]; !strings.HasPrefix(rest, "/") {
			return fmt.Errorf("%s: relative to the current folder of a drive", path)
		}
	} else if strings.HasPrefix(rest, "/") {
		return fmt.Errorf("%s: relative to the current drive", path)
	}
	for _, name := range strings.Split(rest, "/") {
		if name == "" || name == "." || name == ".." {
			continue
		}
		stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
		switch {
		case strings.ContainsAny(name, ":*?\"<>|"):
			return fmt.Errorf("%s: %q is no file name", path, name)
		case strings.TrimRight(name, ". ") != name:
			return fmt.Errorf("%s: %q ends in a dot or a space", path, name)
		case isDevice(strings.TrimRight(stem, " ")):
			return fmt.Errorf("%s: %q is a device", path, name)
		}
	}
	return nil
}

// isDevice tells whether a name in capitals and without its extension is a device of Windows.
func isDevice(name string) bool {
	switch name {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	if number, ok := strings.CutPrefix(name, "COM"); ok || strings.HasPrefix(name, "LPT") {
		if !ok {
			number = name[len("LPT"):]
		}
		switch number {
		case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u00b9", "\u00b2", "\u00b3":
			return true
		}
	}
	return false
}

// within tells whether the resolved path p is one of the resolved roots or lies below one.
func within(roots []string, p string) bool {
	for _, root := range roots {
		if rel, err := filepath.Rel(root, p); err == nil && (rel == "." || filepath.IsLocal(rel)) {
			return true
		}
	}
	return false
}
