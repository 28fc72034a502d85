package report

import (
	"context"
	"math"
	"slices"
	"time"

	"goset/harness"
	"goset/metric"
)

// maxPageRuns is how many run attempts the page and the plots show one by
// one. Above it whole blocks are left out evenly, and the page says so; every
// number of a table is of all runs all the same.
const maxPageRuns = 20_000

// Bounds of the columns beside a run, and of all their numbers together, so
// that a page of 10,000 runs stays below 2 MB. What is left out is in runs.csv.
const (
	maxPageMetrics  = 16
	maxPageCounters = 24
	maxPageValues   = 90_000
	maxPageCounts   = 150_000
)

// RunSet holds the run attempts behind the tables of one [Table.Name], in time
// order: kept, void, failed and warm-up runs alike.
type RunSet struct {
	Name, Workload, Condition string
	Rows                      []string // as the rows of those tables
	Runs                      []RunPoint
	Metrics                   []metric.Metric // what RunPoint.Values holds, in this order
	Counters                  []string        // what RunPoint.Counters holds
	// Left is the number of attempts and of counters that are left out.
	LeftRuns, LeftCounters int
	// Isolation is, for every row, what its runs asked of the machine and got.
	Isolation [][]LayerFinding
	CPUs      []string // for every row, the CPUs of its runs in words
}

// RunPoint is one attempt at one run. An absent value or counter is NaN, and
// no ink prints one.
type RunPoint struct {
	Run, Attempt, Block, Position int
	Row                           int // index into RunSet.Rows
	Outcome                       harness.Outcome
	Reason, CPUs                  string
	Warmup                        bool
	Start                         time.Time
	Values, Counters              []float64
}

// LayerFinding says of one layer of a mode what was asked, what was found when
// it was read back, and in how many runs it held.
// Texts are distinct and in order of appearance: a mode that rotates asks every
// run for something else.
type LayerFinding struct {
	Layer           string
	Asked, Achieved []string
	Held, Runs      int
	Unread          int // of those held
	Notes           []string
}

// runCollector sorts records into sets.
type runCollector struct {
	sets  []*RunSet
	place map[int]runPlace // by treatment
	shown int              // runs that are kept, about
	every int              // one block in so many is kept
	spare int              // void and failed runs outside those blocks that still fit
	left  int              // room in all
	cpus  []map[int]*tally // by set and row
}

type runPlace struct{ set, row int }

// RunSets reads all records of src, which d was collected from, once more.
// limit is the number of attempts to keep; 0: maxPageRuns.
func (d *Data) RunSets(ctx context.Context, src Source, opts Options, limit int) ([]*RunSet, error) {
	if limit == 0 {
		limit = maxPageRuns
	}
	c := &runCollector{place: map[int]runPlace{}, left: limit, spare: limit / 10}
	total := 0
	groups := d.groups(opts.modeFactors())
	for _, g := range groups {
		for _, tr := range g.treatments {
			total += tr.counts.Kept + tr.counts.Void + tr.counts.Failed + tr.counts.Warmup
		}
	}
	c.shown = max(1, min(total, limit))
	for i, g := range groups {
		s, err := d.newRunSet(g, opts, min(maxPageMetrics, maxPageValues/c.shown))
		if err != nil {
			return nil, err
		}
		c.sets = append(c.sets, s)
		c.cpus = append(c.cpus, map[int]*tally{})
		for j, tr := range g.treatments {
			c.place[tr.index] = runPlace{i, j}
			c.cpus[i][j] = &tally{}
		}
	}
	c.every = max(1, (total+limit-1)/limit)
	if err := src.Each(ctx, c.add); err != nil {
		return nil, err
	}
	for i, s := range c.sets {
		s.narrow(min(maxPageCounters, maxPageCounts/c.shown))
		for j := range s.Rows {
			s.CPUs = append(s.CPUs, cpuWords(c.cpus[i][j]))
		}
	}
	return c.sets, nil
}

