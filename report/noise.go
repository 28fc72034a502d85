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
	Target Target // what needed says the rounds for
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
		if out[i].Target = opts.Target; out[i].Target == (Target{}) {
			out[i].Target = DefaultTarget()
		}
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
	p.wrapped("  ", "    ", n.needed(), "")
}

// rates says how often relabelled runs seem to differ.
func (n *NoiseFloor) rates() string {
	if n.Splits == 0 || stats.CannotResolve(n.Comparison.N, 1, n.Comparison.Blocked) != "" {
		return "false positives: too few rounds for any claim"
	}
	return fmt.Sprintf("false positives in %d random splits: median %s, spread %s; 5%% are expected%s", n.Splits, n.rate(n.LocationClaims), n.rate(n.SpreadClaims), n.excess())
}

// rate writes how often something was claimed, with its interval.
func (n *NoiseFloor) rate(claims int) string {
	s := fmt.Sprintf("%d (%.1f%%", claims, 100*float64(claims)/float64(n.Splits))
	if ci, err := stats.RateInterval(claims, n.Splits, stats.Level); err == nil && ci.OK {
		s += fmt.Sprintf(", 95%% %.1f–%.1f%%", 100*ci.Lo, 100*ci.Hi)
	}
	return s + ")"
}

// splitRounds is from where on one run decides little of the rate over splits.
const splitRounds = 20

// excess says whether the rates are bad. Splits relabel the same runs, so that
// in few rounds the rate is that of these runs and not of the test.
func (n *NoiseFloor) excess() string {
	above := func(claims int) bool {
		ci, err := stats.RateInterval(claims, n.Splits, stats.Level)
		return err == nil && ci.OK && ci.Lo > 1-stats.Level
	}
	var which []string
	if above(n.LocationClaims) {
		which = append(which, "median")
	}
	if above(n.SpreadClaims) {
		which = append(which, "spread")
	}
	switch rounds := n.Comparison.N; {
	case len(which) == 0:
		return ": not more than is due"
	case rounds < splitRounds:
		return fmt.Sprintf(": more than is due for the %s, but %d rounds have only %d splits that differ, and a single run decides many of them; judge by %d rounds or more",
			strings.Join(which, " and "), rounds, 1<<(rounds-1), splitRounds)
	}
	return fmt.Sprintf(": more than is due for the %s: on these runs its test claims too much, and a verdict near the limit needs another session", strings.Join(which, " and "))
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

// needed says how many rounds the effect takes that matters. The rounds are those
// of one comparison: nothing here is a family.
func (n *NoiseFloor) needed() string {
	var parts []string
	add := func(what string, v stats.Value, err error) {
		if err != nil {
			v = stats.Value{Why: err.Error()}
		}
		parts = append(parts, what+": "+roundsText(v, n.Comparison.Blocked))
	}
	one := n.Comparison
	one.Location.Family, one.Spread.Family = 1, 1
	if e := n.Target; e.Median > 0 {
		v, err := one.RoundsForChange(e.Median)
		add(e.medianWords(), v, err)
	}
	if e := n.Target; e.SD > 0 {
		v, err := one.RoundsForRatio(1 + e.SD)
		add(e.sdWords(), v, err)
	}
	return "to be seen 4 times out of 5, if normal: " + strings.Join(parts, "; ")
}
