package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// Side is one of two result folders that are compared.
type Side struct {
	Name string
	Data *Data
	Opts Options // with Manifest
}

// Difference is the same experiment on two days or two machines: what was
// different about the two, and which cells differ and how sure.
type Difference struct {
	Old, New string
	// Facts are those that differ, with both values; one that a side lacks is "".
	Facts []FactChange
	// TextDiff is the difference of the experiments' texts; "": none.
	TextDiff string
	// Cells are those that both sides have, in the order of the old one.
	Cells []CellChange
	// OnlyOld and OnlyNew name cells that one side lacks.
	OnlyOld, OnlyNew []string
	Scope            string
}

// FactChange is a fact about the runs that differs.
type FactChange struct{ Name, Old, New string }

// CellChange is one cell, new against old. The two share no blocks.
type CellChange struct {
	Name   string // "jitter: time/goset n=2"
	Metric metric.Metric
	stats.Comparison
	format format
}

// Compare compares the cells of two sides for the metrics that their options
// select. Holm's correction is over all cells of one metric. The sides share no
// blocks, so whole samples are compared.
func Compare(before, after Side) (*Difference, error) {
	a, err := before.Data.build(before.Opts)
	if err != nil {
		return nil, err
	}
	b, err := after.Data.build(after.Opts)
	if err != nil {
		return nil, err
	}
	d := &Difference{Old: before.Name, New: after.Name,
		Scope: "Scope: one experiment on each side. The tests are about the runs of these two alone: whatever else differs between the two days or machines is in the difference, named above or not. Repeat on several days to say more."}
	d.manifests(before.Opts.Manifest, after.Opts.Manifest)
	return d, d.cells(a.cells(), b.cells())
}

// varying are facts that differ between any two experiments and explain
// nothing.
func varying(name string) bool {
	return slices.Contains([]string{"command", "session", "seed", "sha256 of the experiment", "host.memory.available"}, name)
}

func (d *Difference) manifests(a, b *harness.Manifest) {
	if a == nil || b == nil {
		return
	}
	was, is := factsOf(a), factsOf(b)
	old := map[string]string{}
	for _, f := range was {
		old[f.Name] = f.Value
	}
	seen := map[string]bool{}
	for _, f := range is {
		seen[f.Name] = true
		if !varying(f.Name) && old[f.Name] != f.Value {
			d.Facts = append(d.Facts, FactChange{f.Name, old[f.Name], f.Value})
		}
	}
	for _, f := range was {
		if !seen[f.Name] && !varying(f.Name) {
			d.Facts = append(d.Facts, FactChange{f.Name, f.Value, ""})
		}
	}
	if a.Text != b.Text {
		d.TextDiff = string(diff.Diff(d.Old, []byte(a.Text), d.New, []byte(b.Text)))
	}
}

// namedCell is a cell that can be found on the other side.
type namedCell struct {
	name   string
	metric metric.Metric
	values []float64
	format format
}

func (b *maker) cells() []namedCell {
	var out []namedCell
	for i := range b.tables {
		t := &b.tables[i]
		f := formatOf(&t.Table)
		f.named = true
		for row := range t.Rows {
			out = append(out, namedCell{t.Name() + ": " + t.Metric.Name + "/" + t.Rows[row].Label(), t.Metric, t.cell(row).values, f})
		}
	}
	return out
}

func (d *Difference) cells(was, is []namedCell) error {
	index := map[string]*namedCell{}
	for i := range is {
		index[is[i].name] = &is[i]
	}
	for i := range was {
		old := &was[i]
		now := index[old.name]
		if now == nil {
			d.OnlyOld = append(d.OnlyOld, old.name)
			continue
		}
		delete(index, old.name)
		if old.metric.Unit != now.metric.Unit {
			return fmt.Errorf("cannot compare %s: its unit is %q on one side and %q on the other", old.name, old.metric.Unit, now.metric.Unit)
		}
		c, err := stats.Compare(now.values, old.values, stats.Options{Unblocked: true, Write: old.format.difference})
		if err != nil {
			return err
		}
		d.Cells = append(d.Cells, CellChange{old.name, old.metric, c, old.format})
	}
	for i := range is {
		if index[is[i].name] != nil {
			d.OnlyNew = append(d.OnlyNew, is[i].name)
		}
	}
	families := map[string][]*stats.Comparison{}
	for i := range d.Cells {
		c := &d.Cells[i]
		families[c.Metric.Name] = append(families[c.Metric.Name], &c.Comparison)
	}
	for _, f := range families {
		stats.Adjust(f)
	}
	return nil
}

