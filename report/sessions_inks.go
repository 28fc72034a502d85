package report

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"goset/internal/texttab"
)

// SessionsText writes several sessions for a terminal.
func SessionsText(w io.Writer, s *Sessions, opts TextOptions) error {
	if opts.Width == 0 {
		opts.Width = defaultWidth
	}
	opts.Width = max(opts.Width, minWidth)
	p := &textInk{w: bufio.NewWriter(w), opts: opts}
	v := s.view()
	p.viewLines(v.lines)
	for i := range v.parts {
		if i > 0 || len(v.lines) > 0 {
			p.line("")
		}
		part := &v.parts[i]
		p.wrapped("", "  ", part.Heading, bold)
		for k := range part.Grids {
			p.grid(&part.Grids[k])
		}
		p.viewLines(part.Lines)
	}
	p.line("")
	if v.legend != "" {
		p.wrapped("", "", v.legend, dim)
	}
	p.wrapped("", "", v.scope, dim)
	return p.w.Flush()
}

func (p *textInk) viewLines(lines []viewLine) {
	for i := range lines {
		style := headlineStyle(&Headline{Grade: lines[i].Grade})
		if lines[i].Alarm {
			style = bold + red
		}
		p.wrapped("", "  ", lines[i].Text, style)
	}
}

func (p *textInk) grid(g *grid) {
	labels, width := p.wrapLabels(append([]string{g.Head}, g.Labels...))
	head := g.Head
	if len(labels[0]) > 1 {
		head = ""
	}
	var cells [][]texttab.Cell
	for _, c := range g.Columns {
		col := []texttab.Cell{{Text: c.Head, Align: texttab.Right}}
		for _, text := range c.Cells {
			col = append(col, texttab.Cell{Text: text, Align: texttab.Right})
		}
		cells = append(cells, col)
	}
	p.chunks(head, labels[1:], width, cells)
}

// SessionsMarkdown writes several sessions in GitHub's dialect.
func SessionsMarkdown(w io.Writer, s *Sessions) error {
	b := bufio.NewWriter(w)
	v := s.view()
	if v.title != "" {
		fmt.Fprintf(b, "# %s\n\n", escapeMarkdown(v.title))
	}
	markdownLines(b, v.lines)
	for i := range v.parts {
		fmt.Fprintf(b, "## %s\n\n", escapeMarkdown(v.parts[i].Heading))
		for k := range v.parts[i].Grids {
			markdownGrid(b, &v.parts[i].Grids[k])
		}
		markdownLines(b, v.parts[i].Lines)
	}
	if v.legend != "" {
		fmt.Fprintf(b, "%s\n\n", escapeMarkdown(v.legend))
	}
	fmt.Fprintf(b, "%s\n", escapeMarkdown(v.scope))
	return b.Flush()
}

func markdownLines(b *bufio.Writer, lines []viewLine) {
	for i := range lines {
		text := escapeMarkdown(lines[i].Text)
		if lines[i].Alarm || lines[i].Grade == Clear {
			text = "**" + text + "**"
		}
		fmt.Fprintf(b, "- %s\n", text)
	}
	if len(lines) > 0 {
		b.WriteString("\n")
	}
}

