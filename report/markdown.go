package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// MarkdownDocument writes a whole report in GitHub's dialect.
func MarkdownDocument(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	if title := cmp.Or(d.Title, d.Experiment); title != "" {
		fmt.Fprintf(b, "# %s\n\n", escapeMarkdown(title))
	}
	markdownGates(b, d.Gates)
	markdownHead(b, d)
	markdownTables(b, d.Tables)
	if len(d.Tables) > 0 {
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(d.Scope))
	}
	return b.Flush()
}

func markdownHead(b *bufio.Writer, d *Document) {
	lines := 0
	item := func(indent, text string, strong bool) {
		text = escapeMarkdown(text)
		if strong {
			text = "**" + text + "**"
		}
		fmt.Fprintf(b, "%s- %s\n", indent, text)
		lines++
	}
	s := &d.SelfCheck
	if len(s.Failed) > 0 {
		item("", s.Text, true)
	}
	for _, f := range s.Failed {
		item("  ", f, true)
	}
	for _, h := range d.sentences() {
		item("", h.Text, h.Grade == Clear)
	}
	if s.Ran && len(s.Failed) == 0 {
		item("", s.Text, false)
		for _, f := range s.Narrow {
			item("  ", f, false)
		}
	}
	for _, n := range d.Notes {
		item("", n, false)
	}
	for i := range d.Suite {
		s := &d.Suite[i]
		item("", s.Name()+" "+s.AverageText, s.AverageClaim)
		item("  ", s.EveryText, s.EveryClaim)
	}
	if lines > 0 {
		b.WriteString("\n")
	}
}

// markdownGates lists what came of the bounds.
func markdownGates(b *bufio.Writer, gates []Gate) {
	for i := range gates {
		text := escapeMarkdown(gates[i].Text)
		if gates[i].Status == GateFailed {
			text = "**" + text + "**"
		}
		fmt.Fprintf(b, "- %s\n", text)
	}
	if len(gates) > 0 {
		b.WriteString("\n")
	}
}

func markdownTables(b *bufio.Writer, tables []Table) {
	for i := range tables {
		markdownTable(b, &tables[i], i == 0 || tables[i-1].Name() != tables[i].Name())
	}
	if len(tables) > 0 {
		fmt.Fprintf(b, "%s\n", legend(tables))
	}
}

// markdownContrasts writes the contrasts of a table and their verdicts.
func markdownContrasts(b *bufio.Writer, t *Table, f format) {
	if len(t.Contrasts) == 0 {
		return
	}
	head, rule := "| against "+escapeMarkdown(t.base())+" |", "|:--|"
	for _, c := range contrastColumns() {
		head += " " + escapeMarkdown(c.head) + " |"
		rule += "--:|"
	}
	fmt.Fprintf(b, "%s\n%s\n", head, rule)
	for i := range t.Contrasts {
		fmt.Fprintf(b, "| %s |", escapeMarkdown(t.Contrasts[i].label(t)))
		for _, c := range contrastColumns() {
			fmt.Fprintf(b, " %s |", escapeMarkdown(c.cell(&t.Contrasts[i], f)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for _, v := range t.Verdicts() {
		text := escapeMarkdown(v.Text)
		if v.Claim {
			text = "**" + text + "**"
		}
		fmt.Fprintf(b, "- %s against %s, %s: %s\n", escapeMarkdown(v.X), escapeMarkdown(v.Y), v.About, text)
	}
	finding := func(text string, strong bool) {
		text = escapeMarkdown(text)
		if strong {
			text = "**" + text + "**"
		}
		fmt.Fprintf(b, "- %s\n", text)
	}
	for i := range t.Effects {
		median, spread := t.Effects[i].Lines()
		finding(median, t.Effects[i].MedianClaim)
		finding(spread, t.Effects[i].SpreadClaim)
	}
	for i := range t.Trends {
		median, spread := t.Trends[i].Lines()
		finding(median, t.Trends[i].MedianClaim)
		finding(spread, t.Trends[i].SpreadClaim)
	}
	for i := range t.Attributions {
		if a := &t.Attributions[i]; a.Notable {
			fmt.Fprintf(b, "- %s\n", escapeMarkdown(a.Text))
		}
	}
	b.WriteString("\n")
}

func markdownTable(b *bufio.Writer, t *Table, withExcluded bool) {
	f := formatOf(t)
	fmt.Fprintf(b, "## %s: %s\n\n", escapeMarkdown(t.Name()), escapeMarkdown(heading(t.Metric, f.unit)))
	fmt.Fprintf(b, "%s\n\n", escapeMarkdown(countsLine(t)))
	cols := allRunColumns()
	if hasIterations(t) {
		cols = append(cols, iterationColumns(t.Metric.Better)...)
	}
	head, rule := "| |", "|:--|"
	for _, c := range cols {
		head += " " + c.head + " |"
		rule += "--:|"
	}
	fmt.Fprintf(b, "%s\n%s\n", head, rule)
	marks := markdownMarks(t)
	for i := range t.Rows {
		r := &t.Rows[i]
		fmt.Fprintf(b, "| %s%s |", escapeMarkdown(r.Label()), marks[i])
		for _, c := range cols {
			fmt.Fprintf(b, " %s |", escapeMarkdown(c.cell(r, f)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	markdownContrasts(b, t, f)
	markdownNotes(b, t, withExcluded)
}

// markdownMarks gives every row the numbers of its notes.
func markdownMarks(t *Table) []string {
	marks := make([]string, len(t.Rows))
	for i := range t.Notes {
		for _, r := range t.Notes[i].Rows {
			sep := ","
			if marks[r] == "" {
				sep = " <sup>"
			}
			marks[r] += sep + strconv.Itoa(i+1)
		}
	}
	for i, m := range marks {
		if m != "" {
			marks[i] = m + "</sup>"
		}
	}
	return marks
}

func markdownNotes(b *bufio.Writer, t *Table, withExcluded bool) {
	lines := 0
	if withExcluded {
		for _, s := range excludedLines(t) {
			fmt.Fprintf(b, "- %s\n", escapeMarkdown(s))
			lines++
		}
	}
	for i := range t.Notes {
		fmt.Fprintf(b, "- <sup>%d</sup> %s\n", i+1, escapeMarkdown(noteText(t, &t.Notes[i])))
		lines++
	}
	if lines > 0 {
		b.WriteString("\n")
	}
}

// escapeMarkdown keeps text from outside from becoming markup or from breaking
// a table's row.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "[", `\[`, "#", `\#`, "~", `\~`).Replace(s)
}
