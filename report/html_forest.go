package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"goset/metric"
	"goset/stats"
)

// forest is the first picture: every comparison as a point with its interval,
// spread and median side by side.
type forest struct {
	Shown, Folded     []forestGroup
	SDTicks, MedTicks []forestTick
	Count, FoldedRows int    // rows in all, and folded
	Against           string // "against unpinned, 8 rounds"
	Change            string // "median change within rounds"
}

// forestGroup is the comparisons of one table.
type forestGroup struct {
	ID, Name string
	Rows     []forestRow
	claims   int
}

type forestRow struct {
	Mode, Base string
	Control    bool
	Spread     forestCell
	Median     forestCell
	Colour     int
	claim      int
}

// forestCell is one comparison of one question. Left, Width and Point are
// percent of the track.
type forestCell struct {
	Class, Word, Value, Interval, Text string
	Doubts                             []string
	Question                           string
	HasBar, HasPoint                   bool
	Left, Width, Point                 float64
	Colour                             int  // of the mode
	OverLeft, OverRight                bool // the interval goes on beyond the track
}

type forestTick struct {
	At   float64
	Text string
}

// maxForest is how many rows the first picture has before it folds.
const maxForest = 18

// newForest lays out the comparisons of the tables that headlines are about.
func (p *Page) newForest() forest {
	var f forest
	var at []int
	for _, i := range p.headlined() {
		if len(p.Figures[i].Table.Contrasts) > 0 {
			at = append(at, i)
		}
	}
	sd, med := p.forestScales(at)
	colours := p.colours()
	var groups []forestGroup
	for _, i := range at {
		fig := &p.Figures[i]
		g := forestGroup{ID: sectionID(i), Name: fig.short()}
		for j := range fig.Table.Contrasts {
			row := fig.forestRow(j, sd, med)
			row.paint(colours[row.Mode] % palette)
			g.claims += row.claim
			g.Rows = append(g.Rows, row)
		}
		groups = append(groups, g)
	}
	slices.SortStableFunc(groups, func(a, b forestGroup) int { return cmp.Compare(b.claims, a.claims) })
	for _, g := range groups {
		if f.Count == 0 || f.Count+len(g.Rows) <= maxForest {
			f.Shown = append(f.Shown, g)
		} else {
			f.Folded, f.FoldedRows = append(f.Folded, g), f.FoldedRows+len(g.Rows)
		}
		f.Count += len(g.Rows)
	}
	f.SDTicks, f.MedTicks = sd.ratioTicks(), med.changeTicks()
	f.heads(p, at)
	return f
}

// heads say what all rows are against.
func (f *forest) heads(p *Page, at []int) {
	var bases names
	var all []Contrast
	for _, i := range at {
		bases.add(p.Figures[i].Table.base())
		all = append(all, p.Figures[i].Table.Contrasts...)
	}
	if len(all) == 0 {
		return
	}
	base := "the first of each"
	if len(bases.list) == 1 {
		base = bases.list[0]
	}
	f.Against, f.Change = "against "+base+", "+roundsOf(all), all[0].changeName()
}

// paint gives the row and what is drawn of it the colour of its mode.
func (r *forestRow) paint(colour int) {
	r.Colour, r.Spread.Colour, r.Median.Colour = colour, colour, colour
}

// headlined are the figures of the tables that headlines are about.
func (p *Page) headlined() []int {
	return headlined(p.Document.Tables[:min(len(p.Document.Tables), len(p.Figures))])
}

// forestScale maps logarithms of ratios onto a track, symmetric about 0.
type forestScale struct{ bound float64 }

// at is a place in percent, and whether it lies beyond the track.
func (s forestScale) at(v float64) (percent float64, beyond bool) {
	x := 50 + 50*v/s.bound
	return max(0, min(100, x)), x < 0 || x > 100
}

// forestScales are the two scales that all rows share: wide enough for the
// points, and for the intervals as far as they do not dwarf all others.
func (p *Page) forestScales(at []int) (sd, med forestScale) {
	var sdPoints, sdEnds, medPoints, medEnds []float64
	for _, i := range at {
		f := &p.Figures[i]
		for j := range f.Ratios {
			r := &f.Ratios[j]
			sdPoints, sdEnds = r.SD.logs(sdPoints, sdEnds)
			medPoints, medEnds = r.Median.logs(medPoints, medEnds)
		}
	}
	return scaleOver(sdPoints, sdEnds, math.Log(2), math.Log(12)), scaleOver(medPoints, medEnds, 0.001, math.Log(12))
}

func (e *Estimate) logs(points, ends []float64) (p, q []float64) {
	add := func(to []float64, v float64) []float64 {
		if l := math.Abs(math.Log(v)); v > 0 && !math.IsInf(l, 0) && !math.IsNaN(l) {
			to = append(to, l)
		}
		return to
	}
	if e.Value.OK {
		points = add(points, e.Value.V)
	}
	if e.Interval.OK {
		ends = add(add(ends, e.Interval.Lo), e.Interval.Hi)
	}
	return points, ends
}

func scaleOver(points, ends []float64, least, most float64) forestScale {
	bound := least
	for _, v := range points {
		bound = max(bound, 1.15*v)
	}
	reach := least
	for _, v := range ends {
		reach = max(reach, 1.05*v)
	}
	return forestScale{min(max(bound, reach), max(most, 0))}
}

