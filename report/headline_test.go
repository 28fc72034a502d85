package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

func found(v float64) stats.Value { return stats.Value{V: v, OK: true} }

// asserted is a contrast of row 1 against row 0 whose median and spread are
// both asserted.
func asserted(kind stats.VerdictKind, change, ratio float64) Contrast {
	c := Contrast{Row: 1, Base: 0, X: "x", Y: "base"}
	c.N, c.M = 12, 12
	c.Location.Change, c.Location.CI = found(change), stats.Interval{Lo: change - 0.01, Hi: change + 0.01, OK: true}
	c.Location.P, c.Location.PAdj, c.Location.Verdict = found(0.001), found(0.002), stats.Verdict{Kind: kind, Text: "median text"}
	c.Spread.Ratio, c.Spread.CI = found(ratio), stats.Interval{Lo: ratio / 1.3, Hi: ratio * 1.3, OK: true}
	c.Spread.P, c.Spread.PAdj, c.Spread.Verdict = found(0.001), found(0.002), stats.Verdict{Kind: kind, Text: "spread text"}
	return c
}

// quiet is the control: a change and an sd ratio that nothing is said of.
func quiet(change, ratio float64) Contrast {
	c := asserted(stats.NotResolved, change, ratio)
	c.Row, c.X, c.Control = 2, "base#2", true
	c.Location.P, c.Spread.P = found(0.4), found(0.4)
	return c
}

func tableOf(better metric.Direction, cs ...Contrast) Table {
	rows := make([]Row, 3)
	for i, mode := range []string{"base", "x", "base#2"} {
		rows[i].Mode = mode
		rows[i].Summary.CV = found(0.01)
	}
	return Table{Workload: "w", Metric: metric.Metric{Name: "time", Unit: "s", Better: better, Shown: true}, Rows: rows, Contrasts: cs}
}

// TestAppraise: what makes a claim a hint, and what does not.
func TestAppraise(t *testing.T) {
	for _, c := range []struct {
		name           string
		edit           func(*Document)
		spread, median string // a part of the doubt; "": clear
	}{
		{"nothing against it", func(*Document) {}, "", ""},
		{"the interval holds no difference", func(d *Document) {
			k := &d.Tables[0].Contrasts[0]
			k.Spread.CI.Hi, k.Location.CI.Hi = 1.6, 0.02
		}, "holds 1, so the sd could also be larger", "holds 0"},
		{"without an interval the test stands alone", func(d *Document) {
			k := &d.Tables[0].Contrasts[0]
			k.Spread.CI, k.Location.CI = stats.Interval{}, stats.Interval{}
		}, "", ""},
		{"flagged runs", func(d *Document) {
			k := &d.Tables[0].Contrasts[0]
			k.FlaggedX, k.FlaggedY = []int{1}, []int{2, 3}
			k.Sensitivity = stats.Sensitivity{SpreadChanges: true}
		}, "without 3 flagged runs the verdict changes", ""},
		{"a control as far away", func(d *Document) { d.Tables[0].Contrasts = append(d.Tables[0].Contrasts, quiet(0.04, 1.9)) },
			"base's own repetition differs comparably, sd 1.90×", "base's own repetition differs comparably, +4.0%"},
		{"a control that is near 1", func(d *Document) { d.Tables[0].Contrasts = append(d.Tables[0].Contrasts, quiet(0.01, 1.1)) }, "", ""},
		{"a wild cell", func(d *Document) { d.Tables[0].Rows[0].Summary.CV = found(0.2) }, "", "CV above 10% of base"},
		{"a failed self-check", func(d *Document) { d.SelfCheck.Failed = []string{"it"} }, "self-check failed", "self-check failed"},
	} {
		d := &Document{Tables: []Table{tableOf(metric.Lower, asserted(stats.LowerVerdict, -0.05, 0.4))}}
		c.edit(d)
		d.appraise(false)
		k := &d.Tables[0].Contrasts[0]
		for _, q := range []struct {
			what string
			got  Appraisal
			want string
		}{{"spread", k.SpreadGrade, c.spread}, {"median", k.MedianGrade, c.median}} {
			text := strings.Join(q.got.Doubts, "; ")
			if q.want == "" && (q.got.Grade != Clear || text != "") || q.want != "" && (q.got.Grade != Hint || !strings.Contains(text, q.want)) {
				t.Errorf("%s, %s: %s with doubts %q, want %q", c.name, q.what, q.got.Grade, text, q.want)
			}
		}
	}
	d := &Document{Tables: []Table{tableOf(metric.Lower, asserted(stats.LowerVerdict, -0.05, 0.4), quiet(0.04, 1.9))}}
	d.appraise(true)
	if k := d.Tables[0].Contrasts; k[0].SpreadGrade.Grade != Hint || k[1].SpreadGrade.Grade != Open || len(k[1].SpreadGrade.Doubts) != 0 {
		t.Errorf("in sequential order %+v, and the control %+v", k[0].SpreadGrade, k[1].SpreadGrade)
	}
}

