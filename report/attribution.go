package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// minAttributed is the number of runs below which no rank correlation can
// reach 5% after any correction.
const minAttributed = 6

// maxCauses is how many counters of a cell are told; more would be a table.
const maxCauses = 2

// attribute says for every row of a table which runs were bad and what in
// their counters goes with it.
func (b *maker) attribute(t *built) error {
	for row := range t.Rows {
		s := &t.Rows[row].Summary
		if s.N < minAttributed || s.Deterministic {
			continue
		}
		a, examined, err := b.attribution(t, row)
		if err != nil {
			return err
		}
		if examined == 0 {
			continue // nothing was counted
		}
		a.Notable = a.sticksOut(t) || slices.ContainsFunc(a.Causes, func(c Cause) bool { return c.PAdj.V < 1-stats.Level })
		a.Text = a.line(t, examined)
		t.Attributions = append(t.Attributions, a)
	}
	return nil
}

func (b *maker) attribution(t *built, row int) (Attribution, int, error) {
	c, tr := t.cell(row), t.group.treatments[row]
	a := Attribution{Row: row, Label: t.Name() + "/" + t.Rows[row].Label()}
	for _, i := range badRuns(c.values, t.Rows[row].Summary.Outliers.Flagged, t.Metric.Better) {
		k := c.at[i]
		a.Slow = append(a.Slow, SlowRun{Run: int(tr.runs[k]), Block: int(tr.blocks[k]), Number: i + 1, Value: c.values[i]})
	}
	counters := b.counters(t, row)
	family := make([]*Cause, len(counters))
	for i := range counters {
		cause, err := counters[i].judge(c.values, t.Metric.Better, a.Slow)
		if err != nil {
			return a, 0, err
		}
		family[i] = cause
	}
	family = slices.DeleteFunc(family, func(c *Cause) bool { return !c.P.OK })
	if err := adjustCauses(family); err != nil {
		return a, 0, err
	}
	slices.SortStableFunc(family, func(x, y *Cause) int { return cmp.Compare(x.P.V, y.P.V) })
	for _, c := range family {
		if c.P.V < 1-stats.Level && len(a.Causes) < maxCauses {
			a.Causes = append(a.Causes, *c)
		}
	}
	return a, len(family), nil
}

// maxWorst is how many runs are looked at where none sticks out.
const maxWorst = 5

