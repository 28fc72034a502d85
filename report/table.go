package report

import (
	"regexp"
	"slices"
	"strings"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// Options says what tables are to show.
type Options struct {
	// Experiment and Title head the document. Experiment is also written to
	// bench.txt.
	Experiment, Title string
	// Baseline is the mode that the others are compared with; "": the first.
	Baseline string
	// Treatments are those of the plan. With them a treatment without a
	// record has a row too. Nil: those of the records.
	Treatments []harness.Treatment
	// ModeFactors names the factors that belong to modes: they make rows.
	// All other factors belong to workloads: they make tables. See ModeFactors.
	// Nil: the keys that every mode knows.
	ModeFactors []string
	// Sides names the factors whose levels are compared with their first one
	// within a mode: the refs of Go benchmarks, the functions of the kernel
	// yield. They make rows, as ModeFactors do. See SidesOf.
	Sides []string
	// Metrics selects metrics by name, for all workloads. Empty: those that
	// are marked as shown; where none is, "wall"; where that is missing, all.
	Metrics []*regexp.Regexp
	// All shows every metric.
	All bool
	// TopK shows only that many metrics of each workload: those whose CV
	// varies most, of the selected ones or, when Metrics is empty, of all.
	TopK int
	// Compare lists the pairs of modes that are compared; empty: every mode
	// with the baseline.
	Compare []harness.ModePair
	// Unblocked compares samples as a whole: the runs share no blocks.
	Unblocked bool
	// Notes head the document: what of the figures could not be read, say.
	Notes []string
	// Equivalence bounds the sd ratio that counts as the same, as {0.8, 1.25};
	// the zero value claims no equivalence.
	Equivalence [2]float64
	// FailOn are the bounds that comparisons are held to: see Document.Gates.
	FailOn []Bound
	// Target is the effect that the notes of the document say the rounds for; of
	// several sessions the zero value is DefaultTarget.
	Target Target
	// Manifest is that of the result folder; nil for figures taken elsewhere.
	Manifest *harness.Manifest
	// MaxIterations is how many pooled iterations are kept exactly; 0: the
	// constant of that name.
	MaxIterations int
}

// Table is one metric of one workload (at one combination of its own levels,
// under one condition), with a row per mode. All numbers are in the base unit
// of the metric.
type Table struct {
	Workload  string
	Condition string
	Levels    []harness.Level // the workload's own, common to all rows
	Metric    metric.Metric   // zero: no run yielded a value
	Baseline  string          // mode; "": none of the rows
	Counts    Counts
	Rows      []Row
	Notes     []Note
	// What follows is filled in by Data.Document.
	Contrasts []Contrast
	// Friedman asks whether any of three modes or more differs within rounds. It
	// goes to contrasts.csv only: declared contrasts need no omnibus gate.
	Friedman     stats.FriedmanTest
	Effects      []Effect     // of modes whose flags were all crossed
	Trends       []SweepTrend // of modes with a factor of three numbers or more
	Attributions []Attribution
}

// Row is one mode at one combination of its levels.
type Row struct {
	Mode   string
	Levels []harness.Level // the mode's own
	Counts Counts
	// Excluded holds the first void and failed runs; Counts has how many there are.
	Excluded []Excluded
	// Summary is of the kept runs' values. Its N is below Counts.Kept where a
	// kept run has no value of this metric.
	Summary    stats.Summary
	Iterations Iterations
	// MedianRatio and SDRatio are this row's over the baseline's.
	MedianRatio, SDRatio stats.Value
	// Base is true for the baseline itself.
	Base bool
}

// Iterations describes the iterations of all kept runs of a row, pooled.
type Iterations struct {
	N      int // finite iterations of the kept runs
	Pooled int // of these in the quantiles; below N: thinned
	// Type-7 quantiles at 0.1%, 1%, 50%, 99% and 99.9%. The tail that hurts
	// is the upper one of a time and the lower one of a rate. P1 and P99 need
	// n ≥ 100, P01 and P999 n ≥ 1000, or they would be just the extremes.
	P01, P1, P50, P99, P999 stats.Value
}

// Label names the row: "goset n=2 fence=true".
func (r *Row) Label() string { return label(r.Mode, r.Levels) }

// Name names the table's workload: "jitter steps=1000, condition noisy".
func (t *Table) Name() string {
	s := label(t.Workload, t.Levels)
	if t.Condition != "" {
		s += ", condition " + t.Condition
	}
	return s
}

func label(name string, levels []harness.Level) string {
	var b strings.Builder
	b.WriteString(name)
	for _, l := range levels {
		b.WriteString(" " + l.Factor + "=" + l.Value)
	}
	return b.String()
}

func fullLabel(workload, mode, condition string, levels []harness.Level) string {
	return strings.Join(slices.DeleteFunc([]string{workload, label(mode, levels), condition}, func(s string) bool { return s == "" }), " · ")
}

// OptionsOf gives the options that a result folder itself determines.
func OptionsOf(m *harness.Manifest) Options {
	opts := Options{Experiment: m.Name, Title: m.Title, Baseline: m.Baseline, Treatments: m.Treatments,
		// The blocks of sequential runs lie apart in time: nothing is common to them.
		Unblocked: m.Order == harness.OrderSequential, Compare: m.Compare, Manifest: m}
	if m.Equivalence != nil {
		opts.Equivalence = [2]float64{m.Equivalence.Lo, m.Equivalence.Hi}
	}
	return opts
}

// ModeFactors returns the factors of an experiment that belong to its modes.
// The result is never nil.
func ModeFactors(modes []harness.ModeSpec) []string {
	fs := []string{}
	for _, m := range modes {
		for _, k := range m.Keys {
			if len(k.Levels) > 1 && !slices.Contains(fs, k.Name) {
				fs = append(fs, k.Name)
			}
		}
	}
	return fs
}

// SidesOf returns the factors of workloads that make another program of them.
// The result is never nil.
func SidesOf(workloads []harness.Workload) []string {
	fs := []string{}
	for i := range workloads {
		sides := workloads[i].Sides()
		for _, p := range workloads[i].Params {
			if len(p.Levels) > 1 && slices.Contains(sides, p.Name) && !slices.Contains(fs, p.Name) {
				fs = append(fs, p.Name)
			}
		}
	}
	return fs
}

// layerKeys are the keys that every mode of an experiment file knows. They
// stand in for ModeFactors where only records are at hand.
func layerKeys() []string {
	return []string{"cpus", "n", "include", "exclude", "numa", "sample", "rank", "choose", "cgroup", "shield", "fence", "steer",
		"nice", "fifo", "priority", "governor", "frequency", "turbo", "smt", "aslr", "stable_env", "env_size", "thp", "memory", "cpu_quota", "wrap", "user"}
}

// group is the treatments that share a table: one workload at one combination
// of its own levels, under one condition.
type group struct {
	workload, condition string
	levels              []harness.Level
	treatments          []*treatment
}

// Tables makes the tables that opts select, in the order of the plan. It
// compares nothing: see Document.
func (d *Data) Tables(opts Options) ([]Table, error) {
	b, err := d.build(opts)
	if err != nil {
		return nil, err
	}
	return b.plain(), nil
}

// maker makes a document out of data.
type maker struct {
	data     *Data
	opts     Options
	factors  []string // of rows
	sides    []string // of these, those whose levels are compared
	baseline string
	tables   []built
}

// built is a table with what it was made from.
type built struct {
	Table
	group  *group
	metric int // index; -1: no run yielded a value
}

func (b *maker) plain() []Table {
	var out []Table
	for i := range b.tables {
		out = append(out, b.tables[i].Table)
	}
	return out
}

func (d *Data) build(opts Options) (*maker, error) {
	if !d.HasMetric(opts.Metrics) {
		opts.Metrics = nil // the usual ones, and not none
	}
	b := &maker{data: d, opts: opts, factors: opts.modeFactors(), sides: opts.Sides, baseline: opts.Baseline}
	if b.baseline == "" && len(d.treatments) > 0 {
		b.baseline = d.treatments[0].mode
	}
	selected := map[string][]int{}
	for _, g := range d.groups(b.factors) {
		metrics, ok := selected[g.workload]
		if !ok {
			var err error
			if metrics, err = d.selectMetrics(g.workload, opts); err != nil {
				return nil, err
			}
			selected[g.workload] = metrics
		}
		if len(metrics) == 0 && len(d.workloads[g.workload].metrics) == 0 {
			metrics = []int{-1} // nothing was measured, and that is to be seen
		}
		for _, m := range d.ofGroup(g, metrics) {
			t, err := d.table(g, m, b)
			if err != nil {
				return nil, err
			}
			b.tables = append(b.tables, built{t, g, m})
		}
	}
	return b, nil
}

// groups parts the treatments into tables, in the order of first appearance.
func (d *Data) groups(modeFactors []string) []*group {
	var gs []*group
	index := map[string]*group{}
	for _, t := range d.treatments {
		_, own := splitLevels(t.levels, modeFactors)
		key := fullLabel(t.workload, "", t.condition, own)
		g := index[key]
		if g == nil {
			g = &group{workload: t.workload, condition: t.condition, levels: own}
			index[key] = g
			gs = append(gs, g)
		}
		g.treatments = append(g.treatments, t)
	}
	return gs
}

// splitLevels parts levels into the mode's and the workload's.
func splitLevels(levels []harness.Level, modeFactors []string) (mode, workload []harness.Level) {
	for _, l := range levels {
		if slices.Contains(modeFactors, l.Factor) {
			mode = append(mode, l)
		} else {
			workload = append(workload, l)
		}
	}
	return mode, workload
}

// ofGroup leaves out the metrics that only other groups of the workload have:
// the benchmarks of another package.
func (d *Data) ofGroup(g *group, metrics []int) []int {
	has := func(t *treatment, m int) bool { return m >= 0 && len(t.lookup(m).values) > 0 }
	var here []int
	for _, m := range metrics {
		mine := slices.ContainsFunc(g.treatments, func(t *treatment) bool { return has(t, m) })
		others := slices.ContainsFunc(d.treatments, func(t *treatment) bool { return t.workload == g.workload && has(t, m) })
		if mine || !others {
			here = append(here, m)
		}
	}
	if len(here) == 0 {
		return metrics[:min(1, len(metrics))] // nothing came, and that is to be seen
	}
	return here
}

func (d *Data) table(g *group, m int, b *maker) (Table, error) {
	baseline := b.baseline
	t := Table{Workload: g.workload, Condition: g.condition, Levels: g.levels}
	if m >= 0 {
		t.Metric = d.workloads[g.workload].metrics[m]
	}
	for _, tr := range g.treatments {
		own, _ := splitLevels(tr.levels, b.factors)
		row, err := newRow(tr, m, own)
		if err != nil {
			return Table{}, err
		}
		if tr.mode == baseline {
			t.Baseline = baseline
		}
		t.Rows = append(t.Rows, row)
		t.Counts.add(tr.counts)
	}
	compareRows(t.Rows, t.Baseline, b.sides)
	t.Notes = notesOf(&t, g, m)
	return t, nil
}

func newRow(tr *treatment, m int, own []harness.Level) (Row, error) {
	c := &cell{}
	if m >= 0 {
		c = tr.lookup(m)
	}
	sum, err := stats.Summarize(c.values)
	if err != nil {
		return Row{}, err
	}
	if sum.N == 1 {
		// One value scatters by nothing because there is nothing to scatter.
		none := stats.Value{Why: "n ≥ 2 needed"}
		sum.Spread, sum.MAD, sum.AAD = none, none, none
	}
	it, err := poolIterations(&c.pool)
	if err != nil {
		return Row{}, err
	}
	return Row{Mode: tr.mode, Levels: own, Counts: tr.counts, Excluded: tr.excluded, Summary: sum, Iterations: it}, nil
}

// poolIterations takes the quantiles of a pool, but not one that at this n is
// only an extreme under another name.
func poolIterations(p *pool) (Iterations, error) {
	it := Iterations{N: p.seen, Pooled: len(p.values)}
	sorted := slices.Clone(p.values) // one sort for all quantiles
	slices.Sort(sorted)
	for _, q := range []struct {
		p    float64
		need int
		why  string
		to   *stats.Value
	}{
		{0.001, 1000, "n ≥ 1000 needed", &it.P01},
		{0.01, 100, "n ≥ 100 needed", &it.P1},
		{0.5, 1, "no iterations", &it.P50},
		{0.99, 100, "n ≥ 100 needed", &it.P99},
		{0.999, 1000, "n ≥ 1000 needed", &it.P999},
	} {
		if len(sorted) < q.need {
			*q.to = stats.Value{Why: q.why}
			continue
		}
		v, err := stats.Quantile(sorted, q.p, stats.DefaultQuantile)
		if err != nil {
			return Iterations{}, err
		}
		*q.to = v
	}
	return it, nil
}
