package report

import (
	"bufio"
	"fmt"
	"strings"
)

// latexChunk is how many rows a tabular has: what fits below its heading. Not
// longtable: it needs several passes before its columns meet their headings.
const latexChunk = 30

// latexWidest is how many columns of numbers fit beside the labels.
const latexWidest = 12

// latexColumn is one column of a tabular.
type latexColumn struct {
	over, head string // over is the heading above two columns that belong together
	cells      []string
}

// latexGrid writes tabulars of at most latexChunk rows. Columns that stand
// aside have tabulars of their own where not all fit.
func latexGrid(b *bufio.Writer, g *grid) {
	if g.Caption != "" {
		latexAbove(b, g.Caption)
	}
	var main, aside []latexColumn
	for i := range g.Columns {
		if c := &g.Columns[i]; c.Aside {
			aside = append(aside, latexColumns(c)...)
		} else {
			main = append(main, latexColumns(c)...)
		}
	}
	if len(main)+len(aside) <= latexWidest {
		main, aside = nil, nil
		for i := range g.Columns {
			main = append(main, latexColumns(&g.Columns[i])...)
		}
	}
	for _, cols := range [][]latexColumn{main, aside} {
		for from := 0; len(cols) > 0 && from < len(g.Labels); from += latexChunk {
			latexTabular(b, g, cols, from, min(from+latexChunk, len(g.Labels)))
		}
	}
}

// latexColumns are one column, or the two ends of an interval, so that siunitx
// aligns both. Percent stands in the heading.
func latexColumns(c *gridColumn) []latexColumn {
	head, cells := c.Head, [][]string{c.Cells}
	if c.Lo != nil {
		cells = [][]string{c.Lo, c.Hi}
	}
	if isPercent(cells) {
		head += ", %"
		for i := range cells {
			bare := make([]string, len(cells[i]))
			for j, s := range cells[i] {
				bare[j] = strings.TrimSuffix(s, "%")
			}
			cells[i] = bare
		}
	}
	if c.Lo == nil {
		return []latexColumn{{head: head, cells: cells[0]}}
	}
	return []latexColumn{{over: head, head: "from", cells: cells[0]}, {over: head, head: "to", cells: cells[1]}}
}

// isPercent says that all numbers of columns are shares in percent.
func isPercent(columns [][]string) bool {
	any := false
	for _, cells := range columns {
		for _, s := range cells {
			number, percent := strings.CutSuffix(s, "%")
			switch _, ok := numberForm(number); {
			case percent && ok:
				any = true
			case s != undefined && s != "":
				return false
			}
		}
	}
	return any
}

func latexTabular(b *bufio.Writer, g *grid, cols []latexColumn, from, to int) {
	spec := ">{\\raggedright\\arraybackslash}p{55mm}"
	for _, c := range cols {
		spec += " " + siunitxColumn(c.cells)
	}
	fmt.Fprintf(b, "\\begin{tabular}{@{}%s@{}}\n\\toprule\n", spec)
	latexHeadings(b, g.Head, cols)
	for i := from; i < to; i++ {
		// A row must not start with "[": it would be the argument of the "\\" before.
		fmt.Fprintf(b, "{}%s", escapeLaTeX(g.Labels[i]))
		if g.Marks != nil && g.Marks[i] != "" {
			fmt.Fprintf(b, "\\textsuperscript{%s}", g.Marks[i])
		}
		for _, c := range cols {
			b.WriteString(" & " + siunitxCell(c.cells[i]))
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\n\\medskip\n")
}

// latexHeadings writes the headings over pairs of columns, where there are any,
// and those of the columns.
func latexHeadings(b *bufio.Writer, head string, cols []latexColumn) {
	over, rules, any := "", "", false
	for i := 0; i < len(cols); i++ {
		if cols[i].over == "" {
			over += " &"
			continue
		}
		over += fmt.Sprintf(" & \\multicolumn{2}{c}{%s}", escapeLaTeX(cols[i].over))
		rules += fmt.Sprintf("\\cmidrule(lr){%d-%d}", i+2, i+3) // the labels are column 1
		any = true
		i++
	}
	if any {
		fmt.Fprintf(b, "%s \\\\\n%s\n", over, rules)
	}
	b.WriteString(escapeLaTeX(head))
	for _, c := range cols {
		fmt.Fprintf(b, " & {%s}", escapeLaTeX(c.head))
	}
	b.WriteString(" \\\\\n\\midrule\n")
}

// siunitxCell wraps what siunitx would not parse as a number.
func siunitxCell(s string) string {
	if _, ok := numberForm(s); !ok {
		return "{" + escapeLaTeX(s) + "}"
	}
	return s
}

// form is the room that a number takes: digits before and behind the point,
// digits of the exponent, signs.
type form struct {
	integer, decimals, exponent int
	minus, plus, exponentMinus  bool
}

// numberForm takes a number of the form that package strconv writes, with a
// sign or without.
func numberForm(s string) (form, bool) {
	var f form
	mantissa, exponent, hasExponent := strings.Cut(s, "e")
	mantissa, f.minus = strings.CutPrefix(mantissa, "-")
	mantissa, f.plus = strings.CutPrefix(mantissa, "+")
	integer, decimals, hasPoint := strings.Cut(mantissa, ".")
	if f.minus && f.plus || !digits(integer) || hasPoint && !digits(decimals) {
		return form{}, false
	}
	f.integer, f.decimals = len(integer), len(decimals)
	if hasExponent {
		exponent = strings.TrimPrefix(exponent, "+")
		exponent, f.exponentMinus = strings.CutPrefix(exponent, "-")
		if !digits(exponent) {
			return form{}, false
		}
		f.exponent = len(exponent)
	}
	return f, true
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// siunitxColumn is an S column with just the room that its numbers take.
func siunitxColumn(cells []string) string {
	most := form{integer: 1}
	for _, s := range cells {
		if f, ok := numberForm(s); ok {
			most.integer, most.decimals, most.exponent = max(most.integer, f.integer), max(most.decimals, f.decimals), max(most.exponent, f.exponent)
			most.minus, most.plus, most.exponentMinus = most.minus || f.minus, most.plus || f.plus, most.exponentMinus || f.exponentMinus
		}
	}
	s := ""
	switch {
	case most.plus:
		s = "+"
	case most.minus:
		s = "-"
	}
	s += fmt.Sprint(most.integer)
	if most.decimals > 0 {
		s += fmt.Sprintf(".%d", most.decimals)
	}
	if most.exponent > 0 {
		s += "e"
		if most.exponentMinus {
			s += "-"
		}
		s += fmt.Sprint(most.exponent)
	}
	return "S[table-format=" + s + "]"
}
