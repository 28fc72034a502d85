package report

import (
	"fmt"
	"math"
	"slices"

	"goset/harness"
	"goset/stats"
)

// Stopper decides whether the intervals of a running experiment are as narrow
// as its plan asks, over every cell of the metrics that its tables show. It is
// a [harness.Stopper]. It never looks at a p-value: a plan that stops when
// something is significant makes significance out of chance.
type Stopper struct {
	until    harness.Until
	baseline string
	pairs    []harness.ModePair
	factors  []string // of modes
	sides    []string // see Options.Sides
	data     *Data
	err      error // a record that cannot be used: then nothing is enough
}

// NewStopper returns the stopper of an experiment; nil where its plan has no
// until.
func NewStopper(e *harness.Experiment) *Stopper {
	if e.Plan.Until == nil {
		return nil
	}
	return &Stopper{until: *e.Plan.Until, baseline: e.Plan.Baseline, pairs: e.Plan.Compare,
		factors: ModeFactors(e.Modes), sides: SidesOf(e.Workloads), data: newData(MaxIterations)}
}

// Observe takes in a record.
func (s *Stopper) Observe(r *harness.Record) {
	if s.err == nil {
		c := *r
		c.Iterations, c.Counters = nil, nil // only per-run values count
		c.Levels = slices.Clone(r.Levels)
		s.err = s.data.add(&c)
	}
}

// Enough says whether every interval is narrow enough.
func (s *Stopper) Enough(int) (reason string, ok bool) {
	if s.err != nil {
		return "", false
	}
	b, err := s.data.build(Options{Baseline: s.baseline, Compare: s.pairs, ModeFactors: s.factors, Sides: s.sides})
	if err != nil {
		return "", false
	}
	widest := reached{}
	for i := range b.tables {
		if !s.table(b, &b.tables[i], &widest) {
			return "", false
		}
	}
	return widest.words(&s.until), len(b.tables) > 0
}

// reached is the widest intervals of all cells.
type reached struct{ median, ratio float64 }

func (r *reached) words(u *harness.Until) string {
	s := u.Words() + " (widest:"
	sep := " "
	if u.Median > 0 {
		s += fmt.Sprintf("%smedian ±%.3g%%", sep, 100*r.median)
		sep = ", "
	}
	if u.SDRatio > 0 {
		s += fmt.Sprintf("%ssd ratio ±%.3g%%", sep, 100*r.ratio)
	}
	return s + ")"
}

// table looks at the cells of one table.
func (s *Stopper) table(b *maker, t *built, widest *reached) bool {
	if s.until.Median > 0 {
		for i := range t.Rows {
			sum := &t.Rows[i].Summary
			if sum.Deterministic {
				continue
			}
			half, ok := halfWidth(sum.MedianCI, sum.Median)
			if !ok || half > s.until.Median {
				return false
			}
			widest.median = max(widest.median, half)
		}
	}
	if s.until.SDRatio > 0 {
		for _, p := range b.pairs(t) {
			half, ok := b.ratioWidth(t, p)
			if !ok || half > s.until.SDRatio {
				return false
			}
			widest.ratio = max(widest.ratio, half)
		}
	}
	return true
}

// ratioWidth is half the width of the interval of an sd ratio, as a share of
// the ratio. Where a side does not vary there is no interval to wait for.
func (b *maker) ratioWidth(t *built, p rowPair) (float64, bool) {
	if t.Rows[p.row].Summary.Deterministic || t.Rows[p.base].Summary.Deterministic {
		return 0, true
	}
	x, y := t.sample(p.row), t.sample(p.base)
	px, py, _, err := stats.PairBlocks(x.blocks, x.values, y.blocks, y.values)
	if err != nil {
		return 0, false
	}
	e, err := stats.SDRatio(px, py, stats.Level)
	if err != nil {
		return 0, false
	}
	return halfWidth(e.CI, e.Ratio)
}

// halfWidth is how far an interval reaches to each side, as a share of the
// estimate.
func halfWidth(ci stats.Interval, estimate stats.Value) (float64, bool) {
	if !ci.OK || !estimate.OK || estimate.V == 0 {
		return 0, false
	}
	return (ci.Hi - ci.Lo) / 2 / math.Abs(estimate.V), true
}
