package report

import (
	"bufio"
	"fmt"
	"io"

	"goset/stats"
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
	median := func(row int) string {
		v := t.Rows[row].Summary.Median
		if !v.OK {
			return undefined
		}
		return f.number(v.V) + " " + f.unit
	}
	v := c.Location.Verdict
	word := escapeMarkdown(v.Text)
	switch {
	case v.Kind == stats.NotResolved:
		word = "not resolved"
	case v.Claims():
		word = "**" + string(v.Kind) + "**"
	}
	name := t.Metric.Name
	if t.Metric.Benchmark == "" || len(t.Levels) > 0 {
		name = t.Name() + ": " + name
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", escapeMarkdown(name), escapeMarkdown(c.X+" against "+c.Y),
		escapeMarkdown(median(c.Base)), escapeMarkdown(median(c.Row)), changeOf(c, f, c.Location.Change), changeInterval(c, f), adjusted(c.Location.PAdj), word)
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
