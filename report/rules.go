package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// rulesOf judges a document by the twelve rules of Hoefler and Belli
// (Scientific benchmarking of parallel computing systems, SC 2015). A rule that
// the inks keep by construction passes with what keeps it; one that needs
// knowledge that nobody recorded fails and says what to record.
func rulesOf(doc *Document, d *Data, opts Options) []Rule {
	j := judge{doc: doc, data: d, opts: opts}
	names := []struct {
		name string
		of   func() (RuleStatus, string)
	}{
		{"state the base of every ratio", j.base},
		{"show all data, or say why not", j.allData},
		{"arithmetic mean for costs, harmonic for rates", j.rightMean},
		{"no means of ratios", j.noMeanOfRatios},
		{"say what is deterministic; intervals for the rest", j.intervals},
		{"no normality without a check", j.normality},
		{"compare soundly", j.soundComparison},
		{"use the quantile that the question needs", j.quantile},
		{"document the set-up", j.setup},
		{"say how parallel times are taken", j.parallel},
		{"show bounds", j.bounds},
		{"plot honestly", j.plots},
	}
	var out []Rule
	for i, r := range names {
		status, reason := r.of()
		out = append(out, Rule{Number: i + 1, Name: r.name, Status: status, Reason: reason})
	}
	return out
}

type judge struct {
	doc  *Document
	data *Data
	opts Options
}

// rows yields every row with its table.
func (j *judge) rows(yield func(*Table, *Row) bool) {
	for i := range j.doc.Tables {
		t := &j.doc.Tables[i]
		for k := range t.Rows {
			if !yield(t, &t.Rows[k]) {
				return
			}
		}
	}
}

func (j *judge) base() (RuleStatus, string) {
	ratios, missing := 0, names{}
	for t, r := range j.rows {
		if r.Base || !r.MedianRatio.OK && !r.SDRatio.OK {
			continue
		}
		ratios++
		if !r.Summary.Median.OK {
			missing.add(t.Name() + "/" + r.Label())
		}
		if t.Metric.Unit == "" && !countLike(t.Metric) {
			missing.add("unit of " + t.Workload + ": " + t.Metric.Name)
		}
	}
	switch {
	case ratios == 0:
		return RuleNotApplicable, "no ratio is shown"
	case len(missing.list) > 0:
		return RuleFail, "missing beside a ratio: " + strings.Join(missing.list, ", ") + " (unit = \"…\" in the metric)"
	}
	return RulePass, fmt.Sprintf("%d ratios, each beside both medians with their unit", ratios)
}

// countLike tells a count, whose missing unit is no omission.
func countLike(m metric.Metric) bool {
	return slices.ContainsFunc(harness.BaseMetrics(), func(b metric.Metric) bool { return b.Name == m.Name && b.Unit == "" }) || m.Found
}

func (j *judge) allData() (RuleStatus, string) {
	var c Counts
	missing := 0
	for _, t := range j.data.treatments {
		c.add(t.counts)
		if t.counts.Kept == 0 {
			missing++
		}
	}
	hidden := 0
	for _, w := range j.data.workloads {
		hidden += len(w.metrics)
	}
	seen := names{}
	for i := range j.doc.Tables {
		seen.add(j.doc.Tables[i].Workload + "\x00" + j.doc.Tables[i].Metric.Name)
	}
	hidden -= len(seen.list)
	if missing > 0 {
		return RuleFail, fmt.Sprintf("%d of %d treatments have no kept run", missing, len(j.data.treatments))
	}
	reason := fmt.Sprintf("all %d treatments are shown; %d void and %d failed runs are counted and their reasons listed; outliers are flagged, none dropped", len(j.data.treatments), c.Void, c.Failed)
	if hidden > 0 {
		reason += fmt.Sprintf("; %d further metrics are in summary.csv and behind -all", hidden)
	}
	return RulePass, reason
}

func (j *judge) rightMean() (RuleStatus, string) {
	for i := range j.doc.Tables {
		if j.doc.Tables[i].Metric.Better == metric.Higher {
			return RulePass, "tables show medians, which rates and times have alike; the mean of a rate is in summary.csv only, for its CV"
		}
	}
	return RulePass, "tables show medians; the means behind the CV are of costs"
}

func (j *judge) noMeanOfRatios() (RuleStatus, string) {
	if len(j.doc.Suite) == 0 {
		return RuleNotApplicable, "nothing is summed up over workloads"
	}
	return RulePass, "over workloads only sd ratios are summed up, which have no common cost, by their geometric mean, and it is called so"
}

