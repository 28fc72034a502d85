package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"goset/harness"
	"goset/metric"
)

// Source yields every record in the order in which the runs ended, as
// [harness.Results] does. Each may be called more than once. The record is the
// source's own and valid only during the call.
type Source interface {
	Each(ctx context.Context, fn func(*harness.Record) error) error
}

// Bounds of what is kept of things that have no natural bound.
const (
	// MaxIterations is how many pooled iterations are kept exactly, over all
	// treatments and metrics: 32 MiB. Above it the largest pools are thinned,
	// and a footnote says so.
	MaxIterations = 1 << 22
	maxTexts      = 20 // distinct warnings, or CPU sets, of one treatment
	maxExcluded   = 3  // void and failed runs of one treatment that are listed
)

// Counts says what became of the run attempts of one treatment, or of a table.
// Warm-up runs are in none of the first three.
type Counts struct {
	Kept, Void, Failed int
	Warmup             int // discarded runs, whatever their outcome
}

func (c *Counts) add(o Counts) {
	c.Kept += o.Kept
	c.Void += o.Void
	c.Failed += o.Failed
	c.Warmup += o.Warmup
}

// Excluded is a void or failed run attempt.
type Excluded struct {
	Run, Attempt, Block int
	Outcome             harness.Outcome
	Reason              string
}

// Data is what Collect keeps of the records of one experiment.
type Data struct {
	treatments []*treatment // by index
	workloads  map[string]*workload
	byIndex    map[int]*treatment
	factors    names // of all treatments, in the order of the plan
	counters   names // of all records, sorted
	iterations bool  // some record has iterations, be it a void one
	pooled     int   // iterations kept, all pools
	limit      int
	settling   int // steps left of warmupSteps
}

// workload holds the metrics of one workload, in the order of description.
type workload struct {
	metrics   []metric.Metric
	described []bool
	index     map[string]int
}

// treatment holds the observations of one treatment.
type treatment struct {
	index           int
	workload        string
	mode, condition string
	levels          []harness.Level
	counts          Counts
	procs           int     // GOMAXPROCS of Go benchmarks; 0: it is none
	warmupBad       int     // warm-up runs that were void or failed
	blocks          []int32 // of the kept runs, in time order, as are the next five
	runs            []int32
	onCPUs          []int32 // into cpus.texts; -1: others
	positions       []int32
	starts          []int64 // ns since 1970; 0: unknown
	counters        counterTable
	cells           []*cell // by metric index of the workload; nil: no value yet
	excluded        []Excluded
	warnings, cpus  tally
	// takenOver counts the kept runs on CPUs that were chosen for an earlier
	// run, and oldest is the longest time from such a choice to a run's start.
	takenOver int
	oldest    time.Duration
	// unread counts, by layer, the kept runs in which it was not read back.
	unread map[string]int
}

// cell holds all observations of one metric under one treatment.
type cell struct {
	values []float64 // per run, in time order
	at     []int32   // values[i] is of the kept run at[i]
	bad    int       // values that were NaN or infinite, and left out
	pool   pool
	warmup warmup
}

// Collect reads all records once. treatments are those of the plan: with them,
// a treatment that has no record yet has a row too; nil is fine. limit is the
// number of pooled iterations to keep; 0: MaxIterations.
func Collect(ctx context.Context, src Source, treatments []harness.Treatment, limit int) (*Data, error) {
	if limit == 0 {
		limit = MaxIterations
	}
	d := newData(limit)
	for i := range treatments {
		t := &treatments[i]
		d.addTreatment(&treatment{index: t.Index, workload: t.Workload, mode: t.Mode, condition: t.Condition, levels: slices.Clone(t.Levels)})
	}
	if err := src.Each(ctx, d.add); err != nil {
		return nil, err
	}
	slices.SortFunc(d.treatments, func(a, b *treatment) int { return cmp.Compare(a.index, b.index) })
	for _, t := range d.treatments {
		for _, l := range t.levels {
			d.factors.add(l.Factor)
		}
	}
	slices.Sort(d.counters.list) // they come from maps, and a header has to be stable
	return d, nil
}