// badRuns gives the flagged runs on the bad side, or else the worst fifth:
// what differs between good and bad runs is of interest even where none sticks
// out.
func badRuns(values []float64, flagged []int, better metric.Direction) []int {
	worse := func(i, j int) int { return cmp.Compare(values[j], values[i]) }
	if better == metric.Higher {
		worse = func(i, j int) int { return cmp.Compare(values[i], values[j]) }
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, worse)
	isFlagged := make([]bool, len(values))
	for _, i := range flagged {
		isFlagged[i] = true
	}
	var out []int
	for _, i := range order[:len(order)/2] {
		if isFlagged[i] {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		out = append(out, order[:min(maxWorst, max(1, len(order)/5))]...)
	}
	slices.Sort(out)
	return out
}

// counted is one counter of the runs of a cell.
type counted struct {
	name   string
	values []float64
}

// counters are what the kernel counted in the runs of a row: the records'
// counters, and the counts of wait4, which are metrics too.
func (b *maker) counters(t *built, row int) []counted {
	tr, c := t.group.treatments[row], t.cell(row)
	var out []counted
	names := slices.Sorted(slices.Values(tr.counters.names.list))
	for _, name := range names {
		if xs, ok := tr.counters.at(name, c.at); ok {
			out = append(out, counted{name, xs})
		}
	}
	w := b.data.workloads[t.Workload]
	for _, name := range []string{"involuntary-switches", "voluntary-switches", "minor-faults", "major-faults"} {
		i, ok := w.index[name]
		if !ok || i == t.metric || slices.Contains(names, name) {
			continue
		}
		if m := tr.lookup(i); slices.Equal(m.at, c.at) {
			out = append(out, counted{name, m.values})
		}
	}
	return out
}

// judge relates a counter to the values of the same runs.
func (c *counted) judge(values []float64, better metric.Direction, slow []SlowRun) (*Cause, error) {
	r, err := stats.RankCorrelate(values, c.values)
	if err != nil {
		return nil, err
	}
	if better == metric.Higher {
		r.R.V = -r.R.V
	}
	cause := &Cause{Counter: c.name, Words: counterWords(c.name), R: r.R, P: r.P}
	isSlow := make([]bool, len(c.values))
	for _, s := range slow {
		isSlow[s.Number-1] = true
	}
	rest := make([]float64, 0, len(c.values))
	for i, v := range c.values {
		switch {
		case !isSlow[i]:
			rest = append(rest, v)
		case i == slow[0].Number-1:
			cause.InSlow = v
		case r.R.V < 0:
			cause.InSlow = max(cause.InSlow, v)
		default:
			cause.InSlow = min(cause.InSlow, v)
		}
	}
	median, err := stats.Median(rest)
	cause.Median = median.V
	return cause, err
}

func adjustCauses(family []*Cause) error {
	p := make([]float64, len(family))
	for i, c := range family {
		p[i] = c.P.V
	}
	adjusted, err := stats.Holm(p)
	if err != nil {
		return err
	}
	for i, c := range family {
		c.PAdj = stats.Value{V: adjusted[i], OK: true}
	}
	return nil
}

// counterWords says what a counter is.
func counterWords(name string) string {
	words := map[string]string{
		"involuntary-switches": "involuntary switches", "voluntary-switches": "voluntary switches",
		"minor-faults": "minor page faults", "major-faults": "major page faults",
		harness.CounterMigrations: "migrations", harness.CounterDelay: "s of waiting for a CPU", harness.CounterSteal: "s stolen by the hypervisor",
		harness.CounterSoftirq: "s of soft interrupts", harness.CounterForeign: "s of other work on its CPUs",
		harness.CounterLoad: "CPUs of background load", harness.CounterSiblings: "s of work on the SMT siblings", harness.CounterSiblingInterrupts: "interrupts on the SMT siblings",
		harness.CounterThrottles: "thermal throttle events", harness.CounterFrequency: "Hz of CPU frequency",
		harness.CounterInterrupts: "interrupts on its CPUs", harness.CounterDevice: "device interrupts on its CPUs",
	}
	if w, ok := words[name]; ok {
		return w
	}
	if row, ok := strings.CutPrefix(name, harness.CounterRow); ok {
		return "interrupts of row " + row
	}
	return name
}

// line is the attribution for a person: "jitter/unpinned: runs 3 and 7 are
// slow; both had 40+ involuntary switches (median 1; …)".
func (a *Attribution) line(t *built, examined int) string {
	bad := "slow"
	switch t.Metric.Better {
	case metric.Higher:
		bad = "low"
	case metric.Unknown:
		bad = "high"
	}
	numbers := make([]string, len(a.Slow))
	for i, s := range a.Slow {
		numbers[i] = strconv.Itoa(s.Number)
	}
	head := fmt.Sprintf("%s: %s %s %s %s", a.Label, plural(len(a.Slow), "run"), enumerate(numbers), map[bool]string{true: "is", false: "are"}[len(a.Slow) == 1], bad)
	if !a.sticksOut(t) {
		head = fmt.Sprintf("%s: no run sticks out on the %s side; the worst: %s", a.Label, bad, enumerate(numbers))
	}
	if len(a.Causes) == 0 {
		return fmt.Sprintf("%s; none of %d counters goes with the values (rank correlation, every p ≥ 0.05)", head, examined)
	}
	var parts []string
	for i := range a.Causes {
		parts = append(parts, a.Causes[i].words(len(a.Slow), examined))
	}
	return head + "; " + strings.Join(parts, "; ")
}

// sticksOut says that the slow runs are flagged ones.
func (a *Attribution) sticksOut(t *built) bool {
	_, found := slices.BinarySearch(t.Rows[a.Row].Summary.Outliers.Flagged, a.Slow[0].Number-1)
	return found // badRuns gives flagged ones, or none of them
}

func enumerate(words []string) string {
	switch n := len(words); {
	case n == 0:
		return "none"
	case n == 1:
		return words[0]
	case n > 6:
		return strings.Join(words[:6], ", ") + fmt.Sprintf(" and %d more", n-6)
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// words says how the slow runs differ in one counter, and how sure that is.
func (c *Cause) words(slow, examined int) string {
	who := map[int]string{1: "it", 2: "both"}[slow]
	if who == "" {
		who = "all of them"
	}
	bound := "+"
	less := c.R.V < 0
	switch {
	case slow == 1:
		bound = ""
	case less:
		bound = " or fewer"
	}
	what := fmt.Sprintf("%s had %s%s %s (median of the others %s", who, shortNumber(c.InSlow), bound, c.Words, shortNumber(c.Median))
	// Where the slow runs themselves do not differ, the trend over all runs is
	// all there is to tell.
	if !less && c.InSlow <= c.Median || less && c.InSlow >= c.Median {
		word := "more"
		if less {
			word = "fewer"
		}
		what = fmt.Sprintf("worse runs have %s %s (", word, c.Words)
	} else {
		what += "; "
	}
	s := fmt.Sprintf("%srank correlation %.2f, p %s", what, c.R.V, formatP(c.P.V))
	if examined > 1 {
		s += fmt.Sprintf(", p_adj %s over %d counters", formatP(c.PAdj.V), examined)
		if c.PAdj.V >= 1-stats.Level {
			s += ": not resolved"
		}
	}
	return s + ")"
}

// shortNumber writes a count or a time as a person would say it.
func shortNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return strconv.Itoa(int(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
