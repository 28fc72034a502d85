package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"goset/harness"
	"goset/internal/texttab"
	"goset/metric"
	"goset/stats"
)

// compared has two workloads under three modes and a control, n blocks, with
// normal noise; shift and scale are those of goset against unpinned.
type compared struct {
	n                     int
	shift, scale, control float64 // control: the shift of the baseline's repetition
	edit                  func(*harness.Record)
}

func (c compared) build() *builder {
	b := &builder{}
	time := metric.Metric{Name: "time", Unit: "s", Show: "ms", Better: metric.Lower, Shown: true}
	rng := rand.New(rand.NewPCG(1, 2))
	modes := []string{"unpinned", "unpinned#2", "taskset", "goset"}
	var ts []int
	for _, w := range []string{"jitter", "chase"} {
		for _, m := range modes {
			ts = append(ts, b.treat(w, m, ""))
		}
	}
	for block := range c.n {
		place := rng.Perm(len(ts))
		for i, t := range ts {
			scale, shift := 1.0, 0.0
			switch modes[i%4] {
			case "goset":
				scale, shift = c.scale, c.shift
			case "unpinned#2":
				shift = c.control
			}
			v := 0.010 * (1 + shift + 0.01*scale*rng.NormFloat64())
			b.run(t, block+1, map[string]float64{"time": v, "wall": 100*v + 0.1, "involuntary-switches": float64(1 + rng.IntN(3))},
				describe(time, metric.Metric{Name: "involuntary-switches", Better: metric.Lower}, metric.Metric{Name: "wall", Unit: "s", Better: metric.Lower}),
				func(r *harness.Record) {
					r.Position = place[i] + 1
					if c.edit != nil {
						c.edit(r)
					}
				})
		}
	}
	return b
}

