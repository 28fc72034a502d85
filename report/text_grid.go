package report

import (
	"slices"
	"strings"

	"goset/internal/texttab"
)

const (
	maxLabel = 32 // a row's label is wrapped above this, or above two fifths of the width
	gap      = 2  // blanks between columns
)

// grid writes a table. Columns that stand aside move behind the others where
// not all fit beside each other; what does not fit into the width even so goes
// to further chunks, each with the labels again: nothing is cut.
func (p *textInk) grid(g *grid) {
	if g.Caption != "" {
		p.wrapped("", "  ", g.Caption, dim)
	}
	labels, width := p.wrapLabels(g.Labels)
	head := g.Head
	switch w := texttab.Width(head); {
	case w > p.labelRoom(): // a line of its own
		p.wrapped("", "  ", head, dim)
		head = ""
	default:
		width = max(width, w)
	}
	all, aside := g.textColumns(false)
	if p.fit(all, width) < len(all) {
		all, aside = g.textColumns(true)
	}
	for _, cols := range [][]textColumn{all, aside} {
		for len(cols) > 0 {
			n := p.fit(cols, width)
			p.chunk(head, labels, cols[:n])
			cols = continued(cols, n)
		}
	}
}

// continued are the columns from n on. Those that are parted from the one that
// they belong to are headed by its name too.
func continued(cols []textColumn, n int) []textColumn {
	rest := slices.Clone(cols[n:])
	owner := n - 1
	for owner > 0 && cols[owner].joined {
		owner--
	}
	for i := range rest {
		if !rest[i].joined || rest[i].head[0] == "" {
			break
		}
		rest[i].head = append(slices.Clone(cols[owner].head), rest[i].head...)
	}
	return rest
}

// textColumn is a column with its heading, of one line or several.
type textColumn struct {
	head   []string
	cells  []texttab.Cell
	joined bool
}

// textColumns are the columns, and that of the marks behind those that do not
// stand apart.
func (g *grid) textColumns(apart bool) (main, aside []textColumn) {
	for _, c := range g.Columns {
		col := textColumn{head: strings.Split(c.Head, "\n"), joined: c.Joined}
		for _, text := range c.Cells {
			col.cells = append(col.cells, texttab.Cell{Text: text, Align: texttab.Right})
		}
		if apart && c.Aside {
			aside = append(aside, col)
		} else {
			main = append(main, col)
		}
	}
	if g.Marks != nil {
		marks := textColumn{head: []string{""}, joined: true}
		for _, m := range g.Marks {
			marks.cells = append(marks.cells, texttab.Cell{Text: superscript(m)})
		}
		main = append(main, marks)
	}
	return main, aside
}

func (c *textColumn) width() int {
	w := 0
	for _, l := range c.head {
		w = max(w, texttab.Width(l))
	}
	for _, cell := range c.cells {
		w = max(w, texttab.Width(cell.Text))
	}
	return w
}

// labelRoom is the width that a label may take.
func (p *textInk) labelRoom() int { return min(maxLabel, 2*p.opts.Width/5) - 2 }

// wrapLabels breaks the labels and returns the width of the widest line.
func (p *textInk) wrapLabels(names []string) (labels [][]string, width int) {
	for _, name := range names {
		ls := texttab.Wrap(name, p.labelRoom())
		for j, l := range ls {
			if j > 0 {
				ls[j] = "  " + l
			}
			width = max(width, texttab.Width(ls[j]))
		}
		labels = append(labels, ls)
	}
	return labels, width
}

// fit returns how many of the columns fit beside the labels, at least one. Those
// that are joined are not parted, unless they are too many for a line.
func (p *textInk) fit(cols []textColumn, used int) int {
	for n := range cols {
		used += gap + cols[n].width()
		if used <= p.opts.Width || n == 0 {
			continue
		}
		whole := n
		for whole > 0 && cols[whole].joined {
			whole--
		}
		if whole > 0 {
			return whole
		}
		return n
	}
	return len(cols)
}

// headLines are the headings, the last line of each on the last line.
func headLines(head string, cols []textColumn) [][]texttab.Cell {
	n := 1
	for _, c := range cols {
		n = max(n, len(c.head))
	}
	rows := make([][]texttab.Cell, n)
	rows[n-1] = []texttab.Cell{{Text: head}}
	for i := range n - 1 {
		rows[i] = []texttab.Cell{{}}
	}
	for _, c := range cols {
		for i := range rows {
			cell := texttab.Cell{Align: texttab.Right}
			if k := i - n + len(c.head); k >= 0 {
				cell.Text = c.head[k]
			}
			rows[i] = append(rows[i], cell)
		}
	}
	return rows
}

// chunk writes labels and columns.
func (p *textInk) chunk(head string, labels [][]string, cols []textColumn) {
	rows := headLines(head, cols)
	heads := len(rows)
	for i, ls := range labels {
		for j, l := range ls {
			row := []texttab.Cell{{Text: l}}
			if j == len(ls)-1 {
				for _, c := range cols {
					row = append(row, c.cells[i])
				}
			}
			rows = append(rows, row)
		}
	}
	for i, row := range texttab.Layout(rows) {
		s := strings.Join(row, strings.Repeat(" ", gap))
		if i < heads {
			s = p.paint(strings.TrimRight(s, " "), dim)
		}
		p.line(s)
	}
}
