package report

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/internal/lazy"
	"goset/metric"
	"goset/stats"
)

// Bound is a condition under which a comparison fails, as "ns/op>3%" or
// "allocs/op>0": a metric, and by how much it may be worse. Of a metric without
// a good direction every change is one for the worse.
type Bound struct {
	Text     string
	Metric   string // a unit as printed, a metric's name, or "median" for every metric
	Value    float64
	Relative bool   // Value is a share of the baseline
	Unit     string // of Value when it is not; "": the metric's own
}

var boundText = lazy.Regexp(`^\s*(.*?\S)\s*>\s*(\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*(%|[^\s%\d]\S*)?\s*$`)

// ParseBound reads a bound.
func ParseBound(text string) (Bound, error) {
	m := boundText().FindStringSubmatch(text)
	if m == nil {
		return Bound{}, fmt.Errorf("cannot read bound %q: want a metric, >, and by how much it may be worse, as \"ns/op>3%%\" or \"allocs/op>0\"", text)
	}
	v, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return Bound{}, fmt.Errorf("cannot read bound %q: %q is out of range", text, m[2])
	}
	b := Bound{Text: text, Metric: m[1], Value: v, Relative: m[3] == "%"}
	if b.Relative {
		b.Value /= 100
	} else {
		b.Unit = m[3]
	}
	return b, nil
}

// ParseBounds reads one bound, or several with commas between, as
// "ns/op>3%,allocs/op>0". A metric's own name may hold a comma.
func ParseBounds(text string) ([]Bound, error) {
	var out []Bound
	for part := range strings.SplitSeq(text, ",") {
		b, err := ParseBound(part)
		if err != nil {
			b, err = ParseBound(text)
			return []Bound{b}, err
		}
		out = append(out, b)
	}
	return out, nil
}

// GateStatus is what came of a bound.
type GateStatus string

// The statuses of a gate.
const (
	GatePassed     GateStatus = "passed"     // the interval lies within the bound
	GateFailed     GateStatus = "failed"     // the interval lies beyond the bound
	GateUnresolved GateStatus = "unresolved" // the interval holds the bound, or there is none
)

// Gate is one comparison judged by one bound.
type Gate struct {
	Bound  Bound
	Metric string
	X, Y   string // the rows
	// Blocked says that the change is within rounds.
	Blocked bool
	Status  GateStatus
	Change  stats.Value    // x against y
	CI      stats.Interval // 95%
	// Difference is set where Change and CI are in the metric's unit and not
	// shares of y.
	Difference bool
	Text       string // the whole in one line
}

// gates judges every comparison of the tables by the bounds that are about
// it. A bound that is about none is a fault: it would pass for ever.
func (b *maker) gates(doc *Document) {
	var faults []error
	same := 0
	chance := 0.0
	for _, bound := range b.opts.FailOn {
		used := false
		for i := range b.tables {
			t := &b.tables[i]
			if !bound.about(&t.Metric) {
				continue
			}
			for j := range t.Contrasts {
				c := &t.Contrasts[j]
				if c.Control {
					continue
				}
				used = true
				if c.Same {
					same++
					continue
				}
				g, err := b.gate(t, c, bound)
				if err != nil {
					faults = append(faults, err)
					break
				}
				if g.CI.OK {
					chance += chanceOf(t.Metric.Better)
				}
				doc.Gates = append(doc.Gates, g)
			}
		}
		if !used {
			faults = append(faults, fmt.Errorf("cannot hold anything to bound %q: %w", bound.Text, b.unknown(bound.Metric)))
		}
	}
	if len(b.opts.FailOn) > 0 {
		doc.GateBasis = gateBasis(len(doc.Gates), same, chance)
	}
	doc.GateFault = errors.Join(faults...)
}

// chanceOf is how often the 95% interval of no change lies beyond a bound of 0:
// on the worse side, or on any where none is known to be.
func chanceOf(better metric.Direction) float64 {
	if better == metric.Unknown {
		return 1 - stats.Level
	}
	return (1 - stats.Level) / 2
}

// gateBasis says what the bounds go by, and what is to be expected of so many.
func gateBasis(judged, same int, chance float64) string {
	var s string
	if judged > 0 {
		s = fmt.Sprintf("Bounds go by each interval by itself, 95%%, uncorrected: %d %s judged; where nothing changed, up to %.2g of them fail a bound of 0 by chance, fewer a larger one.", judged, plural(judged, "comparison"), chance)
	}
	if same > 0 {
		s += fmt.Sprintf(" %d of %d compare a binary with itself: not judged.", same, judged+same)
	}
	return strings.TrimSpace(s)
}