func newData(limit int) *Data {
	return &Data{workloads: map[string]*workload{}, byIndex: map[int]*treatment{}, limit: limit, settling: warmupSteps}
}

func (d *Data) addTreatment(t *treatment) {
	d.treatments = append(d.treatments, t)
	d.byIndex[t.index] = t
	if d.workloads[t.workload] == nil {
		d.workloads[t.workload] = &workload{index: map[string]int{}}
	}
}

// treatmentOf finds the treatment of a record, which must carry the labels
// that earlier records of the same treatment had: a mixed-up folder would
// otherwise give one row of two things.
func (d *Data) treatmentOf(r *harness.Record) (*treatment, error) {
	t := d.byIndex[r.Treatment]
	if t == nil {
		t = &treatment{index: r.Treatment, workload: r.Workload, mode: r.Mode, condition: r.Condition, levels: slices.Clone(r.Levels)}
		d.addTreatment(t)
		return t, nil
	}
	if t.workload != r.Workload || t.mode != r.Mode || t.condition != r.Condition || !slices.Equal(t.levels, r.Levels) {
		return nil, fmt.Errorf("cannot use record of run %d: treatment %d is %q in it and %q elsewhere; the records are of two experiments",
			r.Run, r.Treatment, fullLabel(r.Workload, r.Mode, r.Condition, r.Levels), fullLabel(t.workload, t.mode, t.condition, t.levels))
	}
	return t, nil
}

// add takes in one record.
func (d *Data) add(r *harness.Record) error {
	t, err := d.treatmentOf(r)
	if err != nil {
		return err
	}
	w := d.workloads[t.workload]
	if err := w.describe(t.workload, r); err != nil {
		return err
	}
	d.iterations = d.iterations || len(r.Iterations) > 0
	outcome, reason := outcomeOf(r)
	if r.Warmup || outcome != harness.Kept {
		w.discover(r)
		for name := range r.Counters {
			d.counters.add(name)
		}
	}
	if r.Warmup {
		t.counts.Warmup++
		if r.Outcome != harness.Kept {
			t.warmupBad++
		}
		return nil
	}
	t.doubt(r)
	if outcome != harness.Kept {
		t.exclude(r, outcome, reason)
		return nil
	}
	d.keep(t, w, r)
	d.pool(t, w, r)
	return nil
}

// describe takes in the metrics that the record describes, in their order.
func (w *workload) describe(name string, r *harness.Record) error {
	for _, m := range r.Metrics {
		i := w.metric(m.Name)
		if w.described[i] && w.metrics[i].Unit != m.Unit {
			return fmt.Errorf("cannot use record of run %d: metric %q of workload %q has unit %q in it and %q elsewhere", r.Run, m.Name, name, m.Unit, w.metrics[i].Unit)
		}
		if !w.described[i] {
			w.metrics[i], w.described[i] = m, true
		}
	}
	return nil
}

// discover takes in the metrics of a record that nothing described, by name.
func (w *workload) discover(r *harness.Record) {
	var unknown []string
	for m := range r.Values {
		if _, ok := w.index[m]; !ok {
			unknown = append(unknown, m)
		}
	}
	for m := range r.Iterations {
		if _, ok := w.index[m]; !ok && !slices.Contains(unknown, m) {
			unknown = append(unknown, m)
		}
	}
	slices.Sort(unknown)
	for _, m := range unknown {
		w.metric(m)
	}
}

// known is the index of a metric of this record. Only where there is none yet
// are all names of the record looked at.
func (w *workload) known(name string, r *harness.Record) int {
	i, ok := w.index[name]
	if !ok {
		w.discover(r)
		i = w.index[name]
	}
	return i
}

// metric returns the index of a metric, which it makes where it is new.
func (w *workload) metric(name string) int {
	i, ok := w.index[name]
	if !ok {
		i = len(w.metrics)
		w.index[name] = i
		w.metrics = append(w.metrics, metric.Metric{Name: name})
		w.described = append(w.described, false)
	}
	return i
}

