package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"goset/stats"
)

// Effect is a main effect or an interaction of the flags of a mode, where all
// their combinations were run.
type Effect struct {
	Mode string
	// On says which level counts as on: "cgroup=true" or "cgroup=true:steer=true".
	On string
	stats.FactorialEffect
	Median, Spread           string // the findings in words
	MedianClaim, SpreadClaim bool
}

// SweepTrend is the trend of a mode over the levels of a factor of numbers.
type SweepTrend struct {
	Mode, Factor             string
	Levels                   []float64 // ascending
	Location, Dispersion     stats.PageTrend
	Slope                    stats.SweepSlope
	Median, Spread           string
	MedianClaim, SpreadClaim bool
}

// maxFlags bounds the crossing: beyond it 2^k effects are no table.
const maxFlags = 5

// crossings fills in the effects and trends of the modes that have factors.
func (b *maker) crossings(t *built) error {
	if b.opts.Unblocked {
		return nil
	}
	var modes names
	for i := range t.Rows {
		if !isControl(t.Rows[i].Mode, b.baseline) {
			modes.add(t.Rows[i].Mode)
		}
	}
	for _, m := range modes.list {
		c := newCrossing(&t.Table, m)
		if len(c.factors) == 1 && slices.Contains(b.sides, c.factors[0]) && len(c.levels[c.factors[0]]) == 2 {
			continue // the contrast of the two sides says it
		}
		if err := c.measure(t); err != nil {
			return err
		}
	}
	return nil
}

// crossing is the rows of one mode by the levels of its factors.
type crossing struct {
	mode    string
	rows    []int
	factors []string
	levels  map[string][]string
}

func newCrossing(t *Table, mode string) crossing {
	c := crossing{mode: mode, levels: map[string][]string{}}
	for i := range t.Rows {
		if t.Rows[i].Mode != mode {
			continue
		}
		c.rows = append(c.rows, i)
		for _, l := range t.Rows[i].Levels {
			if !slices.Contains(c.levels[l.Factor], l.Value) {
				c.levels[l.Factor] = append(c.levels[l.Factor], l.Value)
			}
		}
	}
	for _, l := range t.Rows[c.rows[0]].Levels {
		if len(c.levels[l.Factor]) > 1 {
			c.factors = append(c.factors, l.Factor)
		}
	}
	return c
}

// measure takes the crossing for what it is: all combinations of flags, or a
// sweep of one number. Other designs have their contrasts and no more.
func (c *crossing) measure(t *built) error {
	switch k := len(c.factors); {
	case k == 0:
		return nil
	case k == 1 && len(c.levels[c.factors[0]]) > 2:
		return c.sweep(t)
	case k <= maxFlags && len(c.rows) == 1<<k:
		return c.flags(t)
	}
	return nil
}

// positiveCells gives, for each block that has all of them, the values of rows
// in their order; nil where a value is not positive.
func positiveCells(t *built, rows []int) [][]float64 {
	for _, row := range rows {
		if slices.ContainsFunc(t.cell(row).values, func(v float64) bool { return v <= 0 }) {
			return nil
		}
	}
	return t.common(rows)
}

// common gives, for each block that all of the rows have, their values in the
// order of rows; the blocks are in time order.
func (t *built) common(rows []int) [][]float64 {
	count := map[int]int{}
	samples := make([]sample, len(rows))
	for i, row := range rows {
		samples[i] = t.sample(row)
		for _, block := range samples[i].blocks {
			count[block]++
		}
	}
	var blocks []int
	for _, block := range samples[0].blocks {
		if count[block] == len(rows) {
			blocks = append(blocks, block)
		}
	}
	out := make([][]float64, len(blocks))
	for _, s := range samples {
		for j, v := range s.in(blocks) {
			out[j] = append(out[j], v)
		}
	}
	return out
}

// flags analyses 2^k combinations; bit i of a cell's number is factor i at its
// second level.
func (c *crossing) flags(t *built) error {
	order := make([]int, 1<<len(c.factors))
	for _, row := range c.rows {
		cell := 0
		for i, f := range c.factors {
			for _, l := range t.Rows[row].Levels {
				if l.Factor == f && l.Value == c.levels[f][1] {
					cell |= 1 << i
				}
			}
		}
		order[cell] = row
	}
	cells := positiveCells(t, order)
	if cells == nil {
		return nil
	}
	effects, err := stats.Factorial(c.factors, cells, stats.Level, drawsFor(len(cells)))
	if err != nil {
		return fmt.Errorf("cannot analyse the flags of mode %q: %v", c.mode, err)
	}
	for i := range effects {
		e := Effect{Mode: c.mode, FactorialEffect: effects[i]}
		for k, f := range c.factors {
			if (i+1)>>k&1 == 1 {
				if e.On != "" {
					e.On += ":"
				}
				e.On += f + "=" + c.levels[f][1]
			}
		}
		e.words(len(cells))
		t.Effects = append(t.Effects, e)
	}
	return nil
}

