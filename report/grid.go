package report

import (
	"strconv"
	"strings"

	"goset/metric"
	"goset/stats"
)

// grid is a table of texts: rows with a label, and columns.
type grid struct {
	Caption string // a line above it
	Head    string // over the labels
	Labels  []string
	Marks   []string // the numbers of each row's notes, as "1,6"; nil: of none
	Columns []gridColumn
}

// gridColumn is one column. An interval has its two ends apart too, for inks
// that align both.
type gridColumn struct {
	Head   string // a line break says where it may be broken
	Cells  []string
	Lo, Hi []string
	// Aside says that the column stands below the others, with the labels
	// again, where there is no room for all.
	Aside bool
	// Joined says that the column means nothing without the one before it.
	Joined bool
}

// shown is one column of a table for people over rows of a kind.
type shown[T any] struct {
	head string
	cell func(T, format) string
	ends func(T, format) (lo, hi string) // of an interval; nil: it is none
	// aside and joined are as in gridColumn.
	aside, joined bool
}

// gridColumns fills columns in.
func gridColumns[T any](cols []shown[T], rows []T, f format) []gridColumn {
	out := make([]gridColumn, len(cols))
	for i, c := range cols {
		g := gridColumn{Head: c.head, Aside: c.aside, Joined: c.joined}
		for _, r := range rows {
			g.Cells = append(g.Cells, c.cell(r, f))
			if c.ends != nil {
				lo, hi := c.ends(r, f)
				g.Lo, g.Hi = append(g.Lo, lo), append(g.Hi, hi)
			}
		}
		out[i] = g
	}
	return out
}

// runGrid has a row per mode: over its runs, and aside over its iterations.
func (t *Table) runGrid(f format) grid {
	g := grid{Marks: noteNumbers(t)}
	rows := make([]*Row, len(t.Rows))
	for i := range t.Rows {
		rows[i] = &t.Rows[i]
		g.Labels = append(g.Labels, t.Rows[i].Label())
	}
	cols := runColumns()
	if hasIterations(t) {
		cols = append(cols, iterationColumns(t.Metric.Better)...)
	}
	g.Columns = gridColumns(cols, rows, f)
	return g
}

// runColumns are over per-run values, the extremes before the spread that they
// make.
func runColumns() []shown[*Row] {
	return []shown[*Row]{
		{head: "n", cell: func(r *Row, _ format) string { return strconv.Itoa(r.Summary.N) }},
		{head: "median", cell: func(r *Row, f format) string { return f.quantity(r.Summary.Median) }},
		{head: "95% interval", joined: true, cell: func(r *Row, f format) string { return f.interval(r.Summary.MedianCI) },
			ends: func(r *Row, f format) (string, string) {
				ci := r.Summary.MedianCI
				return f.quantity(bound(ci, ci.Lo)), f.quantity(bound(ci, ci.Hi))
			}},
		{head: "sd", cell: func(r *Row, f format) string { return f.deviation(r.Summary.SD) }},
		{head: "CV", cell: func(r *Row, _ format) string { return percent(r.Summary.CV) }},
		{head: "min", cell: func(r *Row, f format) string { return f.quantity(r.Summary.Min) }, aside: true},
		{head: "max", cell: func(r *Row, f format) string { return f.quantity(r.Summary.Max) }, aside: true},
		{head: "spread", cell: func(r *Row, _ format) string { return percent(r.Summary.Spread) }},
		{head: "×median", cell: func(r *Row, _ format) string { return times(r.MedianRatio) }},
		{head: "×sd", cell: func(r *Row, _ format) string { return times(r.SDRatio) }},
	}
}

// iterationColumns are over the pooled iterations: of a rate with the lower
// tail too, which is the one that hurts.
func iterationColumns(better metric.Direction) []shown[*Row] {
	cols := []shown[*Row]{{head: "iterations", cell: func(r *Row, _ format) string { return strconv.Itoa(r.Iterations.N) }, aside: true}}
	add := func(head string, of func(*Iterations) stats.Value) {
		cols = append(cols, shown[*Row]{head: head, cell: func(r *Row, f format) string { return f.quantile(of(&r.Iterations)) }, aside: true})
	}
	if better == metric.Higher {
		add("p0.1", func(i *Iterations) stats.Value { return i.P01 })
		add("p1", func(i *Iterations) stats.Value { return i.P1 })
	}
	cols = append(cols, shown[*Row]{head: "p50", cell: func(r *Row, f format) string { return f.quantity(r.Iterations.P50) }, aside: true})
	add("p99", func(i *Iterations) stats.Value { return i.P99 })
	add("p99.9", func(i *Iterations) stats.Value { return i.P999 })
	return cols
}

func hasIterations(t *Table) bool {
	for i := range t.Rows {
		if t.Rows[i].Iterations.N > 0 {
			return true
		}
	}
	return false
}

// contrastGrid has a row for each contrast.
func (t *Table) contrastGrid(f format) grid {
	g := grid{Caption: t.against()}
	rows := make([]*Contrast, len(t.Contrasts))
	for i := range t.Contrasts {
		rows[i] = &t.Contrasts[i]
		g.Labels = append(g.Labels, rows[i].label(t))
	}
	g.Columns = gridColumns(contrastColumns(t.isBlocked()), rows, f)
	return g
}

// contrastColumns are the two questions, each with interval and p.
func contrastColumns(blocked bool) []shown[*Contrast] {
	change := "median\nchange"
	if blocked {
		change = "median change\nwithin rounds"
	}
	return []shown[*Contrast]{
		{head: change, cell: func(c *Contrast, f format) string { return changeOf(c, f, c.Location.Change) }},
		{head: "95% interval", joined: true, cell: changeInterval, ends: func(c *Contrast, f format) (string, string) {
			ci := c.Location.CI
			return changeOf(c, f, bound(ci, ci.Lo)), changeOf(c, f, bound(ci, ci.Hi))
		}},
		{head: "p_adj", joined: true, cell: func(c *Contrast, _ format) string { return adjusted(c.Location.PAdj) }},
		{head: "sd ratio", cell: func(c *Contrast, _ format) string { return ratioOf(c.Spread.Ratio) }},
		{head: "95% interval", joined: true, cell: func(c *Contrast, _ format) string { return ratiosOf(c.Spread.CI) }, ends: func(c *Contrast, _ format) (string, string) {
			ci := c.Spread.CI
			if !ci.OK {
				return undefined, undefined
			}
			lo, hi, _ := strings.Cut(stats.FormatRatios(ci), "–")
			return lo, hi
		}},
		{head: "p_adj", joined: true, cell: func(c *Contrast, _ format) string { return adjusted(c.Spread.PAdj) }},
	}
}
