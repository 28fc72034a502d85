package report

import (
	"goset/harness"
	"goset/stats"
)

// Document is everything that a report says, as values: the inks only print
// it. The order of its fields is the order in which a reader needs them.
type Document struct {
	Experiment, Title string
	// SelfCheck stands above all else when it failed: nothing below holds then.
	SelfCheck SelfCheck
	// Headlines say what the runs show; none: nothing is compared. Disturbed is
	// what went with slow runs; nil: nothing was counted.
	Headlines []Headline
	Disturbed *Headline
	// Minds sum up what the notes of the tables warn of.
	Minds []string
	// Suite has the claims over several workloads.
	Suite []SuiteClaim
	// Tables carry their own contrasts, attributions and notes.
	Tables []Table
	// Gates are the comparisons judged by Options.FailOn, and GateBasis says what
	// they go by, how many there are, and how many would fail by chance; "": no
	// bound was asked for.
	Gates     []Gate
	GateBasis string
	// GateFault says which bounds are about nothing here; nil: none.
	GateFault error
	// Rules are the twelve of Hoefler and Belli, judged on this document.
	Rules []Rule
	// Facts say how and on what machine the runs were made, in reading order.
	Facts []Fact
	// Scope is the sentence under every table that says what the intervals
	// cover and what they do not.
	Scope string
	// Modes says in a sentence what each mode does, since one name can stand for
	// other layers in another experiment; "": no mode does anything.
	Modes string
	// Notes are about the whole: that the runs stopped early, say.
	Notes []string
	// Manifest is nil for figures that were taken elsewhere.
	Manifest *harness.Manifest
}

// Contrast is a row of a table against another one, usually its baseline.
type Contrast struct {
	Row, Base int // indices into Table.Rows
	// X and Y name the rows: "goset n=2", "unpinned".
	X, Y string
	// Control is set between the baseline and its own repetition, where any
	// verdict is a failed self-check.
	Control bool
	// Same is set between two builds that are one binary, byte for byte: there
	// is no difference to find, so it is no comparison of its family, and makes
	// no headline, no hint and no failed bound.
	Same bool
	// Comparison has every number and, in Location.Verdict and
	// Spread.Verdict, what they support in words, after Holm.
	stats.Comparison
	// Sensitivity says whether a verdict hangs on the flagged runs.
	Sensitivity stats.Sensitivity
	// MedianGrade and SpreadGrade say how far the two verdicts carry.
	MedianGrade, SpreadGrade Appraisal
}

// judged says that the contrast may show a difference between two things.
func (c *Contrast) judged() bool { return !c.Control && !c.Same }

// VerdictLine is one finding under a table: "goset against unpinned: lower
// spread (0.42×, …)".
type VerdictLine struct {
	Contrast int    // index into Table.Contrasts
	About    string // "median" or "spread"
	Estimate string // what was estimated: "median change within rounds"
	X, Y     string
	// Claim is set where the finding asserts a difference: inks make it bold.
	Claim bool
	// Better is +1 where the difference is a gain, −1 where it is a loss, and 0
	// where there is none or the metric has no good direction.
	Better int
	Text   string // stats.Verdict.Text
	// Appraisal says how far it carries: inks that can show a doubt beside it.
	Appraisal
}

// Contrasts are those of all tables, in their order.
func (d *Document) Contrasts() []*Contrast {
	var out []*Contrast
	for i := range d.Tables {
		for j := range d.Tables[i].Contrasts {
			out = append(out, &d.Tables[i].Contrasts[j])
		}
	}
	return out
}

// Attributions are those of all tables, in their order.
func (d *Document) Attributions() []*Attribution {
	var out []*Attribution
	for i := range d.Tables {
		for j := range d.Tables[i].Attributions {
			out = append(out, &d.Tables[i].Attributions[j])
		}
	}
	return out
}

// SelfCheck is the finding of the A/A comparisons: the baseline against its
// own repetition in the same blocks.
type SelfCheck struct {
	Ran bool
	// Comparisons is the number of A/A comparisons, each of median and spread.
	Comparisons int
	// Failed lists every verdict that asserts a difference where there is none.
	Failed []string
	// Narrow lists those that came near: significant before Holm's correction,
	// or without the flagged runs.
	Narrow []string
	// Dependent names the rows whose runs are flagged as dependent on each
	// other, by drift or by correlation: "jitter: time/goset".
	Dependent []string
	Text      string // the whole in one sentence, also where it did not run
}

// SuiteClaim is what holds for a mode over all workloads.
type SuiteClaim struct {
	Condition string
	X, Y      string   // "goset n=2", "unpinned"
	Workloads []string // the tables that it is over: "jitter: time"
	Blocks    int      // blocks that all of them have
	Dropped   int      // blocks that some of them lack
	stats.SuiteSpread
	// AveragePAdj, LowerPAdj and HigherPAdj are the p-values of SuiteSpread after
	// Holm over the claims of the document, each kind a family.
	AveragePAdj, LowerPAdj, HigherPAdj stats.Value
	// Sweep is the chance of being lowest on all workloads when all modes are
	// alike: it means something only if this was asked before looking.
	Sweep stats.Value
	// Lowest is set where the sd of X is the lowest of all modes on every one.
	Lowest bool
	// Average and Every are the two claims in words. Claim is set where the
	// words assert a difference.
	AverageText, EveryText   string
	AverageClaim, EveryClaim bool

	levels []string // the workloads on which the sd may follow the level: see followsLevel
}

// Attribution says for one row which runs were bad and what differs in them.
type Attribution struct {
	Row   int // index into Table.Rows
	Label string
	Slow  []SlowRun
	// Apart is set where the slow runs are flagged ones; else they are only the
	// worst of a cell in which none sticks out.
	Apart  bool
	Causes []Cause // the strongest first; none: nothing in the counters goes with it
	// Standing is a counter that sets the slow runs apart at sight where no
	// test is sure of any; nil: there is none.
	Standing *Cause
	Counters int    // that were examined
	Text     string // in one line
	// Notable is set where a run sticks out or a counter is sure to go with the
	// values; the inks for people leave the others out.
	Notable bool
}

// SlowRun is a run on the bad side of its cell.
type SlowRun struct {
	Run, Block int
	Number     int // its place in the cell, from 1
	Value      float64
}

// Cause is a counter that goes with the values of a cell.
type Cause struct {
	Counter string // its name in the record
	Words   string // for people: "involuntary context switches"
	// R is Spearman's correlation of the value with the counter per second of
	// the run (with the counter itself where PerSecond is false), turned so that
	// above 0 is "more of it in worse runs". PAdj is after Holm over the counters
	// of the cell.
	R, P, PAdj stats.Value
	PerSecond  bool
	InSlow     float64 // the least of it among the slow runs
	Median     float64 // over the other runs

	inSlowRate, medianRate float64 // the same two, per second
	most                   float64 // over the other runs
	standsOut              bool    // the slow runs have twice as much as any other
}

// Rule is one of Hoefler and Belli's twelve, judged.
type Rule struct {
	Number int
	Name   string
	Status RuleStatus
	Reason string
}

// RuleStatus is the judgement of a rule.
type RuleStatus string

// The judgements.
const (
	RulePass          RuleStatus = "pass"
	RuleFail          RuleStatus = "fail"
	RuleNotApplicable RuleStatus = "not applicable"
)

// Fact is one line about how the runs were made.
type Fact struct{ Name, Value string }
