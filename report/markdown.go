package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// MarkdownDocument writes a whole report in GitHub's dialect.
func MarkdownDocument(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	markdownView(b, d.view())
	return b.Flush()
}

func markdownView(b *bufio.Writer, v *view) {
	markdownHead(b, "#", v)
	markdownParts(b, v.parts)
	between := ""
	for _, text := range []string{v.legend, v.modes, v.scope, v.unchecked} {
		if text != "" {
			fmt.Fprintf(b, "%s%s\n", between, escapeMarkdown(text))
			between = "\n"
		}
	}
}

// markdownHead writes the title at a level of headings, what came of the
// bounds, and what must be known first.
func markdownHead(b *bufio.Writer, level string, v *view) {
	if v.title != "" {
		fmt.Fprintf(b, "%s %s\n\n", level, escapeMarkdown(v.title))
	}
	markdownLines(b, v.gates)
	markdownLines(b, v.lines)
}

func markdownParts(b *bufio.Writer, parts []viewPart) {
	for i := range parts {
		p := &parts[i]
		fmt.Fprintf(b, "## %s\n\n", escapeMarkdown(p.Heading))
		if p.Counts != "" {
			fmt.Fprintf(b, "%s\n\n", escapeMarkdown(p.Counts))
		}
		for k := range p.Grids {
			markdownGrid(b, &p.Grids[k])
		}
		markdownLines(b, p.Lines)
		for _, s := range p.Excluded {
			fmt.Fprintf(b, "- %s\n", escapeMarkdown(s))
		}
		for k, n := range p.Notes {
			fmt.Fprintf(b, "- <sup>%d</sup> %s\n", k+1, markdownText(n))
		}
		if len(p.Excluded)+len(p.Notes) > 0 {
			b.WriteString("\n")
		}
	}
}

// markdownLines writes a list and a blank line; nothing where it is empty.
func markdownLines(b *bufio.Writer, lines []viewLine) {
	for _, l := range lines {
		indent := ""
		if l.Inner {
			indent = "  "
		}
		fmt.Fprintf(b, "%s- %s\n", indent, markdownText(l))
	}
	if len(lines) > 0 {
		b.WriteString("\n")
	}
}

func markdownText(l viewLine) string {
	text := escapeMarkdown(l.Text)
	if l.Tone == strong || l.Tone == alarm {
		return "**" + text + "**"
	}
	return text
}

func markdownGrid(b *bufio.Writer, g *grid) {
	if g.Caption != "" {
		fmt.Fprintf(b, "%s\n\n", escapeMarkdown(g.Caption))
	}
	head, rule := "| |", "|:--|"
	if g.Head != "" {
		head = "| " + escapeMarkdown(g.Head) + " |"
	}
	for _, c := range g.Columns {
		head += " " + escapeMarkdown(c.Head) + " |"
		rule += "--:|"
	}
	fmt.Fprintf(b, "%s\n%s\n", head, rule)
	for i := range g.Labels {
		fmt.Fprintf(b, "| %s", escapeMarkdown(g.Labels[i]))
		if g.Marks != nil && g.Marks[i] != "" {
			fmt.Fprintf(b, " <sup>%s</sup>", g.Marks[i])
		}
		b.WriteString(" |")
		for _, c := range g.Columns {
			fmt.Fprintf(b, " %s |", escapeMarkdown(c.Cells[i]))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// escapeMarkdown keeps text from outside from becoming markup or from breaking
// a table's row.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "[", `\[`, "#", `\#`, "~", `\~`, "\n", " ").Replace(s)
}
