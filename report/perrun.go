package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"goset/stats"
)

// counterTable holds the counters of the kept runs of one treatment: a column
// per counter. Absent is NaN here, and never leaves this package.
type counterTable struct {
	columns map[string]*counterColumn
}

type counterColumn struct{ values []float64 }

// add takes in the counters of the kept run of that index, and gives all to
// whose names it did not know.
func (t *counterTable) add(run int, counters map[string]float64, all *names) {
	for name, v := range counters {
		c := t.columns[name]
		if c == nil {
			if t.columns == nil {
				t.columns = map[string]*counterColumn{}
			}
			c = &counterColumn{}
			t.columns[name] = c
			all.add(name)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		for len(c.values) < run {
			c.values = append(c.values, math.NaN())
		}
		c.values = append(c.values, v)
	}
}

// names are those of the counters that some run has, sorted.
func (t *counterTable) names() []string { return slices.Sorted(maps.Keys(t.columns)) }

// at gives a counter of the runs of those indices; false where one of them
// lacks it, because a correlation over some of the runs is one of others.
func (t *counterTable) at(name string, runs []int32) ([]float64, bool) {
	column := t.columns[name]
	if column == nil {
		return nil, len(runs) == 0
	}
	out := make([]float64, len(runs))
	for i, r := range runs {
		if int(r) >= len(column.values) || math.IsNaN(column.values[r]) {
			return nil, false
		}
		out[i] = column.values[r]
	}
	return out, true
}

// warmupSteps bounds the work of looking for warm-up in all runs together: the
// search is quadratic in the iterations of a run. It is about a second.
const warmupSteps = 400_000_000

// warmup is what the runs of a cell say of their iterations' settling.
type warmup struct {
	runs    []stats.WarmUp // those that were examined
	steady  []int          // of those with a warm-up: the first steady iteration
	unknown int            // runs that were not examined for want of steps
}

// look examines the iterations of one run, if it takes at most left steps, and
// gives the steps that it took.
func (w *warmup) look(xs []float64, left int) int {
	steps := len(xs) * len(xs) / 2
	if steps > left {
		w.unknown++
		return 0
	}
	found, err := stats.FindWarmUp(xs)
	if err != nil || !found.Steady.OK {
		return 0 // infinite values, too few iterations, or too many
	}
	w.runs = append(w.runs, stats.WarmUp{LateChange: found.LateChange})
	if found.Steady.V > 0 {
		w.steady = append(w.steady, int(found.Steady.V))
	}
	return steps
}

// text is a footnote, "" when there is nothing to say. Warm-up in a few runs
// is a disturbance and no property of the workload.
func (w *warmup) text() string {
	n := len(w.runs)
	switch {
	case n == 0:
		return ""
	case stats.NoSteadyState(w.runs):
		late := 0
		for _, r := range w.runs {
			if r.LateChange {
				late++
			}
		}
		return fmt.Sprintf("no steady state: in %d of %d runs the level of the iterations still changes in the last quarter", late, n)
	case 4*len(w.steady) < n:
		return ""
	}
	sorted := slices.Sorted(slices.Values(w.steady))
	return fmt.Sprintf("%d of %d runs warm up: their iterations are steady from about number %d on (nothing is dropped)", len(w.steady), n, sorted[len(sorted)/2]+1)
}
