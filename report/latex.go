package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
)

// LaTeX writes a document that pdflatex compiles as it is: a tabular with
// booktabs rules for every table, numbers aligned by siunitx (version 2 or 3),
// verdicts and notes below it. Characters that pdflatex does not know are
// written as their code point.
func LaTeX(w io.Writer, doc *Document) error {
	b := bufio.NewWriter(w)
	b.WriteString(latexHead)
	fmt.Fprintf(b, "\\title{%s}\n\\author{}\n\\date{}\n\\begin{document}\n\\maketitle\n\\thispagestyle{plain}\n", escapeLaTeX(cmp.Or(doc.Title, doc.Experiment, "Report")))
	latexFindings(b, doc)
	for i := range doc.Tables {
		latexTable(b, &doc.Tables[i], i == 0 || doc.Tables[i-1].Name() != doc.Tables[i].Name())
	}
	if len(doc.Tables) > 0 {
		fmt.Fprintf(b, "\\paragraph{Columns.} %s\n\n", escapeLaTeX(legend(doc.Tables)))
	}
	if doc.Scope != "" {
		fmt.Fprintf(b, "\\paragraph{Scope.} %s\n\n", escapeLaTeX(strings.TrimPrefix(doc.Scope, "Scope: ")))
	}
	latexRules(b, doc.Rules)
	latexFacts(b, doc.Facts)
	b.WriteString("\\end{document}\n")
	return b.Flush()
}

// latexHead: landscape, because a row has a dozen numbers. T1 and textcomp
// bring the accented letters and signs that names and messages hold.
const latexHead = `\documentclass[a4paper,10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[landscape,margin=15mm]{geometry}
\usepackage{booktabs}
\usepackage{array}
\usepackage{siunitx}
\setlength{\parindent}{0pt}
\setlength{\emergencystretch}{3em}
\sloppy
`

// latexFindings is what a reader has to see first.
func latexFindings(b *bufio.Writer, doc *Document) {
	var lines []string
	if len(doc.SelfCheck.Failed) == 0 {
		lines = latexHeadlines(doc)
	}
	if doc.SelfCheck.Text != "" {
		lines = append(lines, latexStrong(doc.SelfCheck.Text, len(doc.SelfCheck.Failed) > 0))
		for _, s := range doc.SelfCheck.Failed {
			lines = append(lines, escapeLaTeX(s))
		}
	}
	if len(doc.SelfCheck.Failed) > 0 {
		lines = append(lines, latexHeadlines(doc)...)
	}
	for _, l := range suiteFindings(doc) {
		lines = append(lines, latexStrong(l.Line, l.Claim))
	}
	for _, s := range doc.Notes {
		lines = append(lines, escapeLaTeX(s))
	}
	latexList(b, lines)
}

func latexHeadlines(doc *Document) []string {
	var lines []string
	for _, h := range doc.sentences() {
		lines = append(lines, latexStrong(h.Text, h.Grade == Clear))
	}
	return lines
}

func latexStrong(s string, strong bool) string {
	if strong {
		return `\textbf{` + escapeLaTeX(s) + `}`
	}
	return escapeLaTeX(s)
}

// latexList writes lines that are LaTeX already. The empty group keeps a line
// that starts with "[" from being the item's own label.
func latexList(b *bufio.Writer, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("\\begin{itemize}\n\\setlength{\\itemsep}{0pt}\n")
	for _, l := range lines {
		fmt.Fprintf(b, "\\item {}%s\n", l)
	}
	b.WriteString("\\end{itemize}\n")
}

