// Package scaffold writes a new plugin: a Go module that compiles, with definitions, functions, tests, a guide and a program.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed template
var files embed.FS

// Version is that of the modules of bb which a new plugin asks for.
const Version = "v0.1.0"

// maxName bounds a plugin's name: it is the name of a folder and of a word.
const maxName = 64

// namePattern is that of a plugin's id.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Plugin says what is written.
type Plugin struct {
	Name   string // the plugin's id
	Module string // path of the Go module; "": example.com/<name>
	// Source is a checkout of bb that the module takes bb from, an absolute path; "": the released modules.
	Source string
	// Package and Version are filled.
	Package, Version string
}

// fill checks p and fills what was left out.
func (p *Plugin) fill() error {
	if len(p.Name) > maxName || !namePattern.MatchString(p.Name) || p.Name == "kernel" {
		return fmt.Errorf("%.100q cannot be the name of a plugin: it is lower case letters, digits and dashes, begins with a letter, has at most %d bytes, and is not kernel", p.Name, maxName)
	}
	if p.Module == "" {
		p.Module = "example.com/" + p.Name
	}
	if strings.ContainsAny(p.Module, " \t\r\n\"'`\\") || strings.HasPrefix(p.Module, "/") || strings.HasSuffix(p.Module, "/") {
		return fmt.Errorf("%.100q is not the path of a Go module, such as example.com/%s", p.Module, p.Name)
	}
	p.Package = strings.ReplaceAll(p.Name, "-", "")
	if token.IsKeyword(p.Package) || p.Package == "contracts" || p.Package == "main" {
		p.Package += "plugin"
	}
	p.Version = Version
	if p.Source != "" {
		if _, err := os.Stat(filepath.Join(p.Source, "pluginsdk", "go.mod")); err != nil {
			return fmt.Errorf("%s is not a checkout of bb: %w", p.Source, err)
		}
		p.Source = filepath.ToSlash(p.Source)
	}
	return nil
}

// target returns where a template is written, "" for one that is not.
func (p *Plugin) target(name string) string {
	switch name = strings.TrimSuffix(name, ".tmpl"); name {
	case "go.work":
		if p.Source == "" {
			return ""
		}
	case "gitignore":
		return ".gitignore"
	case "cmd/main.go":
		return "cmd/" + p.Name + "/main.go"
	case "guide/guide.md":
		return "guide/" + p.Name + ".md"
	}
	return name
}

// Write writes a plugin into dir, which must not exist, and returns the names of its files. After an error nothing is left.
func Write(dir string, p Plugin) (names []string, err error) {
	if err := p.fill(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%s is there already: choose another folder with --dir", dir)
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	source, err := fs.Sub(files, "template")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		to := p.target(name)
		if to == "" {
			return nil
		}
		content, err := p.render(source, name)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, filepath.FromSlash(to))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		names = append(names, to)
		return os.WriteFile(file, content, 0o644)
	})
	return names, err
}

// render fills a template. What is Go is formatted.
func (p *Plugin) render(source fs.FS, name string) ([]byte, error) {
	raw, err := fs.ReadFile(source, name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(raw))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".go.tmpl") {
		return append(bytes.TrimSpace(b.Bytes()), '\n'), nil
	}
	return format.Source(b.Bytes())
}
