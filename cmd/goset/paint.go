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
	title, rest, _ := strings.Cut(fmt.Sprintf(format, args...), " ")
	p.WriteString(p.paint(bold, title))
	if rest != "" {
		p.WriteString(" " + rest)
	}
	p.WriteByte('\n')
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

// table writes aligned lines.
func (p *page) table(lines []line) {
	rows := make([][]texttab.Cell, len(lines))
	for i := range lines {
		rows[i] = lines[i].cells
	}
	for i, cells := range texttab.Layout(rows) {
		var b strings.Builder
		for j, cell := range cells {
			b.WriteString("  ")
			if j == len(cells)-1 {
				cell = strings.TrimRight(cell, " ")
			}
			b.WriteString(p.paint(lines[i].colors[j], cell))
		}
		p.WriteString(strings.TrimRight(b.String(), " "))
		p.WriteByte('\n')
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
	p.table(lines)
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
	return fmt.Sprintf("%.1f%%", 100*part/whole)
}
