package report

import (
	"fmt"
	"io"
	"strings"

	"goset/stats"
)

// NoiseFloor is what a mode that was run twice inside the same blocks says of
// the machine: how much its runs scatter, how often the tests find something
// where nothing is, and the smallest effect that so many blocks can show.
type NoiseFloor struct {
	Table Table
	X, Y  string // the repetition and the mode
	// Both is the summary of the runs of both.
	Both stats.Summary
	stats.SelfCheck
}

// NoiseFloors evaluates every control of the tables that opts select. The
// verdicts between mode and repetition are adjusted over all tables, as in
// Document; the splits are not, since their rate is that of one comparison.
// splits 0 is the default of stats.CheckSelf.
func (d *Data) NoiseFloors(opts Options, splits int) ([]NoiseFloor, error) {
	b, err := d.build(opts)
	if err != nil {
		return nil, err
	}
	var out []NoiseFloor
	for i := range b.tables {
		t := &b.tables[i]
		for _, p := range b.pairs(t) {
			if !p.control {
				continue
			}
			n, err := b.noise(t, p, splits)
			if err != nil {
				return nil, err
			}
			out = append(out, n)
		}
	}
	var family []*stats.Comparison
	for i := range out {
		family = append(family, &out[i].Comparison)
	}
	stats.Adjust(family)
	for i := range out {
		c := &out[i].Comparison
		out[i].Failed = c.Location.Verdict.Claims() || c.Spread.Verdict.Claims()
	}
	return out, nil
}

func (b *maker) noise(t *built, p rowPair, splits int) (NoiseFloor, error) {
	x, y := t.sample(p.row), t.sample(p.base)
	px, py, dropped, err := stats.PairBlocks(x.blocks, x.values, y.blocks, y.values)
	if err != nil {
		return NoiseFloor{}, err
	}
	n := NoiseFloor{Table: t.Table, X: t.Rows[p.row].Label(), Y: t.Rows[p.base].Label()}
	if n.Both, err = stats.Summarize(append(append([]float64{}, px...), py...)); err != nil {
		return NoiseFloor{}, err
	}
	n.SelfCheck, err = stats.CheckSelf(px, py, splits, stats.Options{Dropped: dropped, Write: formatOf(&t.Table).difference})
	return n, err
}

// NoiseText writes noise floors for a terminal.
func NoiseText(w io.Writer, floors []NoiseFloor, opts TextOptions) error {
	p := newTextInk(w, opts)
	for i := range floors {
		if i > 0 {
			p.line("")
		}
		p.noise(&floors[i])
	}
	return p.w.Flush()
}

func (p *textInk) noise(n *NoiseFloor) {
	t := &n.Table
	f := formatOf(t)
	c := &n.Comparison
	p.wrapped("", "  ", t.heading(), bold)
	p.wrapped("  ", "    ", fmt.Sprintf("%d rounds of %s against itself", c.N, n.Y), dim)
	p.wrapped("  ", "    ", fmt.Sprintf("noise floor: CV %s, sd %s %s, median %s (95%% %s)",
		percent(n.Both.CV), f.deviation(n.Both.SD), f.unit, f.quantity(n.Both.Median), f.interval(n.Both.MedianCI)), "")
	style := ""
	if n.Failed {
		style = bold + red
	}
	p.wrapped("  ", "    ", changeName(c.Blocked)+": "+c.Location.Verdict.Text, style)
	p.wrapped("  ", "    ", "spread: "+c.Spread.Verdict.Text, style)
	p.wrapped("  ", "    ", n.rates(), "")
	p.wrapped("  ", "    ", n.smallest(f), "")
}

// rates says how often relabelled runs seem to differ.
func (n *NoiseFloor) rates() string {
	if n.Splits == 0 || stats.CannotResolve(n.Comparison.N, 1, n.Comparison.Blocked) != "" {
		return "false positives: too few rounds for any claim"
	}
	rate := func(k int) string { return fmt.Sprintf("%d (%.1f%%)", k, 100*float64(k)/float64(n.Splits)) }
	return fmt.Sprintf("false positives in %d random splits: median %s, spread %s; 5%% are expected", n.Splits, rate(n.LocationClaims), rate(n.SpreadClaims))
}

// smallest says what so many rounds can show.
func (n *NoiseFloor) smallest(f format) string {
	l := &n.Comparison.Location
	change := "no " + changeName(n.Comparison.Blocked) + ": " + n.Change.Why
	if n.Change.OK {
		change = "a " + changeName(n.Comparison.Blocked) + " of ±" + strings.TrimPrefix(f.change(l.Difference, n.Change.V, l.CI), "+")
	}
	ratio := "no sd ratio: " + n.Ratio.Why
	if n.Ratio.OK && n.Ratio.V > 0 {
		ratio = fmt.Sprintf("an sd ratio ≤ %s or ≥ %s", stats.FormatRatio(n.Ratio.V), stats.FormatRatio(1/n.Ratio.V))
	}
	return fmt.Sprintf("smallest effects seen 4 times out of 5: %s, %s", change, ratio)
}
