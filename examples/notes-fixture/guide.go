package notes

import (
	"embed"
	"io/fs"
)

//go:embed guide/*.md
var guideFiles embed.FS

// guide returns the chapters at the root of a file system.
func guide() fs.FS {
	chapters, err := fs.Sub(guideFiles, "guide")
	if err != nil {
		return nil // "guide" is a valid path
	}
	return chapters
}
