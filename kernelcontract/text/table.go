package text

import (
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

const (
	maxColumns = 6 // of a table: more do not fit a screen
	minColumn  = 8 // columns of text that a cell keeps before the table drops its last column
	gap        = 2 // columns between two cells
)

// column is one field of a table's rows.
type column struct {
	key    string
	cells  []string
	filled bool // some row has a value
	plain  bool // no row has a nested value
	right  bool // numbers
	width  int
}

// table lays out an array of objects.
func (p *printer) table(v *value, s *schema.Schema, indent int) {
	cols := p.columns(v, p.resolve(s))
	if len(cols) == 0 {
		for range v.items {
			p.line(indent, p.paint(dim, emptyMark))
		}
		return
	}
	for i := range cols {
		cols[i].measure()
	}
	if p.width > 0 {
		cols = shrink(cols, max(p.width-indent, minTable))
	}
	p.row(cols, indent, -1)
	for i := range v.items {
		p.row(cols, indent, i)
	}
}

// minTable is the least width that a table is fitted to, in columns: a nested one is not squeezed to nothing.
const minTable = 20

// columns collects at most maxColumns columns with a value, in the order of the schema, then of appearance. Columns
// with nested values give way to plain ones.
func (p *printer) columns(v *value, s *schema.Schema) []column {
	var cols []column
	index := map[string]int{}
	add := func(key string) int {
		i, ok := index[key]
		if !ok {
			i = len(cols)
			index[key] = i
			cols = append(cols, column{key: key, cells: make([]string, len(v.items)), plain: true, right: true})
		}
		return i
	}
	if s != nil {
		for _, prop := range s.Properties {
			add(prop.Name)
		}
	}
	for row := range v.items {
		for j := range v.items[row].members {
			m := &v.items[row].members[j]
			c := &cols[add(m.key)]
			c.set(row, &m.value)
		}
	}
	cols = slices.DeleteFunc(cols, func(c column) bool { return !c.filled })
	for _, droppable := range []func(c column) bool{func(c column) bool { return !c.plain }, func(column) bool { return true }} {
		for i := len(cols) - 1; i >= 0 && len(cols) > maxColumns; i-- {
			if droppable(cols[i]) {
				cols = slices.Delete(cols, i, i+1)
			}
		}
	}
	return cols
}

// set puts the value of a row into its cell. Nothing leaves the cell empty.
func (c *column) set(row int, v *value) {
	if v.kind == null {
		return
	}
	c.filled = true
	c.right = c.right && v.kind == number
	if d, ok := bytesOf(v); ok {
		c.cells[row] = oneLine(d)
		return
	}
	switch {
	case v.isScalar():
		c.cells[row] = oneLine(v.scalar)
	case v.isList():
		parts := make([]string, len(v.items))
		for i := range v.items {
			parts[i] = oneLine(v.items[i].scalar)
		}
		c.cells[row] = strings.Join(parts, ", ")
	default:
		c.plain = false
		c.cells[row] = v.compact()
	}
}

func (c *column) measure() {
	c.width = Width(c.key)
	for i := range c.cells {
		if c.cells[i] == "" {
			c.cells[i] = nullMark
		}
		c.width = max(c.width, Width(c.cells[i]))
	}
}

// shrink narrows the widest columns until the table fits; columns that would become too narrow go, the last first.
func shrink(cols []column, width int) []column {
	for ; ; cols = cols[:len(cols)-1] {
		limit := widest(cols, width-gap*(len(cols)-1))
		if limit >= minColumn || len(cols) == 1 {
			for i := range cols {
				cols[i].width = min(cols[i].width, max(limit, 1))
			}
			return cols
		}
	}
}

// widest returns the largest width to which cutting the columns makes them take at most room.
func widest(cols []column, room int) int {
	widths := make([]int, len(cols))
	for i := range cols {
		widths[i] = cols[i].width
	}
	slices.Sort(widths)
	for i, w := range widths {
		left := len(widths) - i
		if w*left > room {
			return room / left
		}
		room -= w
	}
	return widths[len(widths)-1] + room
}

// row lays out the cells of a row, the head for -1.
func (p *printer) row(cols []column, indent, row int) {
	var b strings.Builder
	for i := range cols {
		c := &cols[i]
		cell := oneLine(Strip(c.key))
		if row >= 0 {
			cell = c.cells[row]
		}
		cell = fit(cell, c.width)
		room := c.width - Width(cell)
		switch {
		case row < 0:
			cell = p.paint(bold, cell)
		case cell == nullMark:
			cell = p.paint(dim, cell)
		}
		if c.right {
			b.WriteString(strings.Repeat(" ", room))
		}
		b.WriteString(cell)
		if i < len(cols)-1 {
			if !c.right {
				b.WriteString(strings.Repeat(" ", room))
			}
			b.WriteString(strings.Repeat(" ", gap))
		}
	}
	p.line(indent, b.String())
}
