package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"goset/internal/texttab"
	"goset/metric"
)

// TextOptions says what the terminal can do.
type TextOptions struct {
	Color bool // SGR escape sequences
	Width int  // columns; 0: 100
}

const (
	defaultWidth = 100
	minWidth     = 40 // below this nothing can be laid out; lines are then longer
	maxLabel     = 32 // a row's label is wrapped above this, or above two fifths of the width
)

// The escape sequences of the text ink.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

// shown is one column of a table for people. An interval is one column here
// and two numbers in CSV.
type shown struct {
	head string
	cell func(*Row, format) string
}

// runColumns are over per-run values. Where not all fit beside each other, the
// extremes stand apart.
func runColumns() (main, extremes []shown) {
	main = []shown{
		{"n", func(r *Row, _ format) string { return strconv.Itoa(r.Summary.N) }},
		{"median", func(r *Row, f format) string { return f.quantity(r.Summary.Median) }},
		{"95% interval", func(r *Row, f format) string { return f.interval(r.Summary.MedianCI) }},
		{"sd", func(r *Row, f format) string { return f.deviation(r.Summary.SD) }},
		{"CV", func(r *Row, _ format) string { return percent(r.Summary.CV) }},
		{"spread", func(r *Row, _ format) string { return percent(r.Summary.Spread) }},
		{"×median", func(r *Row, _ format) string { return times(r.MedianRatio) }},
		{"×sd", func(r *Row, _ format) string { return times(r.SDRatio) }},
	}
	extremes = []shown{
		{"min", func(r *Row, f format) string { return f.quantity(r.Summary.Min) }},
		{"max", func(r *Row, f format) string { return f.quantity(r.Summary.Max) }},
	}
	return main, extremes
}

// allRunColumns has the extremes where the eye looks for them, before the
// spread that they make.
func allRunColumns() []shown {
	main, extremes := runColumns()
	at := slices.IndexFunc(main, func(c shown) bool { return c.head == "spread" })
	return slices.Insert(main, at, extremes...)
}

// iterationColumns are over the pooled iterations: of a rate with the lower
// tail too, which is the one that hurts.
func iterationColumns(better metric.Direction) []shown {
	cols := []shown{{"iterations", func(r *Row, _ format) string { return strconv.Itoa(r.Iterations.N) }}}
	if better == metric.Higher {
		cols = append(cols,
			shown{"p0.1", func(r *Row, f format) string { return f.quantity(r.Iterations.P01) }},
			shown{"p1", func(r *Row, f format) string { return f.quantity(r.Iterations.P1) }})
	}
	return append(cols, []shown{
		{"p50", func(r *Row, f format) string { return f.quantity(r.Iterations.P50) }},
		{"p99", func(r *Row, f format) string { return f.quantity(r.Iterations.P99) }},
		{"p99.9", func(r *Row, f format) string { return f.quantity(r.Iterations.P999) }},
	}...)
}

// TextDocument writes a whole report for a terminal.
func TextDocument(w io.Writer, d *Document, opts TextOptions) error {
	p := newTextInk(w, opts)
	p.head(d)
	p.tables(d.Tables)
	p.foot(d)
	return p.w.Flush()
}

// head is what must be known before any table is read.
func (p *textInk) head(d *Document) {
	lines := 0
	say := func(first, text, style string) {
		p.wrapped(first, "  ", text, style)
		lines++
	}
	s := &d.SelfCheck
	for _, f := range s.Failed {
		if lines == 0 {
			say("", s.Text, bold+red)
		}
		say("  ", f, red)
	}
	for _, h := range d.sentences() {
		say("", h.Text, headlineStyle(&h))
	}
	if s.Ran && len(s.Failed) == 0 {
		say("", s.Text, dim)
		for _, f := range s.Narrow {
			say("  ", f, yellow)
		}
	}
	for _, n := range d.Notes {
		say("", n, yellow)
	}
	for i := range d.Suite {
		s := &d.Suite[i]
		say("", s.Name()+" "+s.AverageText, claimStyle(s.AverageClaim))
		say("  ", s.EveryText, claimStyle(s.EveryClaim))
	}
	if lines > 0 && len(d.Tables) > 0 {
		p.line("")
	}
}