func (c compared) document(t *testing.T) *Document {
	t.Helper()
	b := c.build()
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := d.Document(Options{Experiment: "x", Baseline: "unpinned", Treatments: b.treatments, ModeFactors: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func contrastOf(t *testing.T, doc *Document, table int, x string) *Contrast {
	t.Helper()
	for i := range doc.Tables[table].Contrasts {
		if c := &doc.Tables[table].Contrasts[i]; c.X == x {
			return c
		}
	}
	t.Fatalf("no contrast of %s", x)
	return nil
}

func TestDocumentOfFewRuns(t *testing.T) {
	for n := range 3 {
		doc := compared{n: n, scale: 1}.document(t)
		for _, c := range doc.Contrasts() {
			if c.Location.Verdict.Kind != stats.NoClaim || c.Spread.Verdict.Claims() {
				t.Errorf("n = %d: verdicts %q, %q", n, c.Location.Verdict.Text, c.Spread.Verdict.Text)
			}
		}
		if len(doc.Attributions()) > 0 || len(doc.SelfCheck.Failed) > 0 {
			t.Errorf("n = %d: attributions or a failed check out of nothing: %+v", n, doc.SelfCheck)
		}
		for _, s := range doc.Suite {
			if s.AverageClaim || s.EveryClaim {
				t.Errorf("n = %d: suite claims %q, %q", n, s.AverageText, s.EveryText)
			}
		}
		var out bytes.Buffer
		if err := TextDocument(&out, doc, TextOptions{}); err != nil || strings.Contains(out.String(), "NaN") {
			t.Errorf("n = %d: %v\n%s", n, err, out.String())
		}
		if err := JSONDocument(&out, doc); err != nil {
			t.Errorf("n = %d: %v", n, err)
		}
	}
}

func TestVerdicts(t *testing.T) {
	doc := compared{n: 20, shift: -0.05, scale: 0.2}.document(t)
	goset, taskset := contrastOf(t, doc, 0, "goset"), contrastOf(t, doc, 0, "taskset")
	if v := goset.Location.Verdict; v.Kind != stats.LowerVerdict {
		t.Errorf("median of goset: %q", v.Text)
	}
	if v := goset.Spread.Verdict; v.Kind != stats.LowerVerdict {
		t.Errorf("spread of goset: %q", v.Text)
	}
	if v := taskset.Spread.Verdict; v.Claims() || !strings.Contains(v.Text, "20 rounds resolve a ratio") || !strings.Contains(v.Text, "would need about") {
		t.Errorf("spread of taskset: %q", v.Text)
	}
	if goset.Location.Family != 2 || goset.Spread.Family != 2 {
		t.Errorf("families %d and %d: two modes against the baseline, without the control", goset.Location.Family, goset.Spread.Family)
	}
	for _, v := range doc.Tables[0].Verdicts() {
		if v.X == "unpinned#2" {
			t.Errorf("the control has a verdict under the table: %q", v.Line())
		}
		if v.X == "goset" && (!v.Claim || v.Better != 1) {
			t.Errorf("%q: want a claim for the better", v.Line())
		}
	}
	if len(doc.Suite) != 2 || !doc.Suite[1].AverageClaim || !doc.Suite[1].EveryClaim || doc.Suite[1].Blocks != 20 {
		t.Errorf("suite %+v", doc.Suite)
	}
	for _, s := range doc.Suite {
		if s.AveragePAdj.V < s.Average.P.V || s.LowerPAdj.V < s.EveryLower.V {
			t.Errorf("%s: adjusted p %v and %v of %v and %v", s.Name(), s.AveragePAdj.V, s.LowerPAdj.V, s.Average.P.V, s.EveryLower.V)
		}
	}
	if small := doc.Suite[1]; small.AveragePAdj.V != 2*small.Average.P.V {
		t.Errorf("the smaller of two p-values %v becomes %v, want twice it", small.Average.P.V, small.AveragePAdj.V)
	}
	if !doc.SelfCheck.Ran || len(doc.SelfCheck.Failed) != 0 || doc.SelfCheck.Comparisons != 2 {
		t.Errorf("self-check %+v", doc.SelfCheck)
	}
}

func TestSelfCheckFails(t *testing.T) {
	doc := compared{n: 12, scale: 1, control: 0.05}.document(t)
	if len(doc.SelfCheck.Failed) != 2 {
		t.Fatalf("self-check %+v: want both workloads", doc.SelfCheck)
	}
	if c := contrastOf(t, doc, 0, "unpinned#2"); !c.Control || c.Location.Family != 2 {
		t.Errorf("control of the first table: %v, family %d, want one over both tables", c.Control, c.Location.Family)
	}
	var out bytes.Buffer
	if err := TextDocument(&out, doc, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "SELF-CHECK FAILED: 2 of 2 A/A comparisons") {
		t.Errorf("the report begins with %.200q", out.String())
	}
	if i := slices.IndexFunc(doc.Rules, func(r Rule) bool { return r.Number == 7 }); doc.Rules[i].Status != RuleFail {
		t.Errorf("rule 7: %+v", doc.Rules[i])
	}
}

func TestRoundsWithoutAllRunsAreDropped(t *testing.T) {
	doc := compared{n: 12, scale: 1, edit: func(r *harness.Record) {
		if r.Block == 3 && r.Mode == "goset" && r.Workload == "jitter" {
			r.Outcome, r.Reason = harness.Void, "throttled"
		}
	}}.document(t)
	if c := contrastOf(t, doc, 0, "goset"); c.N != 11 || c.M != 11 || !c.Blocked || c.Dropped != 1 {
		t.Errorf("goset: n = %d and %d, blocked %v, dropped %d; want 11, 11, true, 1", c.N, c.M, c.Blocked, c.Dropped)
	}
	if s := doc.Suite[1]; s.Blocks != 11 {
		t.Errorf("suite over %d blocks, want 11", s.Blocks)
	}
}

func TestDeclaredContrasts(t *testing.T) {
	b := compared{n: 6, scale: 1}.build()
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := d.Document(Options{Baseline: "unpinned", ModeFactors: []string{}, Compare: []harness.ModePair{{X: "goset", Y: "taskset"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range doc.Tables[0].Contrasts {
		got = append(got, c.X+"/"+c.Y)
	}
	if want := []string{"goset/taskset", "unpinned#2/unpinned"}; !slices.Equal(got, want) {
		t.Errorf("contrasts %q, want %q", got, want)
	}
}

func TestAttribution(t *testing.T) {
	doc := compared{n: 10, scale: 1, edit: func(r *harness.Record) {
		if r.Workload != "jitter" || r.Mode != "unpinned" {
			return
		}
		r.Counters = map[string]float64{"migrations": 1}
		if r.Block == 3 || r.Block == 7 {
			r.Values["time"] = 0.02 + 0.001*float64(r.Block)
			r.Values["involuntary-switches"] = 38 + float64(r.Block)
		} else {
			r.Values["involuntary-switches"] = 1 + 100*(r.Values["time"]-0.0099)
		}
	}}.document(t)
	a := doc.Tables[0].Attributions[0]
	want := "jitter/unpinned: runs 3 and 7 are slow; both had 41+ involuntary switches (median of the others 1"
	if !strings.HasPrefix(a.Text, want) {
		t.Errorf("got  %s\nwant %s…", a.Text, want)
	}
	if len(a.Causes) != 1 || a.Causes[0].R.V < 0.99 || !a.Notable {
		t.Errorf("causes %+v", a.Causes)
	}
	if a.Slow[0].Block != 3 || a.Slow[1].Block != 7 {
		t.Errorf("slow runs %+v", a.Slow)
	}
}

func TestAttributionOfRates(t *testing.T) {
	values := []float64{10, 11, 12, 13, 14, 2}
	if got := badRuns(values, []int{5}, metric.Higher); !slices.Equal(got, []int{5}) {
		t.Errorf("bad runs of a rate: %v", got)
	}
	if got := badRuns(values, []int{5}, metric.Lower); !slices.Equal(got, []int{4}) {
		t.Errorf("bad runs of a time, of which only the good side is flagged: %v, want the worst", got)
	}
	c := counted{harness.CounterFrequency, []float64{3, 3.1, 3.2, 3.3, 3.4, 1}}
	ranked, err := stats.Rank(values)
	if err != nil {
		t.Fatal(err)
	}
	cause, err := c.judge(ranked, nil, metric.Higher, []SlowRun{{Number: 6}})
	if err != nil || cause.R.V > -0.99 || cause.InSlow != 1 {
		t.Errorf("%+v, %v: want that worse runs have a lower frequency", cause, err)
	}
	// A counter that some runs lack explains nothing.
	var table counterTable
	var all names
	table.add(0, map[string]float64{"steal": 1}, &all)
	table.add(2, map[string]float64{"steal": 2}, &all)
	if xs, ok := table.at("steal", []int32{0, 1, 2}); ok {
		t.Errorf("counter of three runs, one of which lacks it: %v", xs)
	}
	if xs, ok := table.at("steal", []int32{0, 2}); !ok || !slices.Equal(xs, []float64{1, 2}) {
		t.Errorf("counter of two runs: %v, %v", xs, ok)
	}
}

func TestOrderEffects(t *testing.T) {
	// The run in the first place of every round is slow.
	doc := compared{n: 20, scale: 1, edit: func(r *harness.Record) {
		if r.Position == 1 {
			r.Values["time"] *= 1.05
		}
	}}.document(t)
	if !slices.ContainsFunc(doc.Notes, func(s string) bool { return strings.Contains(s, "the place within a round matters") }) {
		t.Errorf("notes %q", doc.Notes)
	}
	if doc := (compared{n: 20, scale: 1}).document(t); len(doc.Notes) != 0 {
		t.Errorf("notes %q of runs without an effect", doc.Notes)
	}
}

func TestDriftNote(t *testing.T) {
	doc := compared{n: 12, scale: 1, edit: func(r *harness.Record) { r.Values["time"] *= 1 + 0.02*float64(r.Block) }}.document(t)
	i := slices.IndexFunc(doc.Tables[0].Notes, func(n Note) bool {
		return strings.HasPrefix(n.Text, "without what the rows of a round have in common, the sd is ")
	})
	if i < 0 {
		t.Errorf("no sd without the drift: %+v", doc.Tables[0].Notes)
	}
}

func TestWarmUpNote(t *testing.T) {
	doc := compared{n: 6, scale: 1, edit: func(r *harness.Record) {
		xs := make([]float64, 100)
		for i := range xs {
			xs[i] = 1 + 0.001*float64(i*37%100)
			if i < 20 {
				xs[i] += 1
			}
		}
		r.Iterations = map[string][]float64{"time": xs}
	}}.document(t)
	want := "6 of 6 runs warm up: their iterations are steady from about number 21 on (nothing is dropped)"
	if !slices.ContainsFunc(doc.Tables[0].Notes, func(n Note) bool { return n.Text == want }) {
		t.Errorf("notes %+v, want %q", doc.Tables[0].Notes, want)
	}
	if w := (&warmup{}); w.look(make([]float64, 100), 10) != 0 || w.unknown != 1 {
		t.Errorf("a run beyond the bound of work was examined: %+v", w)
	}
}

func TestContrastsCSV(t *testing.T) {
	doc := compared{n: 10, scale: 0.3}.document(t)
	var out bytes.Buffer
	if err := ContrastsCSV(&out, doc.Tables); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 1+6 {
		t.Fatalf("%d lines, %v: want one per contrast", len(rows), err)
	}
	at := slices.Index(rows[0], "sd_ratio")
	if want := exact(doc.Tables[0].Contrasts[0].Spread.Ratio.V); rows[1][at] != want {
		t.Errorf("sd_ratio %q, want %s", rows[1][at], want)
	}
}

func TestJSONDocument(t *testing.T) {
	doc := compared{n: 10, scale: 0.3}.document(t)
	var out bytes.Buffer
	if err := JSONDocument(&out, doc); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema int
		Tables []struct {
			Contrasts []struct{ Spread struct{ Text, Test string } }
		}
		Rules []struct{ Number int }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != JSONSchema || len(got.Rules) != 12 || got.Tables[0].Contrasts[0].Spread.Test == "" {
		t.Errorf("%+v", got)
	}
}

func TestRules(t *testing.T) {
	doc := compared{n: 10, scale: 1}.document(t)
	status := map[int]RuleStatus{}
	for _, r := range doc.Rules {
		status[r.Number] = r.Status
		if r.Reason == "" || r.Name == "" {
			t.Errorf("rule %d without words", r.Number)
		}
	}
	// Figures without a manifest are not documented.
	for n, want := range map[int]RuleStatus{1: RulePass, 2: RulePass, 5: RulePass, 7: RulePass, 9: RuleFail, 11: RuleNotApplicable} {
		if status[n] != want {
			t.Errorf("rule %d: %s, want %s", n, status[n], want)
		}
	}
	few := compared{n: 3, scale: 1}.document(t)
	if few.Rules[4].Status != RuleFail {
		t.Errorf("rule 5 at n = 3: %+v", few.Rules[4])
	}
}

func TestHostFacts(t *testing.T) {
	got := fmt.Sprint(hostFactsOf(json.RawMessage(`{"cpu":{"model":"x","cores":[1,2],"caches":[{"level":1}]},"absent":null}`)))
	want := "[{host.cpu.model x} {host.cpu.cores 1, 2} {host.cpu.caches[0].level 1}]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := hostFactsOf(json.RawMessage(`{"a":`)); len(got) != 1 || got[0].Value != `{"a":` {
		t.Errorf("torn facts: %v", got)
	}
}

// TestDocumentFits: no line of a report for a terminal is wider than asked,
// whatever the findings; and the whole is as the golden files have it.
func TestDocumentFits(t *testing.T) {
	doc := compared{n: 12, shift: -0.05, scale: 0.2, control: 0.05, edit: func(r *harness.Record) {
		r.Counters = map[string]float64{harness.CounterDelay: r.Values["time"] * float64(r.Block), harness.CounterMigrations: float64(r.Run % 3)}
		if r.Block == 4 && r.Mode == "taskset" {
			r.Values["time"] *= 1.2
		}
	}}.document(t)
	for _, width := range []int{40, 60, 100, 132} {
		var out bytes.Buffer
		if err := TextDocument(&out, doc, TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if got := texttab.Width(strings.TrimRight(l, "\n")); got > width {
				t.Errorf("width %d: a line of %d columns: %s", width, got, l)
			}
		}
		if width == 100 {
			golden(t, "document.txt", out.Bytes())
		}
	}
	var md bytes.Buffer
	if err := MarkdownDocument(&md, doc); err != nil {
		t.Fatal(err)
	}
	golden(t, "document.md", md.Bytes())
	var rules bytes.Buffer
	if err := RulesText(&rules, doc, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "rules.txt", rules.Bytes())
}