func markdownGrid(b *bufio.Writer, g *grid) {
	head, rule := "| "+escapeMarkdown(g.Head)+" |", "|:--|"
	for _, c := range g.Columns {
		head += " " + escapeMarkdown(c.Head) + " |"
		rule += "--:|"
	}
	fmt.Fprintf(b, "%s\n%s\n", head, rule)
	for i := range g.Labels {
		fmt.Fprintf(b, "| %s |", escapeMarkdown(g.Labels[i]))
		for _, c := range g.Columns {
			fmt.Fprintf(b, " %s |", escapeMarkdown(c.Cells[i]))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// SessionsGitHub writes a summary: the sentences, and a line for each
// comparison with its mean over the sessions.
func SessionsGitHub(w io.Writer, s *Sessions) error {
	b := bufio.NewWriter(w)
	v := s.view()
	if v.title != "" {
		fmt.Fprintf(b, "## %s\n\n", escapeMarkdown(v.title))
	}
	markdownLines(b, v.lines)
	b.WriteString("| metric | compared | sessions | change | 95% interval | p_adj | sd ratio | 95% interval | p_adj |\n|:--|:--|--:|--:|--:|--:|--:|--:|--:|\n")
	compared := 0
	for i := range s.Tables {
		t := &s.Tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			fmt.Fprintf(b, "| %s | %s | %s |", escapeMarkdown(t.name()), escapeMarkdown(c.X+" against "+c.Y), c.count())
			for _, text := range t.means(c) {
				fmt.Fprintf(b, " %s |", escapeMarkdown(text))
			}
			b.WriteString("\n")
			compared++
		}
	}
	if compared == 0 {
		b.WriteString("| nothing is compared | | | | | | | | |\n")
	}
	fmt.Fprintf(b, "\n%s\n", escapeMarkdown(v.scope))
	return b.Flush()
}

// SessionsLaTeX writes a document that pdflatex compiles as it is.
func SessionsLaTeX(w io.Writer, s *Sessions) error {
	b := bufio.NewWriter(w)
	v := s.view()
	b.WriteString(latexHead)
	fmt.Fprintf(b, "\\title{%s}\n\\author{}\n\\date{}\n\\begin{document}\n\\maketitle\n\\thispagestyle{plain}\n", escapeLaTeX(cmp.Or(v.title, "Report")))
	latexViewLines(b, v.lines)
	for i := range v.parts {
		fmt.Fprintf(b, "\\section*{%s}\n", escapeLaTeX(v.parts[i].Heading))
		for k := range v.parts[i].Grids {
			latexGrid(b, &v.parts[i].Grids[k])
		}
		latexViewLines(b, v.parts[i].Lines)
	}
	if v.legend != "" {
		fmt.Fprintf(b, "\\paragraph{Columns.} %s\n\n", escapeLaTeX(v.legend))
	}
	fmt.Fprintf(b, "\\paragraph{Scope.} %s\n\n\\end{document}\n", escapeLaTeX(strings.TrimPrefix(v.scope, "Scope: ")))
	return b.Flush()
}

func latexViewLines(b *bufio.Writer, lines []viewLine) {
	var out []string
	for i := range lines {
		out = append(out, latexStrong(lines[i].Text, lines[i].Alarm || lines[i].Grade == Clear))
	}
	latexList(b, out)
}

func latexGrid(b *bufio.Writer, g *grid) {
	spec := ">{\\raggedright\\arraybackslash}p{55mm}"
	for _, c := range g.Columns {
		spec += " " + siunitxColumn(c.Cells)
	}
	for from := 0; from < len(g.Labels); from += latexChunk {
		fmt.Fprintf(b, "\\begin{tabular}{@{}%s@{}}\n\\toprule\n%s", spec, escapeLaTeX(g.Head))
		for _, c := range g.Columns {
			fmt.Fprintf(b, " & {%s}", escapeLaTeX(c.Head))
		}
		b.WriteString(" \\\\\n\\midrule\n")
		for i := from; i < min(from+latexChunk, len(g.Labels)); i++ {
			// A row must not start with "[": it would be the argument of the "\\" before.
			fmt.Fprintf(b, "{}%s", escapeLaTeX(g.Labels[i]))
			for _, c := range g.Columns {
				b.WriteString(" & " + siunitxCell(c.Cells[i]))
			}
			b.WriteString(" \\\\\n")
		}
		b.WriteString("\\bottomrule\n\\end{tabular}\n\n\\medskip\n")
	}
}

//go:embed html/sessions.tmpl.html
var sessionsTemplate string

// SessionsHTML writes a page of tables that needs nothing but itself.
func SessionsHTML(w io.Writer, s *Sessions) error {
	t, err := template.New("sessions").Parse(sessionsTemplate)
	if err != nil {
		return err
	}
	v := s.view()
	return t.Execute(w, struct {
		Title, Legend, Scope string
		Lines                []viewLine
		Parts                []viewPart
		CSS                  template.CSS
	}{cmp.Or(v.title, "Report"), v.legend, v.scope, v.lines, v.parts, template.CSS(pageCSS)})
}
