package doctest

import (
	"fmt"
	"os"
	"strings"
)

// Corpus is the text of compiled Go files, in which Go blocks must be found.
type Corpus struct{ files []string }

// elision stands alone on a line of a Go block for lines of the file that the block leaves out.
const elision = "// …"

// Add reads one file.
func (c *Corpus) Add(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c.files = append(c.files, normalize(string(data)))
	return nil
}

// Check reports a Go block that is not a part of one compiled file. White space and empty lines do not count, and a
// line `// …` may stand for others.
func (c *Corpus) Check(b Block) error {
	var parts []string
	for part := range strings.SplitSeq(normalize(b.Text), "\n"+elision+"\n") {
		if part = strings.Trim(part, "\n"); part != "" {
			parts = append(parts, "\n"+part+"\n")
		}
	}
	if len(parts) == 0 {
		return fmt.Errorf("%s: the Go block is empty", b.Place())
	}
	for _, file := range c.files {
		if containsInOrder(file, parts) {
			return nil
		}
	}
	return fmt.Errorf("%s: the Go block is not part of a compiled file: copy it from an example that the tests build", b.Place())
}

func containsInOrder(text string, parts []string) bool {
	for _, part := range parts {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part)-1:] // the closing newline may open the next part
	}
	return true
}

// normalize squeezes white space and drops empty lines; the result begins and ends with a newline.
func normalize(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