// newRunSet chooses the columns: the metrics that have tables, then the others
// up to so many.
func (d *Data) newRunSet(g *group, opts Options, most int) (*RunSet, error) {
	t := Table{Workload: g.workload, Condition: g.condition, Levels: g.levels}
	s := &RunSet{Name: t.Name(), Workload: g.workload, Condition: g.condition, Counters: d.counters.list}
	for _, tr := range g.treatments {
		own, _ := splitLevels(tr.levels, opts.modeFactors())
		s.Rows = append(s.Rows, label(tr.mode, own))
	}
	s.Isolation = make([][]LayerFinding, len(s.Rows))
	w := d.workloads[g.workload]
	chosen, err := d.selectMetrics(g.workload, opts)
	if err != nil {
		return nil, err
	}
	for i := range w.metrics {
		if len(chosen) < most && !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	for _, m := range chosen {
		s.Metrics = append(s.Metrics, w.metrics[m])
	}
	return s, nil
}

// add takes in one record.
func (c *runCollector) add(r *harness.Record) error {
	at, ok := c.place[r.Treatment]
	if !ok {
		return nil // Collect has refused what cannot be placed
	}
	s := c.sets[at.set]
	outcome, reason := outcomeOf(r)
	if !r.Warmup && outcome == harness.Kept {
		c.cpus[at.set][at.row].add(r.CPUs)
	}
	s.isolate(at.row, r)
	if !c.room(r.Block, outcome) {
		s.LeftRuns++
		return nil
	}
	p := RunPoint{Run: r.Run, Attempt: r.Attempt, Block: r.Block, Position: r.Position, Row: at.row, Outcome: outcome,
		Reason: oneLine(reason), CPUs: r.CPUs, Warmup: r.Warmup, Start: r.Start}
	for _, m := range s.Metrics {
		p.Values = append(p.Values, finiteOf(r.Values, m.Name))
	}
	for _, n := range s.Counters {
		p.Counters = append(p.Counters, finiteOf(r.Counters, n))
	}
	s.Runs = append(s.Runs, p)
	return nil
}

// room decides whether an attempt is shown: of a large experiment whole blocks,
// so that what is compared within a block stays together, and the first void
// and failed runs, which are what a reader looks for.
func (c *runCollector) room(block int, outcome harness.Outcome) bool {
	if c.left == 0 {
		return false
	}
	if block%c.every != 0 {
		if outcome == harness.Kept || c.spare == 0 {
			return false
		}
		c.spare--
	}
	c.left--
	return true
}

func finiteOf(values map[string]float64, name string) float64 {
	v, ok := values[name]
	if !ok || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// isolate takes in what a run says of its layers.
func (s *RunSet) isolate(row int, r *harness.Record) {
	for _, l := range r.Layers {
		i := slices.IndexFunc(s.Isolation[row], func(f LayerFinding) bool { return f.Layer == l.Layer })
		if i < 0 {
			i = len(s.Isolation[row])
			s.Isolation[row] = append(s.Isolation[row], LayerFinding{Layer: l.Layer})
		}
		f := &s.Isolation[row][i]
		f.Runs++
		if l.Held {
			f.Held++
		}
		if l.Unread {
			f.Unread++
		}
		f.Asked = addText(f.Asked, oneLine(l.Asked))
		f.Achieved = addText(f.Achieved, oneLine(l.Achieved))
		f.Notes = addText(f.Notes, oneLine(l.Note))
	}
}

// addText adds a text that is not there yet, up to a handful.
func addText(texts []string, s string) []string {
	const most = 8
	if s == "" || len(texts) > most || slices.Contains(texts, s) {
		return texts
	}
	if len(texts) == most {
		s = "…"
	}
	return append(texts, s)
}

// narrow drops the counters that no run has, then, where more than so many are
// left, those that never vary, then the last.
func (s *RunSet) narrow(most int) {
	all := s.Counters
	keep, varying := s.counterUse()
	found := len(keep)
	if found > most {
		keep = varying
	}
	keep = keep[:min(len(keep), most)]
	s.LeftCounters = found - len(keep)
	s.Counters = nil
	for _, i := range keep {
		s.Counters = append(s.Counters, all[i])
	}
	for r := range s.Runs {
		p := &s.Runs[r]
		kept := make([]float64, len(keep))
		for j, i := range keep {
			kept[j] = p.Counters[i]
		}
		p.Counters = kept
	}
}

// counterUse returns the counters that some run has and those that vary.
func (s *RunSet) counterUse() (present, varying []int) {
	for i := range s.Counters {
		first, any, varies := 0.0, false, false
		for r := range s.Runs {
			v := s.Runs[r].Counters[i]
			if math.IsNaN(v) {
				continue
			}
			varies = varies || any && v != first
			first, any = v, true
		}
		if any {
			present = append(present, i)
		}
		if varies {
			varying = append(varying, i)
		}
	}
	return present, varying
}

// cpuWords says on which CPUs the kept runs of a row were.
func cpuWords(y *tally) string {
	switch {
	case len(y.texts) == 0:
		return ""
	case len(y.texts) == 1 && y.texts[0] == "":
		return "any"
	}
	out := ""
	for i, t := range y.texts {
		if i > 0 {
			out += "; "
		}
		if t == "" {
			t = "any"
		}
		out += t
	}
	if y.other > 0 {
		out += "; …"
	}
	return out
}

// modeFactors are the factors that make rows: those of modes, and the sides.
func (o Options) modeFactors() []string {
	if o.ModeFactors == nil {
		return slices.Concat(layerKeys(), o.Sides)
	}
	return slices.Concat(o.ModeFactors, o.Sides)
}