func (e *Effect) words(n int) {
	if n < 6 {
		e.Median = fmt.Sprintf("no claim: n = %d, 6 rounds or more needed", n)
		e.Spread = e.Median
		return
	}
	change := "no effect: " + e.Change.Why
	if e.Change.OK && e.CI.OK {
		change = fmt.Sprintf("%s, 95%% %s, p_adj %s", stats.FormatChange(e.Change.V, e.CI), stats.FormatChanges(e.CI), adjusted(e.PAdj))
	}
	e.Median, e.MedianClaim = claim(e.PAdj, e.Change.V, 0, "median", change)
	ratio := "no ratio: " + e.SpreadRatio.Why
	if e.SpreadRatio.OK {
		ratio = ratioOf(e.SpreadRatio) + "×, p_adj " + adjusted(e.SpreadPAdj)
	}
	e.Spread, e.SpreadClaim = claim(e.SpreadPAdj, e.SpreadRatio.V, 1, "spread", ratio)
}

// claim words a finding: "lower median (…)" or "not resolved (…)".
func claim(p stats.Value, v, none float64, what, numbers string) (string, bool) {
	if !p.OK || p.V >= 1-stats.Level || v == none {
		return "not resolved (" + numbers + ")", false
	}
	word := "higher"
	if v < none {
		word = "lower"
	}
	return word + " " + what + " (" + numbers + ")", true
}

// sweep tests a trend over the levels of one factor of numbers.
func (c *crossing) sweep(t *built) error {
	factor := c.factors[0]
	type level struct {
		value float64
		row   int
	}
	var levels []level
	for _, row := range c.rows {
		for _, l := range t.Rows[row].Levels {
			if l.Factor != factor {
				continue
			}
			v, err := strconv.ParseFloat(l.Value, 64)
			if err != nil || !(v > 0) || math.IsInf(v, 0) {
				return nil // names have no order
			}
			levels = append(levels, level{v, row})
		}
	}
	if len(levels) != len(c.rows) {
		return nil
	}
	slices.SortFunc(levels, func(a, b level) int {
		if a.value < b.value {
			return -1
		}
		return 1
	})
	s := SweepTrend{Mode: c.mode, Factor: factor}
	var rows []int
	for _, l := range levels {
		s.Levels, rows = append(s.Levels, l.value), append(rows, l.row)
	}
	cells := positiveCells(t, rows)
	if cells == nil {
		return nil
	}
	if err := s.test(cells); err != nil {
		return fmt.Errorf("cannot test the sweep of %s in mode %q: %v", factor, c.mode, err)
	}
	t.Trends = append(t.Trends, s)
	return nil
}

func (s *SweepTrend) test(cells [][]float64) error {
	var err error
	if s.Location, err = stats.Page(cells); err != nil {
		return err
	}
	if s.Dispersion, err = stats.PageSpread(cells); err != nil {
		return err
	}
	if s.Slope, err = stats.SlopeOfSweep(s.Levels, cells, stats.Level, drawsFor(len(cells))); err != nil {
		return err
	}
	if len(cells) < 6 {
		s.Median = fmt.Sprintf("no claim: n = %d, 6 rounds or more needed", len(cells))
		s.Spread = s.Median
		return nil
	}
	slope := "no slope: " + s.Slope.Slope.Why
	if s.Slope.Slope.OK {
		slope = fmt.Sprintf("slope of the logarithms %.3f", s.Slope.Slope.V)
		if s.Slope.CI.OK {
			slope += fmt.Sprintf(", 95%% %.3f to %.3f", s.Slope.CI.Lo, s.Slope.CI.Hi)
		}
	}
	s.Median, s.MedianClaim = trendWords(&s.Location, "median", slope)
	s.Spread, s.SpreadClaim = trendWords(&s.Dispersion, "spread", "")
	return nil
}

func trendWords(p *stats.PageTrend, what, more string) (string, bool) {
	numbers := "Page's p " + adjusted(p.P)
	if more != "" {
		numbers = more + ", " + numbers
	}
	if !p.P.OK || p.P.V >= 1-stats.Level || !p.Greater.OK {
		return "no trend of the " + what + " resolved (" + numbers + ")", false
	}
	word := "falls"
	if p.L > p.Mean {
		word = "rises"
	}
	return what + " " + word + " (" + numbers + ")", true
}

// Lines are the findings for a person, the median before the spread.
func (e *Effect) Lines() (median, spread string) {
	head := e.Mode + ", " + e.On + ", "
	return head + changeName(true) + ": " + e.Median, head + "spread: " + e.Spread
}

// Lines are the findings for a person, the median before the spread.
func (s *SweepTrend) Lines() (median, spread string) {
	head := fmt.Sprintf("%s over %s = %s…%s: ", s.Mode, s.Factor, shortNumber(s.Levels[0]), shortNumber(s.Levels[len(s.Levels)-1]))
	return head + s.Median, head + s.Spread
}

// maxFlips bounds the work of one Monte Carlo test: draws × runs.
const maxFlips = 50_000_000

// drawsFor gives a test of n runs its draws: the default where that is
// affordable, and never fewer than 999.
func drawsFor(n int) stats.Resampling {
	const usual = 99_999
	if n*usual <= maxFlips {
		return stats.Resampling{}
	}
	return stats.Resampling{Draws: max(999, maxFlips/n)}
}
