package kernelcontract

// Widths that text is rendered for, in columns.
const (
	MinWidth     = 20
	MaxWidth     = 1000
	DefaultWidth = 80
)

// Render says for what kind of screen text is rendered.
type Render struct {
	Width int // columns; 0: not said, see Columns
	Color bool
	TTY   bool
}

// Columns returns the width to render for.
func (r Render) Columns() int {
	if r.Width == 0 {
		return DefaultWidth
	}
	return min(max(r.Width, MinWidth), MaxWidth)
}