func latexTable(b *bufio.Writer, t *Table, withExcluded bool) {
	f := formatOf(t)
	fmt.Fprintf(b, "\\section*{%s: %s}\n", escapeLaTeX(t.Name()), escapeLaTeX(heading(t.Metric, f.unit)))
	fmt.Fprintf(b, "%s\n\n", escapeLaTeX(countsLine(t)))
	cols := latexColumns()
	latexRows(b, t, f, cols)
	if hasIterations(t) {
		latexRows(b, t, f, latexIterations(t))
	}
	var lines []string
	for _, v := range findingsOf(t) {
		lines = append(lines, latexStrong(v.Line, v.Claim))
	}
	for i := range t.Attributions {
		lines = append(lines, escapeLaTeX(t.Attributions[i].Text))
	}
	if withExcluded {
		for _, s := range excludedLines(t) {
			lines = append(lines, escapeLaTeX(s))
		}
	}
	for i := range t.Notes {
		lines = append(lines, fmt.Sprintf("\\textsuperscript{%d} %s", i+1, escapeLaTeX(noteText(t, &t.Notes[i]))))
	}
	latexList(b, lines)
}

// latexColumns are those of the text ink; an interval is two columns, so that
// siunitx aligns both ends, and percent stands in the heading.
func latexColumns() []shown {
	bare := func(s string) string { return strings.TrimSuffix(s, "%") }
	return []shown{
		{"n", func(r *Row, _ format) string { return fmt.Sprint(r.Summary.N) }},
		{"median", func(r *Row, f format) string { return f.quantity(r.Summary.Median) }},
		{"from", func(r *Row, f format) string { return f.quantity(bound(r.Summary.MedianCI, r.Summary.MedianCI.Lo)) }},
		{"to", func(r *Row, f format) string { return f.quantity(bound(r.Summary.MedianCI, r.Summary.MedianCI.Hi)) }},
		{"sd", func(r *Row, f format) string { return f.deviation(r.Summary.SD) }},
		{"CV, %", func(r *Row, _ format) string { return bare(percent(r.Summary.CV)) }},
		{"min", func(r *Row, f format) string { return f.quantity(r.Summary.Min) }},
		{"max", func(r *Row, f format) string { return f.quantity(r.Summary.Max) }},
		{"spread, %", func(r *Row, _ format) string { return bare(percent(r.Summary.Spread)) }},
		{"×median", func(r *Row, _ format) string { return times(r.MedianRatio) }},
		{"×sd", func(r *Row, _ format) string { return times(r.SDRatio) }},
	}
}

func latexIterations(t *Table) []shown { return iterationColumns(t.Metric.Better) }

// latexChunk is how many rows a tabular has: what fits below its heading. Not
// longtable: it needs several passes before its columns meet their headings.
const latexChunk = 30

// latexRows writes the rows in tabulars of at most latexChunk rows.
func latexRows(b *bufio.Writer, t *Table, f format, cols []shown) {
	marks := noteNumbers(t)
	cells := make([][]string, len(cols))
	spec := ">{\\raggedright\\arraybackslash}p{45mm}"
	for c := range cols {
		for i := range t.Rows {
			cells[c] = append(cells[c], cols[c].cell(&t.Rows[i], f))
		}
		spec += " " + siunitxColumn(cells[c])
	}
	for from := 0; from < len(t.Rows); from += latexChunk {
		fmt.Fprintf(b, "\\begin{tabular}{@{}%s@{}}\n\\toprule\n", spec)
		latexHeadings(b, cols)
		for i := from; i < min(from+latexChunk, len(t.Rows)); i++ {
			// A row must not start with "[": it would be the argument of the "\\" before.
			fmt.Fprintf(b, "{}%s", escapeLaTeX(t.Rows[i].Label()))
			if marks[i] != "" {
				fmt.Fprintf(b, "\\textsuperscript{%s}", marks[i])
			}
			for c := range cols {
				b.WriteString(" & " + siunitxCell(cells[c][i]))
			}
			b.WriteString(" \\\\\n")
		}
		b.WriteString("\\bottomrule\n\\end{tabular}\n\n\\medskip\n")
	}
}

func latexHeadings(b *bufio.Writer, cols []shown) {
	if len(cols) > 3 && cols[2].head == "from" {
		fmt.Fprintf(b, "& & & \\multicolumn{2}{c}{95\\%% interval}%s \\\\\n\\cmidrule(lr){4-5}\n", strings.Repeat(" &", len(cols)-4))
	}
	for _, c := range cols {
		fmt.Fprintf(b, " & {%s}", escapeLaTeX(c.head))
	}
	b.WriteString(" \\\\\n\\midrule\n")
}