// ratioTicks are ticks of a scale of ratios.
func (s forestScale) ratioTicks() []forestTick {
	const apart = 18 // percent of the track that a text needs
	out := []forestTick{{50, "1×"}}
	for _, ratios := range [][]float64{{0.5, 1, 2}, {0.2, 1, 5}, {0.1, 1, 10}, {0.2, 0.5, 1, 2, 5}} {
		var ticks []forestTick
		closest := 100.0
		for _, r := range ratios {
			x, beyond := s.at(math.Log(r))
			if beyond || x < 3 || x > 97 {
				continue
			}
			if n := len(ticks); n > 0 {
				closest = min(closest, x-ticks[n-1].At)
			}
			ticks = append(ticks, forestTick{x, fmt.Sprintf("%g×", r)})
		}
		if closest >= apart && len(ticks) > len(out) {
			out = ticks
		}
	}
	return out
}

// changeTicks are those of a scale of changes: none, and the same to either
// side.
func (s forestScale) changeTicks() []forestTick {
	limit := 100 * math.Expm1(s.bound*0.85)
	step := math.Pow10(int(math.Floor(math.Log10(limit))))
	for _, k := range []float64{5, 2} {
		if k*step <= limit {
			step *= k
			break
		}
	}
	l, _ := s.at(-math.Log1p(step / 100))
	r, _ := s.at(math.Log1p(step / 100))
	text := fmt.Sprintf("%g%%", step)
	return []forestTick{{l, text}, {50, "0"}, {r, text}}
}

func (f *Figure) forestRow(j int, sd, med forestScale) forestRow {
	c, r := &f.Table.Contrasts[j], &f.Ratios[j]
	row := forestRow{Mode: c.X, Base: c.Y, Control: c.Control}
	row.Spread = newForestCell(&c.SpreadGrade, &c.Spread.Verdict, gain(c.Spread.Verdict.Kind, metric.Lower), "steadier", "less steady")
	row.Spread.Question = "sd"
	row.Spread.draw(&r.SD, sd, false)
	row.Spread.Value, row.Spread.Interval = ratioText(&r.SD)
	row.Spread.settle(c, c.Spread.Needs, c.Spread.CI.OK && !c.Spread.CI.Excludes(1), cameNear(c.Spread.P, c.Sensitivity.SpreadChanges))
	row.Median = newForestCell(&c.MedianGrade, &c.Location.Verdict, gain(c.Location.Verdict.Kind, f.Table.Metric.Better), "better", "worse")
	row.Median.Question = "median"
	// Better is to the left, as steadier is.
	if f.Table.Metric.Better != metric.Unknown { // else neither side is the better one
		row.Median.draw(&r.Median, med, f.Table.Metric.Better == metric.Higher)
	}
	row.Median.Value = changeOf(c, f.format, c.Location.Change)
	if c.Location.CI.OK {
		row.Median.Interval = strings.ReplaceAll(changeInterval(c, f.format), "%", "")
	}
	row.Median.settle(c, c.Location.Needs, c.Location.CI.OK && !c.Location.CI.Excludes(0), cameNear(c.Location.P, c.Sensitivity.LocationChanges))
	if !c.Control {
		for _, cell := range []*forestCell{&row.Spread, &row.Median} {
			if cell.Class != "open" {
				row.claim++
			}
		}
	}
	return row
}

func ratioText(e *Estimate) (value, interval string) {
	value = undefined
	if e.Value.OK {
		value = ratioOf(e.Value) + "×"
	}
	if e.Interval.OK {
		interval = ratiosOf(e.Interval)
	}
	return value, interval
}

// newForestCell gives a verdict its word and colour: green and red for what is
// clear, amber for a hint.
func newForestCell(a *Appraisal, v *stats.Verdict, better int, gain, loss string) forestCell {
	c := forestCell{Class: "open", Word: string(v.Kind), Text: v.Text, Doubts: a.Doubts}
	if v.Claims() {
		c.Class = "claim"
		switch {
		case better > 0:
			c.Class, c.Word = "gain", gain
		case better < 0:
			c.Class, c.Word = "loss", loss
		}
	}
	if a.Grade == Hint {
		c.Class, c.Word = "hint", "hint: "+c.Word
	}
	return c
}

// settle words what is not resolved: that it could be either way, where the
// interval says so, and after how many rounds one might know.
func (c *forestCell) settle(k *Contrast, needs stats.Value, either, near bool) {
	if k.Control {
		switch {
		case c.Class != "open": // a failed self-check
			c.Class, c.Word = "loss", "differs from itself"
		case c.Word == string(stats.NoClaim):
		case near:
			c.Class, c.Word = "hint", "came near"
		default:
			c.Word = "no difference, as due"
		}
		return
	}
	if c.Word != string(stats.NotResolved) {
		return
	}
	if either {
		c.Word = "either way"
	}
	if !needs.OK || needs.V <= float64(min(k.N, k.M)) {
		return
	}
	unit := "rounds"
	if !k.Blocked {
		unit = "runs"
	}
	if needs.V > 1000 {
		c.Word += "; > 1000 " + unit
	} else {
		c.Word += fmt.Sprintf("; ~%.0f %s", needs.V, unit)
	}
}

// draw places point and interval. Where mirror is set, more is to the left.
func (c *forestCell) draw(e *Estimate, s forestScale, mirror bool) {
	sign := 1.0
	if mirror {
		sign = -1
	}
	if e.Value.OK && e.Value.V > 0 {
		c.HasPoint = true
		c.Point, _ = s.at(sign * math.Log(e.Value.V))
	}
	if !e.Interval.OK || e.Interval.Hi <= 0 {
		return
	}
	lo, hi := sign*math.Log(max(e.Interval.Lo, 1e-300)), sign*math.Log(e.Interval.Hi)
	if mirror {
		lo, hi = hi, lo
	}
	left, right := 0.0, 0.0
	left, c.OverLeft = s.at(lo)
	right, c.OverRight = s.at(hi)
	c.HasBar, c.Left, c.Width = true, left, max(0.6, right-left)
}