// CompareText writes a difference for a terminal.
func CompareText(w io.Writer, d *Difference, opts TextOptions) error {
	p := newTextInk(w, opts)
	p.wrapped("", "  ", fmt.Sprintf("%s against %s", d.New, d.Old), bold)
	p.factChanges(d)
	p.cellChanges(d)
	for i := range d.Cells {
		c := &d.Cells[i]
		p.cellVerdict(c, "median", c.Location.Verdict)
		p.cellVerdict(c, "spread", c.Spread.Verdict)
	}
	for _, only := range []struct {
		side  string
		cells []string
	}{{d.Old, d.OnlyOld}, {d.New, d.OnlyNew}} {
		if len(only.cells) > 0 {
			p.wrapped("", "  ", "only in "+only.side+": "+enumerate(only.cells), yellow)
		}
	}
	p.line("")
	p.wrapped("", "", "median change: two-sample Hodges–Lehmann with its interval, p by Mann–Whitney; sd ratio with Bonett's interval, p by permutation Brown–Forsythe; p_adj after Holm over all cells of one metric.", dim)
	p.wrapped("", "", d.Scope, dim)
	return p.w.Flush()
}

func (p *textInk) factChanges(d *Difference) {
	if len(d.Facts) == 0 && d.TextDiff == "" {
		p.line("nothing differs in what the manifests record of experiment, tool and machine")
	}
	for _, f := range d.Facts {
		p.wrapped("  ", "    ", fmt.Sprintf("%s: %s → %s", f.Name, cmp.Or(f.Old, "absent"), cmp.Or(f.New, "absent")), "")
	}
	if d.TextDiff != "" {
		p.line("the experiments differ:")
		for l := range strings.Lines(d.TextDiff) {
			p.line("  " + strings.TrimRight(l, "\n"))
		}
	}
	p.line("")
}

// cellChanges writes a line per cell.
func (p *textInk) cellChanges(d *Difference) {
	if len(d.Cells) == 0 {
		p.line("no cell is in both")
		return
	}
	cols := contrastColumns(false)
	g := grid{Columns: append([]gridColumn{{Head: "n\nold, new"}}, gridColumns(cols, nil, format{})...)}
	for i := range d.Cells {
		c := &d.Cells[i]
		g.Labels = append(g.Labels, c.Name)
		g.Columns[0].Cells = append(g.Columns[0].Cells, fmt.Sprintf("%d, %d", c.M, c.N))
		for k := range cols { // each in the unit of its own metric
			g.Columns[k+1].Cells = append(g.Columns[k+1].Cells, cols[k].cell(&Contrast{Comparison: c.Comparison}, c.format))
		}
	}
	p.grid(&g)
}

// cellVerdict says what was found; that nothing was is in the table.
func (p *textInk) cellVerdict(c *CellChange, about string, v stats.Verdict) {
	if v.Claims() {
		p.wrapped("", "  ", fmt.Sprintf("%s, %s: %s", c.Name, about, v.Text), bold)
	}
}

// ParseLimits reads "median>3%,sd>20%": bounds of what a difference may be, each
// a share of the old median or sd.
func ParseLimits(text string) ([]Bound, error) {
	var out []Bound
	for _, part := range strings.Split(text, ",") {
		b, err := ParseBound(part)
		if err != nil || !b.Relative || b.Metric != "median" && b.Metric != "sd" {
			return nil, fmt.Errorf("cannot use limit %q: want median>3%% or sd>20%%, several with commas", part)
		}
		out = append(out, b)
	}
	return out, nil
}

// Broken lists the cells that are sure to have changed for the worse by more
// than a limit of ParseLimits, in words. Sure means that the verdict after Holm asserts the
// change; the limit is held against the estimate. For a metric without a good
// direction every change is one for the worse.
func (d *Difference) Broken(limits []Bound) []string {
	var out []string
	for i := range d.Cells {
		c := &d.Cells[i]
		for _, l := range limits {
			if by, ok := c.worse(l.Metric); ok && by > l.Value {
				out = append(out, fmt.Sprintf("%s: %s is worse by %.3g%%, more than %.3g%%", c.Name, l.Metric, 100*by, 100*l.Value))
			}
		}
	}
	return out
}

// worse is by what share a cell got worse, where that is sure.
func (c *CellChange) worse(what string) (by float64, ok bool) {
	if what == "sd" {
		r := c.Spread.Ratio
		return r.V - 1, r.OK && c.Spread.Verdict.Kind == stats.HigherVerdict
	}
	ch := c.Location.Change
	if !c.Location.Verdict.Claims() || !ch.OK || c.Location.Difference {
		return 0, false
	}
	switch c.Metric.Better {
	case metric.Lower:
		return ch.V, true
	case metric.Higher:
		return -ch.V, true
	}
	return math.Abs(ch.V), true
}