// noteNumbers gives every row the numbers of its notes.
func noteNumbers(t *Table) []string {
	marks := make([]string, len(t.Rows))
	for i := range t.Notes {
		for _, r := range t.Notes[i].Rows {
			if marks[r] != "" {
				marks[r] += ","
			}
			marks[r] += fmt.Sprint(i + 1)
		}
	}
	return marks
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
	minus, exponentMinus        bool
}

// numberForm takes a number of the form that package strconv writes.
func numberForm(s string) (form, bool) {
	var f form
	mantissa, exponent, hasExponent := strings.Cut(s, "e")
	mantissa, f.minus = strings.CutPrefix(mantissa, "-")
	integer, decimals, hasPoint := strings.Cut(mantissa, ".")
	if !digits(integer) || hasPoint && !digits(decimals) {
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
			most.minus, most.exponentMinus = most.minus || f.minus, most.exponentMinus || f.exponentMinus
		}
	}
	s := ""
	if most.minus {
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

func latexRules(b *bufio.Writer, rules []Rule) {
	if len(rules) == 0 {
		return
	}
	b.WriteString("\\section*{The twelve rules of Hoefler and Belli}\n")
	var lines []string
	for _, r := range rules {
		lines = append(lines, fmt.Sprintf("\\textbf{%d. %s: %s.} %s", r.Number, escapeLaTeX(r.Name), escapeLaTeX(string(r.Status)), escapeLaTeX(r.Reason)))
	}
	latexList(b, lines)
}

func latexFacts(b *bufio.Writer, facts []Fact) {
	if len(facts) == 0 {
		return
	}
	b.WriteString("\\section*{How and where}\n")
	var lines []string
	for _, f := range facts {
		lines = append(lines, fmt.Sprintf("\\textbf{%s} %s", escapeLaTeX(f.Name), escapeLaTeX(f.Value)))
	}
	latexList(b, lines)
}

// latexSigns are the characters that pdflatex takes for something else, and
// those outside its encoding that this package or a metric's unit writes.
var latexSigns = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`, '^': `\textasciicircum{}`, '~': `\textasciitilde{}`,
	'<': `\textless{}`, '>': `\textgreater{}`, '|': `\textbar{}`, '"': `\textquotedbl{}`, '\'': `\textquotesingle{}`, '`': `\textasciigrave{}`, '-': `-{}`,
	'×': `\texttimes{}`, '±': `\textpm{}`, '·': `\textperiodcentered{}`, '…': `\ldots{}`, '°': `\textdegree{}`, 'µ': `\textmu{}`, 'μ': `\textmu{}`,
	'–': `--{}`, '—': `---{}`, '−': `$-$`, '≤': `$\leq$`, '≥': `$\geq$`, '≠': `$\neq$`, '≈': `$\approx$`, '→': `$\rightarrow$`, '∞': `$\infty$`, '√': `$\surd$`, 'σ': `$\sigma$`, 'Δ': `$\Delta$`,
	'⁻': `\textsuperscript{$-$}`, '⁰': `\textsuperscript{0}`, '¹': `\textsuperscript{1}`, '²': `\textsuperscript{2}`, '³': `\textsuperscript{3}`, '⁴': `\textsuperscript{4}`,
	'⁵': `\textsuperscript{5}`, '⁶': `\textsuperscript{6}`, '⁷': `\textsuperscript{7}`, '⁸': `\textsuperscript{8}`, '⁹': `\textsuperscript{9}`,
	'“': "``{}", '”': "''{}", '‘': "`{}", '’': "'{}",
}

// escapeLaTeX makes any text printable by pdflatex and nothing but text.
func escapeLaTeX(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch sign, ok := latexSigns[r]; {
		case ok:
			b.WriteString(sign)
		case r == '\t' || r == '\n' || r == '\r':
			b.WriteByte(' ')
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r >= 0xc0 && r <= 0x17f && !strings.ContainsRune("ĿŀŉĦħŦŧĸſ", r):
			b.WriteRune(r) // the letters of T1
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
	}
	return b.String()
}