func headlineStyle(h *Headline) string {
	return map[Grade]string{Clear: bold, Hint: yellow}[h.Grade]
}

func claimStyle(claim bool) string {
	if claim {
		return bold
	}
	return ""
}

func (p *textInk) tables(tables []Table) {
	for i := range tables {
		if i > 0 {
			p.line("")
		}
		// The excluded runs are the same for all metrics of a group.
		p.table(&tables[i], i == 0 || tables[i-1].Name() != tables[i].Name())
	}
	if len(tables) > 0 {
		p.line("")
		p.wrapped("", "", legend(tables), dim)
	}
}

func gateStyle(s GateStatus) string {
	switch s {
	case GateFailed:
		return bold + red
	case GateUnresolved:
		return yellow
	}
	return ""
}

// foot is how far the numbers reach.
func (p *textInk) foot(d *Document) {
	if len(d.Tables) == 0 {
		return
	}
	for i := range d.Gates {
		p.wrapped("", "  ", d.Gates[i].Text, gateStyle(d.Gates[i].Status))
	}
	p.wrapped("", "", d.Scope, dim)
	if !d.SelfCheck.Ran && len(d.Contrasts()) > 0 && d.Manifest != nil {
		p.wrapped("", "", d.SelfCheck.Text, dim)
	}
}

const ratioLegend = " ×median and ×sd: against the baseline."

// legend says once what the columns are.
func legend(tables []Table) string {
	s := "Over runs: median with its order-statistic interval (coverage at least 95%), sd with n − 1, CV = sd/mean, spread = (max − min)/median."
	for i := range tables {
		if tables[i].Baseline != "" {
			s += ratioLegend
			break
		}
	}
	for i := range tables {
		if len(tables[i].Contrasts) > 0 {
			s += " " + contrastLegend(&tables[i])
			break
		}
	}
	for i := range tables {
		if hasIterations(&tables[i]) {
			s += " Over the iterations of all kept runs: quantiles p99 needs n ≥ 100, p99.9 n ≥ 1000."
			break
		}
	}
	return s
}

func hasIterations(t *Table) bool {
	for i := range t.Rows {
		if t.Rows[i].Iterations.N > 0 {
			return true
		}
	}
	return false
}

// textInk holds the writer. bufio keeps its first error, which Flush returns.
type textInk struct {
	w    *bufio.Writer
	opts TextOptions
}

func newTextInk(w io.Writer, opts TextOptions) *textInk {
	if opts.Width == 0 {
		opts.Width = defaultWidth
	}
	opts.Width = max(opts.Width, minWidth)
	return &textInk{w: bufio.NewWriter(w), opts: opts}
}

func (p *textInk) line(s string) {
	p.w.WriteString(strings.TrimRight(s, " ") + "\n")
}

func (p *textInk) paint(s, style string) string {
	if !p.opts.Color || style == "" || s == "" {
		return s
	}
	return style + s + reset
}

// wrapped writes text after a prefix, in lines of at most the width.
func (p *textInk) wrapped(first, rest, text, style string) {
	w := p.opts.Width - max(texttab.Width(first), texttab.Width(rest))
	for i, l := range texttab.Wrap(text, w) {
		prefix := first
		if i > 0 {
			prefix = rest
		}
		p.line(prefix + p.paint(l, style))
	}
}