// doubt takes in what the record warns of.
func (t *treatment) doubt(r *harness.Record) {
	for _, s := range r.Warnings {
		t.warnings.add(oneLine(s))
	}
	for _, l := range r.Layers {
		if !l.Held && !l.Optional { // of an optional one the record warns itself
			t.warnings.add(oneLine(fmt.Sprintf("layer %q did not hold: %s", l.Layer, cmp.Or(l.Note, "asked "+l.Asked+", got "+l.Achieved))))
		}
	}
}

// outcomeOf is the outcome that counts: of two kept attempts at one run, which
// a folder has when it was killed and resumed at the wrong moment, the later.
func outcomeOf(r *harness.Record) (outcome harness.Outcome, reason string) {
	if r.Superseded && r.Outcome == harness.Kept {
		return harness.Void, "a later attempt at the same run is on file"
	}
	return r.Outcome, r.Reason
}

func (t *treatment) exclude(r *harness.Record, outcome harness.Outcome, reason string) {
	if outcome == harness.Void {
		t.counts.Void++
	} else {
		t.counts.Failed++
	}
	if len(t.excluded) < maxExcluded {
		t.excluded = append(t.excluded, Excluded{r.Run, r.Attempt, r.Block, outcome, oneLine(reason)})
	}
}

// keep takes in a run that counts.
func (d *Data) keep(t *treatment, w *workload, r *harness.Record) {
	at := int32(t.counts.Kept)
	t.counts.Kept++
	t.blocks = append(t.blocks, int32(r.Block))
	t.runs = append(t.runs, int32(r.Run))
	t.positions = append(t.positions, int32(r.Position))
	start := int64(0)
	if !r.Start.IsZero() {
		start = r.Start.UnixNano()
	}
	t.starts = append(t.starts, start)
	t.counters.add(int(at), r.Counters, &d.counters)
	t.onCPUs = append(t.onCPUs, int32(t.cpus.add(r.CPUs)))
	if c := r.Choice; c != nil && !c.At.IsZero() && !c.Own(r) {
		t.takenOver++
		t.oldest = max(t.oldest, r.Start.Sub(c.At))
	}
	for _, l := range r.Layers {
		if l.Unread {
			t.leaveUnread(l.Layer)
		}
	}
	t.procs = r.Procs
	for name, v := range r.Values {
		c := t.cell(w.known(name, r))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			c.bad++
			continue
		}
		c.values, c.at = append(c.values, v), append(c.at, at)
	}
}

// leaveUnread counts a run in which a layer was not read back.
func (t *treatment) leaveUnread(layer string) {
	if t.unread == nil {
		t.unread = map[string]int{}
	}
	t.unread[layer]++
}

// cell returns the cell of a metric, which it makes where it is new.
func (t *treatment) cell(i int) *cell {
	for i >= len(t.cells) {
		t.cells = append(t.cells, nil)
	}
	if t.cells[i] == nil {
		t.cells[i] = &cell{}
	}
	return t.cells[i]
}

// lookup returns the cell of a metric; an empty one where there is none.
func (t *treatment) lookup(i int) *cell {
	if i < len(t.cells) && t.cells[i] != nil {
		return t.cells[i]
	}
	return &cell{}
}

// pool takes in the iterations of a kept run.
func (d *Data) pool(t *treatment, w *workload, r *harness.Record) {
	for name, xs := range r.Iterations {
		c := t.cell(w.known(name, r))
		before := len(c.pool.values)
		c.pool.add(xs)
		d.pooled += len(c.pool.values) - before
		d.settling -= c.warmup.look(xs, d.settling)
	}
	for d.pooled > d.limit {
		d.thin()
	}
}

// thin halves every pool that is at least half as large as the largest, so
// that small pools, whose tails need every value, stay whole.
func (d *Data) thin() {
	largest := 0
	for _, t := range d.treatments {
		for _, c := range t.cells {
			if c != nil {
				largest = max(largest, len(c.pool.values))
			}
		}
	}
	d.pooled = 0
	for _, t := range d.treatments {
		for _, c := range t.cells {
			if c == nil {
				continue
			}
			if 2*len(c.pool.values) > largest {
				c.pool.halve()
			}
			d.pooled += len(c.pool.values)
		}
	}
}
