package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"goset/internal/texttab"
)

// page is a text that is written from top to bottom.
type page struct {
	strings.Builder
	color bool
	width int // columns of the terminal; 0: lines are as long as they are
}

// The colours of a terminal.
const (
	bold  = "1"
	green = "32"
	amber = "33"
	faint = "2"
)

// paint wraps a text in a colour where there is colour.
func (p *page) paint(color, text string) string {
	if !p.color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (p *page) head(format string, args ...any) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	text := fmt.Sprintf(format, args...)
	title, _, _ := strings.Cut(text, " ")
	if p.width > 0 {
		text = strings.Join(texttab.Wrap(text, max(p.width, leastWrapped)), "\n")
	}
	p.WriteString(p.paint(bold, title) + strings.TrimPrefix(text, title) + "\n")
}

// line is one cell row with the colour of each cell.
type line struct {
	cells  []texttab.Cell
	colors []string
}

func (l *line) left(text string)  { l.add(text, texttab.Left, "") }
func (l *line) right(text string) { l.add(text, texttab.Right, "") }

func (l *line) add(text string, align texttab.Align, color string) {
	l.cells = append(l.cells, texttab.Cell{Text: text, Align: align})
	l.colors = append(l.colors, color)
}

// columnGap is the blanks before every column of a table.
const columnGap = 2

// table writes aligned lines. Columns that the width has no room for follow
// below, each time with the first lead columns again: nothing is cut.
func (p *page) table(lead int, lines []line) {
	for _, block := range texttab.Blocks(cellsOf(lines), lead, columnGap, p.width) {
		p.block(columnsOf(block, lines))
	}
}

func cellsOf(lines []line) [][]texttab.Cell {
	rows := make([][]texttab.Cell, len(lines))
	for i := range lines {
		rows[i] = lines[i].cells
	}
	return rows
}

// leastWrapped is the columns that a text gets where the width has no room for
// it at all.
const leastWrapped = 8

// columnsOf picks the columns of a block out of lines. Where there is no room for
// its last one, the texts of that go on in further lines.
func columnsOf(block texttab.Block, lines []line) []line {
	last := len(block.Columns) - 1
	var out []line
	for i := range lines {
		var l line
		texts := []string{""}
		for n, c := range block.Columns {
			if c >= len(lines[i].cells) {
				break
			}
			cell := lines[i].cells[c]
			if n == last && block.Room > 0 {
				texts = texttab.Wrap(cell.Text, max(block.Room, leastWrapped))
				cell.Text = texts[0]
			}
			l.add(cell.Text, cell.Align, lines[i].colors[c])
		}
		out = append(out, l)
		for _, text := range texts[1:] {
			var more line
			for range last {
				more.left("")
			}
			more.add(text, l.cells[last].Align, l.colors[last])
			out = append(out, more)
		}
	}
	return out
}

// block writes lines that fit.
func (p *page) block(lines []line) {
	for i, cells := range texttab.Layout(cellsOf(lines)) {
		var b strings.Builder
		for j, cell := range cells {
			b.WriteString(strings.Repeat(" ", columnGap))
			if j == len(cells)-1 {
				cell = strings.TrimRight(cell, " ")
			}
			b.WriteString(p.paint(lines[i].colors[j], cell))
		}
		p.WriteString(strings.TrimRight(b.String(), " "))
		p.WriteByte('\n')
	}
}

// note writes an indented text of its own.
func (p *page) note(color, text string) {
	texts := []string{text}
	if p.width > 0 {
		texts = texttab.Wrap(text, max(p.width-columnGap, leastWrapped))
	}
	for _, t := range texts {
		p.WriteString(strings.Repeat(" ", columnGap) + p.paint(color, t) + "\n")
	}
}

// fields writes "name  value" lines.
func (p *page) fields(pairs ...string) {
	var lines []line
	for i := 0; i+1 < len(pairs); i += 2 {
		var l line
		l.add(pairs[i], texttab.Left, faint)
		l.left(pairs[i+1])
		lines = append(lines, l)
	}
	p.table(1, lines)
}

// absent is how a value that is not known is shown: never as 0.
const absent = "-"

func orAbsent[T any](v *T, format func(T) string) string {
	if v == nil {
		return absent
	}
	return format(*v)
}

func whole[T int | uint64 | int64](n T) string { return fmt.Sprint(n) }

// span writes seconds with three digits and a unit.
func span(s float64) string {
	switch a := math.Abs(s); {
	case a == 0:
		return "0"
	case a < 1e-6:
		return digits(s*1e9) + " ns"
	case a < 1e-3:
		return digits(s*1e6) + " µs"
	case a < 1:
		return digits(s*1e3) + " ms"
	case a < 600:
		return digits(s) + " s"
	case a < 36000:
		return digits(s/60) + " min"
	}
	return digits(s/3600) + " h"
}

// digits writes a number with three digits, or all that it has before the point.
func digits(x float64) string {
	places := 2 - int(math.Floor(math.Log10(math.Max(math.Abs(x), 1))))
	return strconv.FormatFloat(x, 'f', max(places, 0), 64)
}

func hertz(hz float64) string { return digits(hz/1e9) + " GHz" }

// size writes bytes in binary units.
func size(bytes int64) string {
	x, unit := float64(bytes), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if x < 1024 {
			break
		}
		x, unit = x/1024, u
	}
	return digits(x) + " " + unit
}

// share writes a part of a whole in per cent.
func share(part, whole float64) string {
	if whole <= 0 {
		return absent
	}
	// A sample is never shorter than asked, and often a little longer.
	return fmt.Sprintf("%.1f%%", min(100*part/whole, 100))
}
