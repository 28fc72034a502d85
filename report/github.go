package report

import (
	"bufio"
	"fmt"
	"io"
)

// GitHub writes a summary in GitHub's Markdown, for a job's summary or a
// comment: the bounds first, then a line for each comparison. The whole report
// is MarkdownDocument's.
func GitHub(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	markdownHead(b, "##", d.view())
	first := firstCompared(d.Tables)
	b.WriteString("| metric | compared | before | after | " + changeName(first != nil && first.isBlocked()) + " | 95% interval | p_adj | verdict |\n|:--|:--|--:|--:|--:|--:|--:|:--|\n")
	compared := 0
	for i := range d.Tables {
		t := &d.Tables[i]
		f := formatOf(t)
		for j := range t.Contrasts {
			githubContrast(b, t, &t.Contrasts[j], f)
			compared++
		}
	}
	if compared == 0 {
		b.WriteString("| nothing is compared | | | | | | | |\n")
	}
	githubExcluded(b, d)
	if compared > 0 {
		fmt.Fprintf(b, "\n%s %s\n", escapeMarkdown("before and after: medians. "+changeLegend(first)+"; "+holmLegend(first)+"."), escapeMarkdown(d.Scope))
	}
	return b.Flush()
}

func githubContrast(b *bufio.Writer, t *Table, c *Contrast, f format) {
	s := summaryOf(t, c, f)
	word := escapeMarkdown(s.verdict)
	if c.Location.Verdict.Claims() {
		word = "**" + word + "**"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", escapeMarkdown(s.metric), escapeMarkdown(c.X+" against "+c.Y),
		escapeMarkdown(s.before), escapeMarkdown(s.after), changeOf(c, f, c.Location.Change), changeInterval(c, f), adjusted(c.Location.PAdj), word)
}

// githubExcluded counts what the numbers leave out, once per treatment group.
func githubExcluded(b *bufio.Writer, d *Document) {
	seen := names{}
	for i := range d.Tables {
		t := &d.Tables[i]
		if n := t.Counts.Void + t.Counts.Failed; n > 0 {
			seen.add(fmt.Sprintf("%s: %d void and %d failed runs are left out", t.Name(), t.Counts.Void, t.Counts.Failed))
		}
	}
	for i, text := range seen.list {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- %s\n", escapeMarkdown(text))
	}
}
