package report

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

// SessionsText writes several sessions for a terminal.
func SessionsText(w io.Writer, s *Sessions, opts TextOptions) error {
	p := newTextInk(w, opts)
	p.view(s.view())
	return p.w.Flush()
}

// SessionsMarkdown writes several sessions in GitHub's dialect.
func SessionsMarkdown(w io.Writer, s *Sessions) error {
	b := bufio.NewWriter(w)
	markdownView(b, s.view())
	return b.Flush()
}

// SessionsGitHub writes a summary: the sentences, and a line for each
// comparison with its mean over the sessions.
func SessionsGitHub(w io.Writer, s *Sessions) error {
	b := bufio.NewWriter(w)
	v := s.view()
	markdownHead(b, "##", v)
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
	latexView(b, s.view())
	b.WriteString("\\end{document}\n")
	return b.Flush()
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