func (p *textInk) table(t *Table, withExcluded bool) {
	f := formatOf(t)
	p.wrapped("", "  ", t.Name()+" · "+heading(t.Metric, f.unit), bold)
	p.wrapped("", "  ", countsLine(t), dim)
	marks := marksOf(t)
	main, second := allRunColumns(), []shown(nil)
	if !p.fits(t, f, main, marks) {
		main, second = runColumns()
	}
	if hasIterations(t) {
		second = append(second, iterationColumns(t.Metric.Better)...)
	}
	p.block(t, f, main, marks)
	p.block(t, f, second, nil)
	p.contrasts(t, f)
	for _, v := range t.Verdicts() {
		p.wrapped("", "  ", v.Line(), headlineStyle(&Headline{Grade: v.Grade}))
	}
	for i := range t.Effects {
		e := &t.Effects[i]
		median, spread := e.Lines()
		p.wrapped("", "  ", median, claimStyle(e.MedianClaim))
		p.wrapped("", "  ", spread, claimStyle(e.SpreadClaim))
	}
	for i := range t.Trends {
		s := &t.Trends[i]
		median, spread := s.Lines()
		p.wrapped("", "  ", median, claimStyle(s.MedianClaim))
		p.wrapped("", "  ", spread, claimStyle(s.SpreadClaim))
	}
	for i := range t.Attributions {
		if a := &t.Attributions[i]; a.Notable {
			p.wrapped("", "  ", a.Text, dim)
		}
	}
	if withExcluded {
		for _, s := range excludedLines(t) {
			p.wrapped("  ", "    ", s, "")
		}
	}
	for i := range t.Notes {
		n := &t.Notes[i]
		first := superscript(i+1) + " "
		p.wrapped(first, strings.Repeat(" ", texttab.Width(first)), noteText(t, n), noteStyle(n))
	}
}

// heading names the metric, its unit and its good direction.
func heading(m metric.Metric, unit string) string {
	if m.Name == "" {
		return "no values"
	}
	s := m.Name
	if unit != "" {
		s += ", " + unit
	}
	if m.Better != metric.Unknown {
		s += " (" + string(m.Better) + " is better)"
	}
	return s
}

func countsLine(t *Table) string {
	s := fmt.Sprintf("runs: %d kept, %d void, %d failed", t.Counts.Kept, t.Counts.Void, t.Counts.Failed)
	if t.Counts.Warmup > 0 {
		s += fmt.Sprintf(" (and %d to warm up)", t.Counts.Warmup)
	}
	if t.Baseline != "" {
		s += "; baseline: " + t.Baseline
	}
	return s
}

// marksOf gives every row the numbers of its notes.
func marksOf(t *Table) []string {
	marks := make([]string, len(t.Rows))
	for i := range t.Notes {
		for _, r := range t.Notes[i].Rows {
			if marks[r] != "" {
				marks[r] += " "
			}
			marks[r] += superscript(i + 1)
		}
	}
	return marks
}

func superscript(n int) string {
	return strings.Map(func(r rune) rune { return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[r-'0'] }, strconv.Itoa(n))
}

// noteText names the rows that a note is about, unless it is about all.
func noteText(t *Table, n *Note) string {
	if len(n.Rows) == 0 || len(n.Rows) == len(t.Rows) && len(t.Rows) > 1 {
		return n.Text
	}
	labels := make([]string, len(n.Rows))
	for i, r := range n.Rows {
		labels[i] = t.Rows[r].Label()
	}
	return n.Text + " — " + strings.Join(labels, ", ")
}

func noteStyle(n *Note) string {
	switch {
	case strings.HasSuffix(n.Text, "do not compare"):
		return red
	case strings.HasSuffix(n.Text, "look at the environment"):
		return yellow
	}
	return ""
}

// excludedLines lists the void and failed runs: the first few of each row and
// how many more there are.
func excludedLines(t *Table) []string {
	var out []string
	for i := range t.Rows {
		r := &t.Rows[i]
		for _, e := range r.Excluded {
			out = append(out, excludedLine(r, &e))
		}
		if more := r.Counts.Void + r.Counts.Failed - len(r.Excluded); more > 0 {
			out = append(out, fmt.Sprintf("… and %d more of %s", more, r.Label()))
		}
	}
	return out
}

