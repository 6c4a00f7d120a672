package doctest

import (
	"fmt"
	"strings"
)

// Block is one fenced block.
type Block struct {
	File string
	Line int    // of the opening fence, from 1
	Lang string // first word of the info string
	Save string // from file=PATH in the info string: where the runner saves the block before it goes on
	Text string // content without the fence's indentation, ends in a newline unless empty
}

// Place is the block's file and line.
func (b Block) Place() string { return fmt.Sprintf("%s:%d", b.File, b.Line) }

// Parse finds the fenced blocks of a Markdown text. A fence that is never closed is an error.
func Parse(file, text string) ([]Block, error) {
	var (
		blocks []Block
		open   *Block
		fence  string // what closes the open block
		indent int
	)
	line := 0
	for raw := range strings.Lines(text) {
		line++
		raw = strings.TrimRight(raw, "\r\n")
		trimmed := strings.TrimLeft(raw, " ")
		if open == nil {
			marks := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
			if marks < 3 || strings.Contains(trimmed[marks:], "`") {
				continue
			}
			fence, indent = trimmed[:marks], len(raw)-len(trimmed)
			open = &Block{File: file, Line: line}
			for i, word := range strings.Fields(trimmed[marks:]) {
				if path, ok := strings.CutPrefix(word, "file="); ok {
					open.Save = path
				} else if i == 0 {
					open.Lang = word
				}
			}
			continue
		}
		if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, "` ") == "" {
			blocks = append(blocks, *open)
			open = nil
			continue
		}
		cut := min(indent, len(raw)-len(trimmed))
		open.Text += raw[cut:] + "\n"
	}
	if open != nil {
		return blocks, fmt.Errorf("%s: the block is never closed", open.Place())
	}
	return blocks, nil
}

// Check reports a block whose language hides commands from the runner.
func (b Block) Check() error {
	switch b.Lang {
	case "sh", "bash", "shell", "zsh", "shell-session", "sh-session":
		return fmt.Errorf("%s: %s blocks are not run: use console, with `$ ` before each command", b.Place(), b.Lang)
	case "console", "go":
		return nil
	}
	for line := range strings.Lines(b.Text) {
		if strings.HasPrefix(line, "$ ") {
			return fmt.Errorf("%s: shows a command: make it a console block", b.Place())
		}
	}
	return nil
}