// TestHeadlines: what is clear is said plainly, what is a hint with its doubt,
// in the direction of the metric, and what is not known as such.
func TestHeadlines(t *testing.T) {
	lines := func(ts ...Table) string {
		d := &Document{Tables: ts}
		d.appraise(false)
		var out []string
		for _, h := range d.headlines(false) {
			out = append(out, fmt.Sprintf("%s %+d %s", h.Grade, h.Better, h.Text))
		}
		return strings.Join(out, "\n")
	}
	named := func(workload string, t Table) Table {
		t.Workload = workload
		return t
	}
	hint := asserted(stats.LowerVerdict, -0.05, 0.4)
	hint.Spread.CI.Hi = 1.5
	none := asserted(stats.NotResolved, 0.01, 1.1)
	none.Spread.Resolves = found(0.4)
	levels := func(ratio, p float64) Contrast {
		c := asserted(stats.LowerVerdict, -0.75, 0.2)
		c.Alpha, c.Spread.Relative = 0.05, &stats.RelativeSpread{Ratio: found(ratio), P: found(p)}
		return c
	}
	few := asserted(stats.NoClaim, 0.01, 1.1)
	few.N, few.M = 3, 4
	same := none
	same.Spread.Verdict = stats.Verdict{Kind: stats.EquivalentVerdict, Text: "equivalent spread (1.01×)"}
	for _, c := range []struct {
		name, got string
		want      []string
		never     string
	}{
		{"clear, lower is better", lines(tableOf(metric.Lower, asserted(stats.LowerVerdict, -0.05, 0.4))), []string{
			"clear +1 x is steadier than base on w: time, sd 0.40× (95% 0.31–0.52, p_adj 0.002).",
			"clear +1 x is better than base on w: time, median change -5.0% (95% -6.0% to -4.0%, p_adj 0.002)."}, "not resolved"},
		{"the sd follows the level", lines(tableOf(metric.Lower, levels(0.98, 0.9))), []string{
			"hint +1 Hint: x is lower in sd than base on w: time, sd 0.20× (", "Caution: the median differs too, and relative to it the sd ratio is 0.98× (p 0.900)."}, "steadier than"},
		{"steadier than the level", lines(tableOf(metric.Lower, levels(0.5, 0.001))), []string{"clear +1 x is steadier than base on w"}, "hint"},
		{"less steady relative to the level", lines(tableOf(metric.Lower, levels(1.9, 0.001))), []string{"hint +1 Hint: x is lower in sd than base"}, "steadier than"},
		{"clear, higher is better", lines(tableOf(metric.Higher, asserted(stats.LowerVerdict, -0.05, 0.4))), []string{
			"clear +1 x is steadier than base", "clear -1 x is worse than base"}, "hint"},
		{"no good direction", lines(tableOf(metric.Unknown, asserted(stats.HigherVerdict, 0.05, 2))), []string{
			"clear -1 x is less steady than base", "clear +0 x is higher than base"}, "better"},
		{"a hint beside a clear one", lines(named("a", tableOf(metric.Lower, hint)), named("b", tableOf(metric.Lower, none))), []string{
			"open +0 Steadiness: on no single workload is a mode steadier or less steady for certain.",
			"hint +1 Hint: x is steadier than base on a: time, sd 0.40× (95% 0.31–1.50, p_adj 0.002). Caution: the interval of the sd ratio holds 1, so the sd could also be larger.",
			"clear +1 x is better than base on a: time", "open +0 The median against base not resolved: x on 1 of 2 workloads."}, "Steadiness against"},
		{"nothing", lines(tableOf(metric.Lower, none)), []string{
			"open +0 No difference between the modes is resolved by these runs: neither in steadiness nor in the median. That is no proof that there is none: n = 12 resolves sd ratios ≤ 0.40 or ≥ 2.50."}, "\n"},
		{"too few", lines(tableOf(metric.Lower, few)), []string{"open +0 Too few runs for any claim: 3 runs cannot resolve anything; take 6 or more"}, "\n"},
		{"the same, as was asked", lines(tableOf(metric.Lower, same)), []string{"clear +0 x against base on w: time: equivalent spread (1.01×)."}, "Steadiness"},
		{"only a control", lines(tableOf(metric.Lower, quiet(0, 1))), nil, "x"},
		{"nothing is compared", lines(tableOf(metric.Lower)), nil, "x"},
	} {
		for _, w := range c.want {
			if !strings.Contains(c.got, w) {
				t.Errorf("%s: lacks %q:\n%s", c.name, w, c.got)
			}
		}
		if strings.Contains(c.got, c.never) {
			t.Errorf("%s: has %q:\n%s", c.name, c.never, c.got)
		}
	}
	var many []Table
	for i := range 6 {
		many = append(many, named(fmt.Sprint("w", i), tableOf(metric.Lower, asserted(stats.LowerVerdict, -0.05, 0.4))))
	}
	if got := lines(many...); !strings.Contains(got, "w3") || strings.Contains(got, "w4") || !strings.Contains(got, "and on 2 more") {
		t.Errorf("of six workloads: %s", got)
	}
}