func (j *judge) intervals() (RuleStatus, string) {
	var without, constant names
	cells := 0
	for t, r := range j.rows {
		cells++
		name := t.Name() + ", " + t.Metric.Name + "/" + r.Label()
		switch s := &r.Summary; {
		case s.Deterministic:
			constant.add(name)
		case !s.MedianCI.OK:
			without.add(name)
		}
	}
	if len(without.list) > 0 {
		return RuleFail, fmt.Sprintf("%d of %d cells are too small for an interval (6 runs or more): %s", len(without.list), cells, enumerate(without.list))
	}
	reason := fmt.Sprintf("%d cells have an exact interval of the median", cells-len(constant.list))
	if len(constant.list) > 0 {
		reason += fmt.Sprintf("; %d are deterministic and said to be", len(constant.list))
	}
	return RulePass, reason
}

func (j *judge) normality() (RuleStatus, string) {
	return RulePass, "every interval and test is distribution-free, but for the sd intervals, which are Bonett's and made for any kurtosis; what so many runs resolve or would need is said for normal ones"
}

func (j *judge) soundComparison() (RuleStatus, string) {
	n, unresolved, hints := 0, 0, 0
	for _, c := range j.doc.Contrasts() {
		n += 2
		for _, a := range []Appraisal{c.MedianGrade, c.SpreadGrade} {
			if a.Grade == Hint {
				hints++
			}
		}
		for _, v := range []stats.Verdict{c.Location.Verdict, c.Spread.Verdict} {
			if !v.Claims() {
				unresolved++
			}
		}
	}
	switch {
	case n == 0:
		return RuleNotApplicable, "nothing is compared"
	case len(j.doc.SelfCheck.Failed) > 0:
		return RuleFail, "the self-check failed: the baseline differs from its own repetition"
	case j.opts.Unblocked && j.opts.Manifest != nil:
		return RuleFail, "the runs are in sequential order: what drifts with time looks like an effect of the mode (order = \"shuffled\")"
	}
	reason := fmt.Sprintf("%d verdicts, each by its test within blocks and Holm's correction, with effect and interval; %d of them say that nothing is resolved", n, unresolved)
	if hints > 0 {
		reason += fmt.Sprintf("; %d %s a hint only, with the doubt beside it", hints, map[bool]string{true: "is", false: "are"}[hints == 1])
	}
	return RulePass, reason
}

func (j *judge) quantile() (RuleStatus, string) {
	short := names{}
	any := false
	for t, r := range j.rows {
		if r.Iterations.N == 0 {
			continue
		}
		any = true
		if !r.Iterations.P99.OK {
			short.add(t.Name() + "/" + r.Label())
		}
	}
	switch {
	case !any:
		return RulePass, "the median is shown: no metric is about a tail"
	case len(short.list) > 0:
		return RulePass, "the median is shown; too few iterations for a 99% quantile, which is left out: " + enumerate(short.list)
	}
	return RulePass, "the median of the runs, and beside it the tails of their iterations"
}

func (j *judge) setup() (RuleStatus, string) {
	m := j.opts.Manifest
	if m == nil {
		return RuleFail, "the figures were taken elsewhere: machine, toolchain and order are not recorded"
	}
	var missing []string
	for _, f := range []struct{ name, value string }{
		{"experiment", m.Text}, {"tool", m.Tool}, {"toolchain", m.Toolchain}, {"platform", m.Platform}, {"host facts", string(m.Host)},
	} {
		if f.value == "" || f.value == "null" {
			missing = append(missing, f.name)
		}
	}
	if len(missing) > 0 {
		return RuleFail, "not recorded: " + enumerate(missing)
	}
	facts := 0
	for _, f := range j.doc.Facts {
		if strings.HasPrefix(f.Name, hostPrefix) {
			facts++
		}
	}
	return RulePass, fmt.Sprintf("the manifest has the experiment, seed %d, tool, toolchain, every treatment and %d facts about the machine", m.Seed, facts)
}

// parallel looks for a factor that is a number of threads or CPUs.
func (j *judge) parallel() (RuleStatus, string) {
	for _, f := range j.data.factors.list {
		if f == "n" || strings.Contains(f, "thread") || strings.Contains(f, "procs") {
			return RulePass, "wall is from the exec of a process to the end of its last thread; kernels start their threads together and time the slowest"
		}
	}
	return RuleNotApplicable, "no number of threads or CPUs varies; wall is from the exec of a process to the end of its last thread"
}

func (j *judge) bounds() (RuleStatus, string) {
	return RuleNotApplicable, "no metric declares an upper bound"
}

func (j *judge) plots() (RuleStatus, string) {
	return RulePass, "plots show every run as a point; nothing is joined by lines across modes"
}

// RulesText writes the judged rules for a terminal.
func RulesText(w io.Writer, d *Document, opts TextOptions) error {
	p := newTextInk(w, opts)
	p.wrapped("", "  ", "The twelve rules of Hoefler and Belli (SC 2015)", bold)
	for _, r := range d.Rules {
		style := map[RuleStatus]string{RuleFail: red, RuleNotApplicable: dim}[r.Status]
		p.wrapped("", "    ", fmt.Sprintf("%2d  %s: %s", r.Number, r.Name, r.Status), style)
		p.wrapped("    ", "    ", r.Reason, dim)
	}
	return p.w.Flush()
}
