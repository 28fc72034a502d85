package report

import (
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
	all, aside := g.cells(false)
	if p.fit(all, width) < len(all) {
		all, aside = g.cells(true)
	}
	for _, cells := range [][][]texttab.Cell{all, aside} {
		for len(cells) > 0 {
			n := p.fit(cells, width)
			p.chunk(head, labels, cells[:n])
			cells = cells[n:]
		}
	}
}

// cells are the columns, each with its heading first, and that of the marks
// behind those that do not stand apart.
func (g *grid) cells(apart bool) (main, aside [][]texttab.Cell) {
	for _, c := range g.Columns {
		col := []texttab.Cell{{Text: c.Head, Align: texttab.Right}}
		for _, text := range c.Cells {
			col = append(col, texttab.Cell{Text: text, Align: texttab.Right})
		}
		if apart && c.Aside {
			aside = append(aside, col)
		} else {
			main = append(main, col)
		}
	}
	if g.Marks != nil {
		main = append(main, g.markColumn())
	}
	return main, aside
}

func (g *grid) markColumn() []texttab.Cell {
	col := []texttab.Cell{{}}
	for _, m := range g.Marks {
		col = append(col, texttab.Cell{Text: superscript(m)})
	}
	return col
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

// fit returns how many of the columns fit beside the labels, at least one.
func (p *textInk) fit(cells [][]texttab.Cell, used int) int {
	for n, col := range cells {
		w := 0
		for _, c := range col {
			for l := range strings.SplitSeq(c.Text, "\n") {
				w = max(w, texttab.Width(l))
			}
		}
		used += gap + w
		if used > p.opts.Width && n > 0 {
			return n
		}
	}
	return len(cells)
}

// headLines are the headings, those that break in as many lines as they have,
// the last of each on the last line.
func headLines(head string, cells [][]texttab.Cell) [][]texttab.Cell {
	n := 1
	for _, col := range cells {
		n = max(n, 1+strings.Count(col[0].Text, "\n"))
	}
	rows := make([][]texttab.Cell, n)
	for i := range rows {
		label := texttab.Cell{}
		if i == n-1 {
			label.Text = head
		}
		rows[i] = append(rows[i], label)
		for _, col := range cells {
			lines := strings.Split(col[0].Text, "\n")
			c := texttab.Cell{Align: col[0].Align}
			if k := i - n + len(lines); k >= 0 {
				c.Text = lines[k]
			}
			rows[i] = append(rows[i], c)
		}
	}
	return rows
}

// chunk writes labels and columns; cells[c][0] is a heading.
func (p *textInk) chunk(head string, labels [][]string, cells [][]texttab.Cell) {
	rows := headLines(head, cells)
	heads := len(rows)
	for i, ls := range labels {
		for j, l := range ls {
			row := []texttab.Cell{{Text: l}}
			if j == len(ls)-1 {
				for _, col := range cells {
					row = append(row, col[i+1])
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
