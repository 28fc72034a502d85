package report

import (
	"cmp"
	"regexp"
	"slices"

	"goset/metric"
	"goset/stats"
)

// selectMetrics returns the indices of the metrics of a workload that opts
// select, in the order of description; with TopK, the most varying first.
func (d *Data) selectMetrics(name string, opts Options) ([]int, error) {
	w := d.workloads[name]
	var out, found []int
	for i, m := range w.metrics {
		switch {
		case wanted(&m, opts):
			out = append(out, i)
		case m.Found && len(opts.Metrics) == 0 && d.varies(name, i):
			found = append(found, i)
		}
	}
	if len(found) > maxFound {
		// A command that prints hundreds of numbers: those that vary most.
		var err error
		if found, err = d.mostVarying(name, found, maxFound); err != nil {
			return nil, err
		}
	}
	out = append(out, found...)
	if len(out) == 0 && len(opts.Metrics) == 0 {
		out = w.fallback()
	}
	if opts.TopK > 0 {
		var err error
		if out, err = d.mostVarying(name, out, opts.TopK); err != nil {
			return nil, err
		}
	}
	return w.bounded(out, opts.FailOn), nil
}

// MetricNames are the names that the metrics of all workloads go by, each once,
// shorter ones first; none where no run has described one.
func (d *Data) MetricNames() []string {
	var names []string
	for _, w := range d.workloads {
		for i := range w.metrics {
			names = append(names, namesOf(&w.metrics[i])...)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return slices.Compact(names)
}

// HasMetric says whether any of the patterns is the name of a metric; it is true
// where nothing has described one.
func (d *Data) HasMetric(patterns []*regexp.Regexp) bool {
	all := d.MetricNames()
	return len(all) == 0 || slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return slices.ContainsFunc(all, re.MatchString) })
}

// maxFound is how many numbers that nobody declared are shown unasked.
const maxFound = 12

// varies is true for a metric whose values are not all the same over the kept
// runs of a workload.
func (d *Data) varies(name string, metric int) bool {
	first, any := 0.0, false
	for _, t := range d.treatments {
		if t.workload != name {
			continue
		}
		for _, v := range t.lookup(metric).values {
			if any && v != first {
				return true
			}
			first, any = v, true
		}
	}
	return false
}

// bounded adds what a bound names and nothing selected is: it is to be judged.
func (w *workload) bounded(selected []int, bounds []Bound) []int {
	for _, b := range bounds {
		about := func(i int) bool { return b.about(&w.metrics[i]) }
		if slices.ContainsFunc(selected, about) {
			continue
		}
		for i := range w.metrics {
			if about(i) {
				selected = append(selected, i)
			}
		}
	}
	return selected
}

// wanted selects a metric by any of its names.
func wanted(m *metric.Metric, opts Options) bool {
	switch {
	case len(opts.Metrics) > 0:
		return slices.ContainsFunc(opts.Metrics, func(re *regexp.Regexp) bool { return slices.ContainsFunc(namesOf(m), re.MatchString) })
	case opts.All || opts.TopK > 0:
		return true
	default:
		return m.Shown
	}
}

// fallback is for a workload of which no metric is marked as shown.
func (w *workload) fallback() []int {
	if i, ok := w.index["wall"]; ok {
		return []int{i}
	}
	out := make([]int, len(w.metrics))
	for i := range out {
		out[i] = i
	}
	return out
}

// mostVarying keeps the k metrics with the largest CV in any cell. Metrics that
// do not vary are left out even where k has room for them.
func (d *Data) mostVarying(name string, metrics []int, k int) ([]int, error) {
	cv := map[int]float64{}
	for _, m := range metrics {
		for _, t := range d.treatments {
			if t.workload != name {
				continue
			}
			s, err := stats.Summarize(t.lookup(m).values)
			if err != nil {
				return nil, err
			}
			if s.CV.OK {
				cv[m] = max(cv[m], s.CV.V)
			}
		}
	}
	metrics = slices.DeleteFunc(slices.Clone(metrics), func(m int) bool { return cv[m] == 0 })
	slices.SortStableFunc(metrics, func(a, b int) int { return cmp.Compare(cv[b], cv[a]) })
	return metrics[:min(k, len(metrics))], nil
}