// TestHeadlinesWhole: the same from records, and with claims over all workloads.
func TestHeadlinesWhole(t *testing.T) {
	doc := compared{n: 20, shift: -0.05, scale: 0.2}.document(t)
	var clear []string
	for _, h := range doc.Headlines {
		if h.Grade == Clear && h.Better == 1 {
			clear = append(clear, h.Text)
		}
		if h.Grade == Hint {
			t.Errorf("a hint: %s", h.Text)
		}
	}
	if len(clear) != 3 || !strings.HasPrefix(clear[0], "goset is steadier than unpinned on jitter: time, sd 0.") || !strings.Contains(clear[0], "; on chase: time, sd 0.") {
		t.Errorf("what is clear: %q", clear)
	}
	if !slices.ContainsFunc(doc.Headlines, func(h Headline) bool {
		return h.Suite && strings.HasPrefix(h.Text, "goset is steadier than unpinned on every one of 2 workloads (geometric mean of the sd ratios 0.")
	}) {
		t.Errorf("no claim over all workloads: %+v", doc.Headlines)
	}
	if slices.ContainsFunc(doc.sentences(), func(h Headline) bool { return h.Suite }) {
		t.Error("a claim over all workloads stands twice in the text")
	}
}

// TestSelfCheckNarrow: a control that is significant before Holm's correction,
// or without the flagged runs, has not failed and is told.
func TestSelfCheckNarrow(t *testing.T) {
	a, b := quiet(0.02, 1.1), quiet(0.01, 1.2)
	a.Location.P = found(0.03)
	b.Sensitivity.SpreadChanges = true
	var s SelfCheck
	tb := tableOf(metric.Lower)
	for _, c := range []Contrast{a, b} {
		s.judge(&tb, &c, &c.Location.Verdict, c.Location.P, c.Sensitivity.LocationChanges, "median +2%")
		s.judge(&tb, &c, &c.Spread.Verdict, c.Spread.P, c.Sensitivity.SpreadChanges, "sd 1.2×")
	}
	want := []string{"w, time: base against itself: median +2%, p 0.030 before Holm's correction", "w, time: base against itself: sd 1.2×, resolved without the flagged runs, before Holm's correction"}
	if len(s.Failed) != 0 || !slices.Equal(s.Narrow, want) {
		t.Errorf("failed %q, narrow %q", s.Failed, s.Narrow)
	}
	if text := s.words(false, 3); !strings.Contains(text, "passed") || !strings.HasSuffix(text, "; 2 of them came near") {
		t.Errorf("%q", text)
	}
}

// TestSelfCheckDependent: a check that passes says of which runs it was flagged
// that they depend on each other.
func TestSelfCheckDependent(t *testing.T) {
	doc := compared{n: 12, scale: 1, edit: func(r *harness.Record) {
		if r.Mode == "taskset" && r.Workload == "chase" {
			r.Values["time"] *= 1 + 0.02*float64(r.Block)
		}
	}}.document(t)
	s := &doc.SelfCheck
	if !slices.Equal(s.Dependent, []string{"chase: time/taskset"}) {
		t.Fatalf("dependent: %q", s.Dependent)
	}
	want := "; in 1 of 8 cells the runs depend on each other (drift or correlation, p < 0.01), which the intervals over runs do not allow for: chase: time/taskset"
	if !strings.Contains(s.Text, ": passed: ") || !strings.HasSuffix(s.Text, want) {
		t.Errorf("%q, want %q at its end", s.Text, want)
	}
	lead := doc.lead()
	if i := slices.IndexFunc(lead, func(l viewLine) bool { return l.Text == s.Text }); i < 0 || lead[i].Tone != cautious {
		t.Errorf("the lines are %+v", lead)
	}
	if s = &(compared{n: 12, scale: 1}).document(t).SelfCheck; len(s.Dependent) != 0 || strings.Contains(s.Text, "depend") {
		t.Errorf("of independent runs: %q", s.Text)
	}
}