func excludedLine(r *Row, e *Excluded) string {
	s := fmt.Sprintf("%s: %s, block %d", e.Outcome, r.Label(), e.Block)
	if e.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// block writes the rows with the given columns.
func (p *textInk) block(t *Table, f format, cols []shown, marks []string) {
	labels, width := p.rowLabels(t)
	p.chunks("", labels, width, cellsOf(t, f, cols, marks))
}

// contrasts writes a row for each contrast.
func (p *textInk) contrasts(t *Table, f format) {
	if len(t.Contrasts) == 0 {
		return
	}
	names := make([]string, len(t.Contrasts))
	for i := range names {
		names[i] = t.Contrasts[i].label(t)
	}
	head := "against " + t.base()
	labels, width := p.wrapLabels(append([]string{head}, names...))
	if len(labels[0]) > 1 {
		head, width = "", max(0, width)
	}
	var cells [][]texttab.Cell
	for _, c := range contrastColumns() {
		col := []texttab.Cell{{Text: c.head, Align: texttab.Right}}
		for i := range t.Contrasts {
			col = append(col, texttab.Cell{Text: c.cell(&t.Contrasts[i], f), Align: texttab.Right})
		}
		cells = append(cells, col)
	}
	p.chunks(head, labels[1:], width, cells)
}

// chunks writes labelled columns. Those that do not fit into the width go to
// further chunks, each with the labels again: nothing is cut.
func (p *textInk) chunks(head string, labels [][]string, width int, cells [][]texttab.Cell) {
	for len(cells) > 0 {
		n := p.fit(cells, width)
		p.chunk(head, labels, cells[:n])
		cells = cells[n:]
	}
}

// fits is true when a block needs no second chunk.
func (p *textInk) fits(t *Table, f format, cols []shown, marks []string) bool {
	_, width := p.rowLabels(t)
	cells := cellsOf(t, f, cols, marks)
	return p.fit(cells, width) == len(cells)
}

// cellsOf renders columns, each with its heading first.
func cellsOf(t *Table, f format, cols []shown, marks []string) [][]texttab.Cell {
	cells := make([][]texttab.Cell, len(cols))
	for c := range cols {
		cells[c] = append(cells[c], texttab.Cell{Text: cols[c].head, Align: texttab.Right})
		for i := range t.Rows {
			cells[c] = append(cells[c], texttab.Cell{Text: cols[c].cell(&t.Rows[i], f), Align: texttab.Right})
		}
	}
	if marks != nil && strings.Join(marks, "") != "" {
		cells = append(cells, markColumn(marks))
	}
	return cells
}

func markColumn(marks []string) []texttab.Cell {
	col := []texttab.Cell{{}}
	for _, m := range marks {
		col = append(col, texttab.Cell{Text: m})
	}
	return col
}

// rowLabels wraps the labels and returns the width of the widest line.
func (p *textInk) rowLabels(t *Table) (labels [][]string, width int) {
	names := make([]string, len(t.Rows))
	for i := range t.Rows {
		names[i] = t.Rows[i].Label()
	}
	return p.wrapLabels(names)
}

func (p *textInk) wrapLabels(names []string) (labels [][]string, width int) {
	for _, name := range names {
		ls := texttab.Wrap(name, min(maxLabel, 2*p.opts.Width/5)-2)
		for j, l := range ls {
			if j > 0 {
				ls[j] = "  " + l
			}
			width = max(width, texttab.Width(ls[j]))
		}
		labels = append(labels, ls)
	}
	return labels, width
}

// fit returns how many of the columns fit beside the labels, at least one.
func (p *textInk) fit(cells [][]texttab.Cell, used int) int {
	for n, col := range cells {
		w := 0
		for _, c := range col {
			w = max(w, texttab.Width(c.Text))
		}
		used += gap + w
		if used > p.opts.Width && n > 0 {
			return n
		}
	}
	return len(cells)
}

const gap = 2 // blanks between columns

// chunk writes labels and columns; cells[c][0] is a heading.
func (p *textInk) chunk(head string, labels [][]string, cells [][]texttab.Cell) {
	rows := [][]texttab.Cell{{{Text: head}}}
	for _, col := range cells {
		rows[0] = append(rows[0], col[0])
	}
	for i, ls := range labels {
		for j, l := range ls {
			row := []texttab.Cell{{Text: l}}
			if j == len(ls)-1 {
				for _, col := range cells {
					row = append(row, col[i+1])
				}
			}
			rows = append(rows, row)
		}
	}
	for i, row := range texttab.Layout(rows) {
		s := strings.Join(row, strings.Repeat(" ", gap))
		if i == 0 {
			s = p.paint(strings.TrimRight(s, " "), dim)
		}
		p.line(s)
	}
}
