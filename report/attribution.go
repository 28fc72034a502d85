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
		a.Apart = a.sticksOut(t)
		a.Counters = examined
		a.Notable = a.Apart || len(a.sure()) > 0
		a.Text = a.line(t.Metric.Better)
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
	seconds := b.durations(t, row)
	ranked, err := stats.Rank(c.values)
	if err != nil {
		return a, 0, err
	}
	var family []*Cause
	for i := range counters {
		if seconds == nil && !isLevel(counters[i].name) {
			continue // how much it is per second is not known
		}
		cause, err := counters[i].judge(ranked, seconds, t.Metric.Better, a.Slow)
		if err != nil {
			return a, 0, err
		}
		family = append(family, cause)
	}
	family = slices.DeleteFunc(family, func(c *Cause) bool { return !c.P.OK })
	if err := adjustCauses(family); err != nil {
		return a, 0, err
	}
	slices.SortStableFunc(family, func(x, y *Cause) int { return cmp.Compare(x.P.V, y.P.V) })
	for _, c := range family {
		if c.P.V < 1-stats.Level && c.explains(t.Metric.Better) && len(a.Causes) < maxCauses {
			a.Causes = append(a.Causes, *c)
		}
	}
	if a.sticksOut(t) && len(a.sure()) == 0 {
		a.Standing = standing(family, t.Metric.Better)
	}
	return a, len(family), nil
}

// standing gives the counter that tells the slow runs from all others most
// plainly, or nil. A single slow run among ten cannot make a rank correlation
// sure, however much was counted in it.
func standing(family []*Cause, better metric.Direction) *Cause {
	var most *Cause
	for _, c := range family {
		if c.standsOut && c.explains(better) && (most == nil || c.InSlow*most.most > most.InSlow*c.most) {
			most = c
		}
	}
	return most
}

// sure are the causes that Holm's correction leaves.
func (a *Attribution) sure() []*Cause {
	var out []*Cause
	for i := range a.Causes {
		if p := a.Causes[i].PAdj; p.OK && p.V < 1-stats.Level {
			out = append(out, &a.Causes[i])
		}
	}
	return out
}

// explains says whether a counter could make a run slow, going by the
// direction in which it differs: a slow run has more of everything that
// disturbs it, and a lower frequency. Of a metric without a good direction
// either side is told.
func (c *Cause) explains(better metric.Direction) bool {
	if better == metric.Unknown {
		return true
	}
	return (c.R.V < 0) == isLevel(c.Counter)
}

// isLevel tells a state, of which less can slow a run down, from what adds up
// while a run lasts.
func isLevel(counter string) bool { return counter == harness.CounterFrequency }

// maxWorst is how many runs are looked at where none sticks out.
const maxWorst = 5