// TestAttributionDirection: what grows with the duration of a run, and what
// slow runs have less of, is not told as going with them.
func TestAttributionDirection(t *testing.T) {
	doc := compared{n: 12, scale: 1, edit: func(r *harness.Record) {
		wall := 100 * r.Values["time"] // fixed work: slow runs last longer
		r.Values["wall"] = wall
		r.Values["involuntary-switches"] = 0
		r.Counters = map[string]float64{harness.CounterRow + "LOC": 250 * wall, harness.CounterDelay: 1 / wall, harness.CounterFrequency: 3e9 / wall}
	}}.document(t)
	for _, a := range doc.Attributions() {
		if len(a.Causes) != 1 || a.Causes[0].Counter != harness.CounterFrequency || a.Causes[0].R.V > -0.99 {
			t.Errorf("%s: causes %+v, want the frequency alone", a.Label, a.Causes)
		}
		if strings.Contains(a.Text, "LOC") || strings.Contains(a.Text, "waiting") {
			t.Errorf("%s", a.Text)
		}
	}
	if h := doc.Disturbed; h == nil || h.Grade != Clear || !strings.HasPrefix(h.Text, "With slow runs went: CPU frequency (jitter/unpinned)") {
		t.Errorf("the sentence is %+v", h)
	}
	// How long the runs lasted is not known: a count alone says nothing.
	doc = compared{n: 12, scale: 1, edit: func(r *harness.Record) {
		delete(r.Values, "wall")
		r.Counters = map[string]float64{harness.CounterRow + "LOC": r.Values["time"]}
	}}.document(t)
	if got := doc.Attributions(); len(got) != 0 {
		t.Errorf("without durations: %+v", got)
	}
}

// TestAttributionStanding: one slow run that has far more of something than any
// other is told, as seen and not as tested.
func TestAttributionStanding(t *testing.T) {
	doc := compared{n: 10, scale: 1, edit: func(r *harness.Record) {
		if r.Block == 4 && r.Mode == "taskset" && r.Workload == "chase" {
			r.Values["time"] *= 1.5
			r.Values["involuntary-switches"] = 900
		}
	}}.document(t)
	i := slices.IndexFunc(doc.Tables[1].Attributions, func(a Attribution) bool { return a.Label == "chase/taskset" })
	a := doc.Tables[1].Attributions[i]
	want := "chase/taskset: run 4 is slow; it had 900 involuntary switches, no other run more than 3 (seen, not tested: the plainest of 1 counter)"
	if a.Text != want {
		t.Errorf("got  %s\nwant %s", a.Text, want)
	}
	if h := doc.Disturbed; h.Grade != Hint || !strings.Contains(h.Text, "seen and not tested: involuntary switches (chase/taskset)") {
		t.Errorf("the sentence is %+v", h)
	}
}

// TestMinds: what notes warn of is summed up by who it is about.
func TestMinds(t *testing.T) {
	a, b, c := tableOf(metric.Lower), tableOf(metric.Lower), tableOf(metric.Lower)
	a.Workload, b.Workload, c.Workload = "a", "b", "c"
	a.Notes = []Note{{Text: "x", Rows: []int{0, 1, 2}, Topic: TopicSteady}, {Text: "y", Rows: []int{1}, Topic: TopicWild}}
	b.Notes = []Note{{Text: "z", Rows: []int{0, 1}, Topic: TopicSteady}, {Text: "zz", Rows: []int{2}, Topic: TopicSteady}, {Text: "of no topic", Rows: []int{0}}}
	c.Notes = []Note{{Text: "x", Rows: []int{1}, Topic: TopicSteady}}
	got := (&Document{Tables: []Table{a, b, c}}).minds()
	want := []string{"CV above 10%, do not compare: a (x)", "No steady state, the level of the iterations still changes late in a run: a and b (every mode); c (x)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
