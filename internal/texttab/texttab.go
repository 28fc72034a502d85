// Package texttab lays cells out in columns. It knows widths and alignment
// and nothing of units, numbers or colour: it hands back padded cells, so that
// a caller can paint them without the paint being counted as width.
package texttab

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Align says where a cell's text stands in its column.
type Align int

// The alignments. Names stand left, numbers right.
const (
	Left Align = iota
	Right
)

// Cell is one text of a row.
type Cell struct {
	Text  string
	Align Align
}

// Width is the number of terminal columns that s takes: two for wide East
// Asian runes, none for combining marks, one for all others.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x300 { // Latin: the common case needs no tables
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// widths is the width of every column. Rows may differ in length.
func widths(rows [][]Cell) []int {
	var ws []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(ws) {
				ws = append(ws, 0)
			}
			ws[i] = max(ws[i], Width(c.Text))
		}
	}
	return ws
}

// Block is columns that stand beside each other.
type Block struct {
	Columns []int // indices of the columns
	// Room is what is left for the last column, where that is less than it
	// takes; 0: it has its width.
	Room int
}

// Blocks spreads the columns of rows over blocks that take at most width terminal
// columns, with gap blanks before every column. Each block begins with the first
// lead columns and holds at least one other, whatever room there is for it. A
// width of 0 or less is no bound.
func Blocks(rows [][]Cell, lead, gap, width int) []Block {
	ws := widths(rows)
	lead = min(lead, len(ws))
	var leads []int
	before := 0
	for i, w := range ws[:lead] {
		leads = append(leads, i)
		before += gap + w
	}
	block, used := Block{Columns: slices.Clone(leads)}, before
	var blocks []Block
	for i := lead; i < len(ws); i++ {
		if width > 0 && used+gap+ws[i] > width && len(block.Columns) > lead {
			blocks = append(blocks, block)
			block, used = Block{Columns: slices.Clone(leads)}, before
		}
		if width > 0 && used+gap+ws[i] > width {
			block.Room = max(width-used-gap, 1)
		}
		block.Columns, used = append(block.Columns, i), used+gap+ws[i]
	}
	if len(block.Columns) > 0 {
		blocks = append(blocks, block)
	}
	return blocks
}

// Layout pads every cell to its column's width.
func Layout(rows [][]Cell) [][]string {
	ws := widths(rows)
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = make([]string, len(row))
		for j, c := range row {
			out[i][j] = pad(c, ws[j])
		}
	}
	return out
}

func pad(c Cell, w int) string {
	gap := strings.Repeat(" ", max(0, w-Width(c.Text)))
	if c.Align == Right {
		return gap + c.Text
	}
	return c.Text + gap
}

// Wrap breaks s at spaces into lines of at most w columns; a word that is
// longer than a line is broken inside. w below 1 is taken as 1, and a rune
// that is wider than a line stands alone.
func Wrap(s string, w int) []string {
	w = max(w, 1)
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= w:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for Width(line) > w {
			head, rest := cut(line, w)
			if rest == "" {
				break
			}
			lines, line = append(lines, head), rest
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// cut splits s after as many runes as fit into w columns, at least one.
func cut(s string, w int) (head, rest string) {
	n := 0
	for i, r := range s {
		n += runeWidth(r)
		if n > w && i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}