// badRuns gives the flagged runs on the bad side, or else the worst fifth:
// what differs between good and bad runs is of interest even where none sticks
// out.
func badRuns(values []float64, flagged []int, better metric.Direction) []int {
	worst := values // first, when they ascend
	if better != metric.Higher {
		worst = make([]float64, len(values))
		for i, v := range values {
			worst[i] = -v
		}
	}
	order := stats.Order(worst)
	isFlagged := make([]bool, len(values))
	for _, i := range flagged {
		isFlagged[i] = true
	}
	var out []int
	for _, i := range order[:len(order)/2] {
		if isFlagged[i] {
			out = append(out, int(i))
		}
	}
	if len(out) == 0 {
		for _, i := range order[:min(maxWorst, max(1, len(order)/5))] {
			out = append(out, int(i))
		}
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
	names := tr.counters.names()
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

// durations are the seconds that the runs of a cell lasted; nil where they are
// not recorded.
func (b *maker) durations(t *built, row int) []float64 {
	i, ok := b.data.workloads[t.Workload].index["wall"]
	if !ok {
		return nil
	}
	if m := t.group.treatments[row].lookup(i); slices.Equal(m.at, t.cell(row).at) {
		return m.values
	}
	return nil
}

// rates are a counter per second of its run. What adds up while a run lasts,
// timer ticks above all, is higher in every run that is slow for whatever
// reason: the number itself would be an effect and look like a cause.
func (c *counted) rates(seconds []float64) []float64 {
	if isLevel(c.name) || seconds == nil {
		return c.values
	}
	out := make([]float64, len(c.values))
	for i, v := range c.values {
		if out[i] = v; seconds[i] > 0 {
			out[i] /= seconds[i]
		}
	}
	return out
}

// judge relates a counter to the values of the same runs.
func (c *counted) judge(values *stats.Ranking, seconds []float64, better metric.Direction, slow []SlowRun) (*Cause, error) {
	rates := c.rates(seconds)
	r, err := values.Correlate(rates)
	if err != nil {
		return nil, err
	}
	if better == metric.Higher {
		r.R.V = -r.R.V
	}
	cause := &Cause{Counter: c.name, Words: counterWords(c.name), R: r.R, P: r.P, PerSecond: !isLevel(c.name) && seconds != nil}
	isSlow := make([]bool, len(c.values))
	for _, s := range slow {
		isSlow[s.Number-1] = true
	}
	least := func(xs []float64) float64 { // of the slow runs: that of the one that differs least
		out := xs[slow[0].Number-1]
		for _, s := range slow[1:] {
			if x := xs[s.Number-1]; r.R.V < 0 {
				out = max(out, x)
			} else {
				out = min(out, x)
			}
		}
		return out
	}
	rest, restRates := others(c.values, isSlow), others(rates, isSlow)
	cause.InSlow, cause.inSlowRate = least(c.values), least(rates)
	median, err := stats.Median(rest)
	if err != nil {
		return nil, err
	}
	rate, err := stats.Median(restRates)
	cause.Median, cause.medianRate, cause.most = median.V, rate.V, slices.Max(rest)
	cause.standsOut = r.R.V > 0 && !isLevel(c.name) && cause.InSlow >= leastStanding(c.name) &&
		cause.InSlow >= 2*cause.most && cause.inSlowRate >= 2*slices.Max(restRates)
	return cause, err
}

// leastStanding is the count, or the time in seconds, below which nothing
// stands out: next to no interrupt at all every single one would.
func leastStanding(counter string) float64 {
	if strings.HasSuffix(counter, "_seconds") {
		return 0.001
	}
	return 10
}

func others(xs []float64, not []bool) []float64 {
	out := make([]float64, 0, len(xs))
	for i, v := range xs {
		if !not[i] {
			out = append(out, v)
		}
	}
	return out
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

// badWords name the bad side of a metric: "slow", and "the slower".
func badWords(better metric.Direction) (bad, worse string) {
	switch better {
	case metric.Higher:
		return "low", "lower"
	case metric.Unknown:
		return "high", "higher"
	}
	return "slow", "slower"
}

// bare takes the unit from the words of a counter.
func bare(words string) string {
	for unit, kind := range map[string]string{"s of ": "", "Hz of ": "", "s stolen": "time stolen"} {
		if rest, ok := strings.CutPrefix(words, unit); ok {
			return kind + rest
		}
	}
	return words
}

// line is the attribution for a person: "jitter/unpinned: runs 3 and 7 are
// slow; both had 40+ involuntary switches (median 1; …)".
func (a *Attribution) line(better metric.Direction) string {
	bad, worse := badWords(better)
	head := fmt.Sprintf("%s: %s %s %s", a.Label, a.numbers(), map[bool]string{true: "is", false: "are"}[len(a.Slow) == 1], bad)
	if !a.Apart {
		head = fmt.Sprintf("%s: no run sticks out on the %s side", a.Label, bad)
	}
	sure := a.sure()
	if len(sure) == 0 && a.Standing != nil {
		return head + "; " + a.Standing.standingWords(len(a.Slow), a.Counters)
	}
	if len(sure) == 0 {
		return fmt.Sprintf("%s; none of %d %s is sure to go with %s runs (rank correlation)", head, a.Counters, plural(a.Counters, "counter"), bad)
	}
	var parts []string
	for _, c := range sure {
		parts = append(parts, c.words(len(a.Slow), a.Counters, a.Apart, worse))
	}
	return head + "; " + strings.Join(parts, "; ")
}

// numbers names the slow runs: "runs 3 and 7".
func (a *Attribution) numbers() string {
	numbers := make([]string, len(a.Slow))
	for i, s := range a.Slow {
		numbers[i] = strconv.Itoa(s.Number)
	}
	return plural(len(a.Slow), "run") + " " + enumerate(numbers)
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

// who stands for the slow runs in a sentence.
func who(slow int) string {
	if w := map[int]string{1: "it", 2: "both"}[slow]; w != "" {
		return w
	}
	return "all of them"
}

// words says how the slow runs differ in one counter, and how sure that is.
// Counts are told, rates are judged.
func (c *Cause) words(slow, examined int, apart bool, worse string) string {
	less := c.R.V < 0
	bound := "+"
	switch {
	case slow == 1:
		bound = ""
	case less:
		bound = " or less"
	}
	of, rate := "", ""
	if c.PerSecond {
		of, rate = " of the number per second", " per second"
	}
	sure := fmt.Sprintf("%.2f, p_adj %s over %d %s)", c.R.V, stats.FormatP(c.PAdj.V), examined, plural(examined, "counter"))
	differ := c.InSlow > c.Median && c.inSlowRate > c.medianRate
	if less {
		differ = c.InSlow < c.Median && c.inSlowRate < c.medianRate
	}
	if apart && differ {
		return fmt.Sprintf("%s had %s%s %s (median of the others %s; rank correlation%s %s", who(slow), shortNumber(c.InSlow), bound, c.Words, shortNumber(c.Median), of, sure)
	}
	// Where the slow runs themselves do not differ, the trend over all runs is
	// all there is to tell.
	word := "more"
	if less {
		word = "less"
	}
	return fmt.Sprintf("the %s a run, the %s %s%s (rank correlation %s", worse, word, bare(c.Words), rate, sure)
}

// standingWords tell of a counter that no test can be sure of.
func (c *Cause) standingWords(slow, examined int) string {
	bound := "+"
	if slow == 1 {
		bound = ""
	}
	return fmt.Sprintf("%s had %s%s %s, no other run more than %s (seen, not tested: the plainest of %d %s)", who(slow), shortNumber(c.InSlow), bound, c.Words, shortNumber(c.most), examined, plural(examined, "counter"))
}

// shortNumber writes a count or a time as a person would say it.
func shortNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return strconv.Itoa(int(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
