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
	latexView(b, doc.view())
	latexRules(b, doc.Rules)
	latexFacts(b, doc.Facts)
	b.WriteString("\\end{document}\n")
	return b.Flush()
}

// latexView writes all but the document's end.
func latexView(b *bufio.Writer, v *view) {
	b.WriteString(latexHead)
	fmt.Fprintf(b, "\\title{%s}\n\\author{}\n\\date{}\n\\begin{document}\n\\maketitle\n\\thispagestyle{plain}\n", escapeLaTeX(cmp.Or(v.title, "Report")))
	latexLines(b, v.gates)
	latexLines(b, v.lines)
	for i := range v.parts {
		latexPart(b, &v.parts[i])
	}
	for _, p := range []struct{ name, text string }{{"Columns", v.legend}, {"Modes", strings.TrimPrefix(v.modes, "Modes: ")}, {"Scope", strings.TrimPrefix(v.scope, "Scope: ")}, {"Not checked", v.unchecked}} {
		if p.text != "" {
			fmt.Fprintf(b, "\\paragraph{%s.} %s\n\n", p.name, escapeLaTeX(p.text))
		}
	}
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
\sisetup{retain-explicit-plus}
\setlength{\parindent}{0pt}
\setlength{\emergencystretch}{3em}
\sloppy
`

func latexPart(b *bufio.Writer, p *viewPart) {
	fmt.Fprintf(b, "\\section*{%s}\n", escapeLaTeX(p.Heading))
	if p.Counts != "" {
		latexAbove(b, p.Counts)
	}
	for i := range p.Grids {
		latexGrid(b, &p.Grids[i])
	}
	lines := p.Lines
	for _, s := range p.Excluded {
		lines = append(lines, viewLine{Text: s})
	}
	latexLines(b, lines)
	var notes []string
	for i, n := range p.Notes {
		notes = append(notes, fmt.Sprintf("\\textsuperscript{%d} %s", i+1, latexText(n)))
	}
	latexList(b, notes)
}

// latexAbove writes a line that stays on the page of the table below it.
func latexAbove(b *bufio.Writer, text string) {
	fmt.Fprintf(b, "%s\n\n\\nopagebreak\n", escapeLaTeX(text))
}

// latexLines writes a list, and those below a line as a list within it.
func latexLines(b *bufio.Writer, lines []viewLine) {
	var items []string
	for i := 0; i < len(lines); i++ {
		item := latexText(lines[i])
		var inner strings.Builder
		for i+1 < len(lines) && lines[i+1].Inner {
			i++
			fmt.Fprintf(&inner, "\\item {}%s\n", latexText(lines[i]))
		}
		if inner.Len() > 0 {
			item += "\n\\begin{itemize}\n" + inner.String() + "\\end{itemize}"
		}
		items = append(items, item)
	}
	latexList(b, items)
}

func latexText(l viewLine) string {
	if l.Tone == strong || l.Tone == alarm {
		return `\textbf{` + escapeLaTeX(l.Text) + `}`
	}
	return escapeLaTeX(l.Text)
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
