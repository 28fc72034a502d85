package report

import (
	"fmt"
	"math"
	"slices"

	"goset/metric"
	"goset/stats"
)

// Figure holds what the plots of one table show: the page and the files of
// [Plots] draw the same one. Numbers are in the base unit of the metric.
type Figure struct {
	Table  *Table
	Set    *RunSet
	Metric int // index into Set.Metrics; below 0: no run yielded a value
	Boxes  []Box
	Curves []Curve
	// Iterations is true where the curves are of iterations; else the runs
	// have none and the curves are of the per-run values.
	Iterations bool
	Ratios     []Ratio
	format     format
}

// Box is one row's box plot: quartiles (type 7), whiskers to the last values
// within Tukey's fences of 1.5 interquartile ranges, and the interval of the
// median. OK is false below n = 4, where quartiles would be extremes.
type Box struct {
	Row                       int
	OK                        bool
	Low, Q1, Median, Q3, High float64
	Interval                  stats.Interval
	N                         int
}

// Curve is an empirical distribution: a share P of all N is at or below X.
// Where N is large, the points are thinned in the middle and never in the tails.
type Curve struct {
	Row  int
	N    int
	X, P []float64
}

// Ratio compares a row with its baseline.
type Ratio struct {
	Row, Base  int
	Blocked    bool // compared within blocks
	Median, SD Estimate
}

// Estimate is a ratio with its interval, and both in words as in the tables.
type Estimate struct {
	Value    stats.Value
	Interval stats.Interval
	Words    string
	// Better is +1 for a gain, −1 for a loss, 0 where nothing is claimed.
	Better int
}

// maxCurvePoints bounds all curves of a page together.
const maxCurvePoints = 20_000

// Figures makes the figures of tables, which are of d, over the sets of
// [Data.RunSets].
func (d *Data) Figures(tables []Table, sets []*RunSet, opts Options) ([]Figure, error) {
	groups := map[string]*group{}
	for _, g := range d.groups(opts.modeFactors()) {
		t := Table{Workload: g.workload, Condition: g.condition, Levels: g.levels}
		groups[t.Name()] = g
	}
	rows := 0
	for i := range tables {
		rows += len(tables[i].Rows)
	}
	points := min(max(maxCurvePoints/max(rows, 1), 60), 400)
	figures := make([]Figure, len(tables))
	for i := range tables {
		t := &tables[i]
		at := slices.IndexFunc(sets, func(s *RunSet) bool { return s.Name == t.Name() })
		if at < 0 || groups[t.Name()] == nil || len(groups[t.Name()].treatments) != len(t.Rows) {
			return nil, fmt.Errorf("cannot draw table %q: it is not of these records", t.Name())
		}
		f := &figures[i]
		*f = Figure{Table: t, Set: sets[at], format: formatOf(t)}
		f.Metric = slices.IndexFunc(sets[at].Metrics, func(m metric.Metric) bool { return m.Name == t.Metric.Name })
		if err := f.distributions(d, groups[t.Name()], points); err != nil {
			return nil, err
		}
		f.ratios()
	}
	return figures, nil
}

// distributions fills in boxes and curves.
func (f *Figure) distributions(d *Data, g *group, points int) error {
	f.Iterations = hasIterations(f.Table)
	m, ok := d.workloads[g.workload].index[f.Table.Metric.Name]
	if !ok {
		return nil
	}
	for row, tr := range g.treatments {
		c := tr.lookup(m)
		sorted := slices.Sorted(slices.Values(c.values))
		b, err := boxOf(sorted)
		if err != nil {
			return err
		}
		b.Row, b.Interval = row, f.Table.Rows[row].Summary.MedianCI
		f.Boxes = append(f.Boxes, b)
		if f.Iterations {
			sorted = slices.Sorted(slices.Values(c.pool.values))
		}
		if len(sorted) > 0 {
			x, p := thinnedCurve(sorted, points)
			f.Curves = append(f.Curves, Curve{Row: row, N: len(sorted), X: x, P: p})
		}
	}
	return nil
}

func boxOf(sorted []float64) (Box, error) {
	b := Box{N: len(sorted)}
	if b.N < 4 {
		return b, nil
	}
	for _, q := range []struct {
		p  float64
		to *float64
	}{{0.25, &b.Q1}, {0.5, &b.Median}, {0.75, &b.Q3}} {
		v, err := stats.Quantile(sorted, q.p, stats.DefaultQuantile)
		if err != nil {
			return Box{}, err
		}
		*q.to = v.V
	}
	reach := 1.5 * (b.Q3 - b.Q1)
	// A whisker ends at a value, and not inside the box.
	b.Low, b.High = b.Q1, b.Q3
	for _, v := range sorted {
		if v >= b.Q1-reach {
			b.Low = math.Min(b.Q1, v)
			break
		}
	}
	for _, v := range slices.Backward(sorted) {
		if v <= b.Q3+reach {
			b.High = math.Max(b.Q3, v)
			break
		}
	}
	b.OK = true
	return b, nil
}

// thinnedCurve takes about so many points of a distribution: half of them
// spread evenly over the ranks, the others ever denser towards both ends, so
// that the last values of either tail are all there.
func thinnedCurve(sorted []float64, points int) (x, p []float64) {
	n := len(sorted)
	var ranks []int
	if n <= points {
		for i := range n {
			ranks = append(ranks, i)
		}
	} else {
		half, quarter := points/2, points/4
		for i := range half {
			ranks = append(ranks, i*(n-1)/(half-1))
		}
		for i := range quarter {
			r := int(math.Round(math.Pow(float64(n)/2, float64(i)/float64(quarter-1)))) - 1
			ranks = append(ranks, r, n-1-r)
		}
		slices.Sort(ranks)
		ranks = slices.Compact(ranks)
	}
	for _, r := range ranks {
		x, p = append(x, sorted[r]), append(p, float64(r+1)/float64(n))
	}
	return x, p
}

// ratios takes the contrasts of the table; a table without them has the bare
// ratios of its rows.
func (f *Figure) ratios() {
	for i := range f.Table.Contrasts {
		c := &f.Table.Contrasts[i]
		r := Ratio{Row: c.Row, Base: c.Base, Blocked: c.Blocked}
		r.Median = Estimate{Words: f.Table.change(c), Better: gain(c.Location.Verdict.Kind, f.Table.Metric.Better)}
		r.Median.Value, r.Median.Interval = asRatio(&c.Location)
		// A smaller spread is a gain whatever the metric.
		r.SD = Estimate{Value: c.Spread.Ratio, Interval: c.Spread.CI, Words: sdRatio(c), Better: gain(c.Spread.Verdict.Kind, metric.Lower)}
		f.Ratios = append(f.Ratios, r)
	}
}

// asRatio turns a change (−0.02: 2% lower) into a ratio.
func asRatio(l *stats.LocationChange) (stats.Value, stats.Interval) {
	if l.Difference {
		why := "no ratio: values ≤ 0"
		return stats.Value{Why: why}, stats.Interval{Why: why}
	}
	v, ci := l.Change, l.CI
	v.V, ci.Lo, ci.Hi = 1+v.V, 1+ci.Lo, 1+ci.Hi
	return v, ci
}