// about says whether a bound names a metric.
func (b Bound) about(m *metric.Metric) bool {
	switch {
	case b.Metric == "" || m.Name == "":
		return false
	case b.Metric == "median" || b.Metric == m.Show || b.Metric == m.Unit:
		return true
	}
	return slices.Contains(namesOf(m), b.Metric)
}

func (b *maker) gate(t *built, c *Contrast, bound Bound) (Gate, error) {
	g := Gate{Bound: bound, Metric: t.Metric.Name, X: c.X, Y: c.Y, Blocked: c.Blocked}
	limit := bound.Value
	f := formatOf(&t.Table)
	difference := true
	if bound.Relative {
		g.Change, g.CI, difference = c.Location.Change, c.Location.CI, c.Location.Difference
		if difference && bound.Value != 0 {
			none := "no ratio: a value is not positive (bound the change itself, without %)"
			g.Change, g.CI = stats.Value{Why: none}, stats.Interval{Why: none}
		}
	} else {
		var err error
		if limit, err = bound.base(&t.Metric); err != nil {
			return g, err
		}
		if g.Change, g.CI, err = b.shift(t, c); err != nil {
			return g, err
		}
	}
	g.judge(limit, t.Metric.Better)
	g.Difference = difference
	g.words(f)
	if v := c.Location.Verdict; g.Status == GateFailed && !v.Claims() {
		g.Text += "; the verdict corrected for all comparisons differs: " + v.Text
	}
	return g, nil
}

// base is the bound's value in the base unit of a metric.
func (b Bound) base(m *metric.Metric) (float64, error) {
	unit := b.Unit
	if unit == "" && b.Metric != m.Name {
		if _, base, ok := metric.Convert(1, b.Metric); ok && base == m.Unit {
			unit = b.Metric
		}
	}
	for _, u := range []string{m.Line, m.Show} {
		if unit == "" {
			unit = u
		}
	}
	if unit == "" || unit == m.Unit {
		return b.Value, nil
	}
	v, base, _ := metric.Convert(b.Value, unit)
	if _, per, ok := strings.Cut(m.Unit, "/"); ok && base != m.Unit {
		v, base, _ = metric.Convert(b.Value, unit+"/"+per) // "5ms" of ns/op
	}
	if base != m.Unit {
		return 0, fmt.Errorf("cannot hold metric %q to bound %q: its unit is %q", m.Name, b.Text, m.Unit)
	}
	return v, nil
}

// shift is the change of the centre in the unit of the metric.
func (b *maker) shift(t *built, c *Contrast) (stats.Value, stats.Interval, error) {
	x, y := t.sample(c.Row), t.sample(c.Base)
	if b.opts.Unblocked {
		s, err := stats.HodgesLehmannTwoSample(x.values, y.values, stats.Level)
		return s.Estimate, s.CI, err
	}
	px, py, _, err := stats.PairBlocks(x.blocks, x.values, y.blocks, y.values)
	if err != nil {
		return stats.Value{}, stats.Interval{}, err
	}
	d := make([]float64, len(px))
	for i := range d {
		d[i] = px[i] - py[i]
	}
	s, err := stats.HodgesLehmann(d, stats.Level)
	return s.Estimate, s.CI, err
}

// judge holds the interval to the bound, both turned so that above is worse.
func (g *Gate) judge(limit float64, better metric.Direction) {
	lo, hi := g.CI.Lo, g.CI.Hi
	if better == metric.Higher || better == metric.Unknown && hi < 0 {
		lo, hi = -hi, -lo
	}
	switch {
	case !g.CI.OK:
		g.Status = GateUnresolved
	case lo > limit:
		g.Status = GateFailed
	case hi <= limit && (better != metric.Unknown || -lo <= limit):
		g.Status = GatePassed
	default:
		g.Status = GateUnresolved
	}
}

func (g *Gate) words(f format) {
	what := "not resolved"
	switch g.Status {
	case GatePassed:
		what = "passed"
	case GateFailed:
		what = "FAILED"
	}
	unit := ""
	if g.Difference && f.unit != "" {
		unit = " " + f.unit
	}
	change := "undefined: " + g.Change.Why
	if g.Change.OK {
		change = f.change(g.Difference, g.Change.V, g.CI) + unit
	}
	interval := "no 95% interval: " + g.CI.Why
	if g.CI.OK {
		interval = "95% interval " + f.changes(g.Difference, g.CI) + unit
	}
	g.Text = fmt.Sprintf("%s: %s: %s, %s against %s: %s %s (%s)", g.Bound.Text, what, g.Metric, g.X, g.Y, changeName(g.Blocked), change, interval)
}
