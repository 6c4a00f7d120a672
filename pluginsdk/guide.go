package pluginsdk

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// Chapter is one text of a plugin's guide.
type Chapter struct {
	Name  string // the file's name without .md: ^[a-z0-9][a-z0-9-]*$
	Title string // the first line that begins with "# ", else Name
	Text  string // Markdown
}

// readGuide reads the *.md files at the root of a plugin's guide, in the order of their names.
func readGuide(guide fs.FS) (chapters []Chapter, err error) {
	if guide == nil {
		return nil, nil
	}
	defer func() { // the file system is the plugin's code
		if p := recover(); p != nil {
			chapters, err = nil, fmt.Errorf("the guide panicked: %v", p)
		}
	}()
	entries, err := fs.ReadDir(guide, ".")
	if err != nil {
		return nil, fmt.Errorf("the guide cannot be read: %w", err)
	}
	for _, e := range entries {
		name, isText := strings.CutSuffix(e.Name(), ".md")
		if !isText || e.IsDir() {
			continue
		}
		if !chapterName.MatchString(name) {
			return nil, fmt.Errorf("the guide's file %q must be named like %s.md", e.Name(), chapterName)
		}
		if len(chapters) == MaxChapters {
			return nil, fmt.Errorf("the guide has more than %d chapters", MaxChapters)
		}
		text, err := readChapter(guide, e.Name())
		if err != nil {
			return nil, err
		}
		chapters = append(chapters, Chapter{Name: name, Title: title(text, name), Text: string(text)})
	}
	return chapters, nil
}

func readChapter(guide fs.FS, name string) ([]byte, error) {
	f, err := guide.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the guide's file %s: %w", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxChapter+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the guide's file %s: %w", name, err)
	case len(text) > MaxChapter:
		return nil, fmt.Errorf("the guide's file %s has more than %d bytes", name, MaxChapter)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("the guide's file %s is not UTF-8", name)
	}
	return text, nil
}

func title(text []byte, name string) string {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, MaxChapter+1)
	for lines.Scan() {
		if t, ok := strings.CutPrefix(lines.Text(), "# "); ok && strings.TrimSpace(t) != "" {
			return strings.TrimSpace(t)
		}
	}
	return name
}
