package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/harness"
	"goset/isolation"
	"goset/metric"
	"goset/stats"
)

func build(t *testing.T, rs records, opts Options) []Table {
	t.Helper()
	tables, err := Build(t.Context(), rs, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func noteTexts(tb *Table) string {
	var s []string
	for i := range tb.Notes {
		s = append(s, noteText(tb, &tb.Notes[i]))
	}
	return strings.Join(s, "\n")
}

func TestBuildNothing(t *testing.T) {
	if got := build(t, nil, Options{}); len(got) != 0 {
		t.Errorf("no records: %d tables, want none", len(got))
	}
	b := &builder{}
	b.treat("jitter", "unpinned", "")
	got := build(t, nil, Options{Treatments: b.treatments})
	if len(got) != 1 || len(got[0].Rows) != 1 || got[0].Rows[0].Summary.Median.OK || got[0].Metric.Name != "" {
		t.Errorf("a plan without records: %+v, want one table with one empty row", got)
	}
}

// TestSmallN holds what exists and what does not at n = 0, 1, 2, 5, 6.
func TestSmallN(t *testing.T) {
	for _, tc := range []struct {
		n                    int
		median, sd, interval bool
	}{{0, false, false, false}, {1, true, false, false}, {2, true, true, false}, {5, true, true, false}, {6, true, true, true}} {
		b := &builder{}
		u := b.treat("w", "m", "")
		b.run(u, 1, nil, failed(1, "x"), describe(metric.Metric{Name: "t", Unit: "s", Shown: true}))
		for i := range tc.n {
			b.run(u, i+1, map[string]float64{"t": 1 + float64(i*i)})
		}
		r := build(t, b.rs, Options{})[0].Rows[0]
		s := r.Summary
		if s.N != tc.n || r.Counts.Failed != 1 || s.Median.OK != tc.median || s.SD.OK != tc.sd || s.CV.OK != tc.sd || s.Spread.OK != tc.sd || s.MedianCI.OK != tc.interval {
			t.Errorf("n = %d: got %+v", tc.n, s)
		}
	}
}

func TestGroupsAndBaseline(t *testing.T) {
	b := &builder{}
	one := map[string]float64{"wall": 2}
	for _, steps := range []string{"10", "20"} {
		for _, cond := range []string{"idle", "noisy"} {
			for _, n := range []string{"1", "2"} {
				b.run(b.treat("jitter", "taskset", cond, lv("steps", steps), lv("n", n)), 1, map[string]float64{"wall": 4})
				b.run(b.treat("jitter", "goset", cond, lv("steps", steps), lv("n", n), lv("fence", "true")), 1, one)
			}
			b.run(b.treat("jitter", "unpinned", cond, lv("steps", steps)), 1, map[string]float64{"wall": 8})
		}
	}
	tables := build(t, b.rs, Options{Baseline: "taskset"})
	var got []string
	for _, tb := range tables {
		got = append(got, tb.Name())
		for _, r := range tb.Rows {
			switch {
			case r.Mode == "goset" && (!r.MedianRatio.OK || r.MedianRatio.V != 0.5):
				t.Errorf("%s %s: ratio %+v, want 0.5 against the taskset of the same n", tb.Name(), r.Label(), r.MedianRatio)
			case r.Mode == "unpinned" && r.MedianRatio.OK:
				t.Errorf("%s %s: ratio %v although two rows of the baseline fit", tb.Name(), r.Label(), r.MedianRatio.V)
			}
		}
	}
	want := []string{"jitter steps=10, condition idle", "jitter steps=10, condition noisy", "jitter steps=20, condition idle", "jitter steps=20, condition noisy"}
	if !slices.Equal(got, want) {
		t.Errorf("tables %q, want %q", got, want)
	}
	if l := tables[0].Rows[3].Label(); l != "goset n=2 fence=true" {
		t.Errorf("label %q", l)
	}
	if c, err := Collect(t.Context(), b.rs, nil, 0); err != nil || len(c.treatments) != 20 {
		t.Errorf("treatments from records alone: %v, %v", c, err)
	}
}

func TestRatioUndefined(t *testing.T) {
	v := func(x float64) stats.Value { return stats.Value{V: x, OK: true} }
	no := stats.Value{Why: "n ≥ 2 needed"}
	for _, tc := range []struct {
		a, b stats.Value
		ok   bool
		why  string
	}{
		{v(1), v(2), true, ""}, {v(0), v(2), true, ""}, {no, v(1), false, "n ≥ 2 needed"}, {v(1), no, false, "baseline: n ≥ 2 needed"},
		{v(1), v(0), false, "baseline sd ≤ 0"}, {v(1), v(-1), false, "baseline sd ≤ 0"}, {v(1e300), v(1e-300), false, "baseline sd too small"},
	} {
		if got := ratio(tc.a, tc.b, "sd"); got.OK != tc.ok || got.Why != tc.why {
			t.Errorf("ratio(%v, %v) = %+v, want ok %v, why %q", tc.a, tc.b, got, tc.ok, tc.why)
		}
	}
}

func TestSelect(t *testing.T) {
	b := &builder{}
	u := b.treat("w", "m", "")
	for i := range 6 {
		x := float64(i)
		b.run(u, i+1, map[string]float64{"wall": 100 + x, "p99 latency": 10 + x, "constant": 7, "user": 50 + x},
			describe(metric.Metric{Name: "user"}, metric.Metric{Name: "p99 latency"}, metric.Metric{Name: "wall"}))
	}
	re := func(ss ...string) (out []*regexp.Regexp) {
		for _, s := range ss {
			out = append(out, regexp.MustCompile(s))
		}
		return out
	}
	for _, tc := range []struct {
		name string
		opts Options
		want string
	}{
		{"default", Options{}, "wall"},
		{"all", Options{All: true}, "user,p99 latency,wall,constant"},
		{"regexp", Options{Metrics: re("^p9", "^us")}, "user,p99 latency"},
		{"regexp of nothing", Options{Metrics: re("nope")}, "wall"},
		{"topk", Options{TopK: 2}, "p99 latency,user"},
		{"topk without the constant", Options{TopK: 9}, "p99 latency,user,wall"},
		{"both", Options{TopK: 1, Metrics: re("wall|user")}, "user"},
	} {
		var got []string
		for _, tb := range build(t, b.rs, tc.opts) {
			got = append(got, tb.Metric.Name)
		}
		if s := strings.Join(got, ","); s != tc.want {
			t.Errorf("%s: metrics %q, want %q", tc.name, s, tc.want)
		}
	}
}

func TestNotes(t *testing.T) {
	b := &builder{}
	m := metric.Metric{Name: "t", Unit: "s", Shown: true}
	steady, wobbly, wild := b.treat("w", "steady", ""), b.treat("w", "wobbly", ""), b.treat("w", "wild", "")
	for i := range 2 {
		x := float64(i)
		b.run(steady, i, map[string]float64{"t": 1 + x/100}, on("1"), describe(m))
		b.run(wobbly, i, map[string]float64{"t": 1 + x/10}, on([]string{"1", "2"}[i]), func(r *harness.Record) { r.Warnings = []string{"busy"} })
		b.run(wild, i, map[string]float64{"t": 1 + x/2}, on(""), func(r *harness.Record) { r.Warnings = []string{"busy", "busy"} })
	}
	b.run(steady, 3, map[string]float64{"t": math.NaN()})
	b.run(wild, 3, map[string]float64{"other": 1})
	tb := build(t, b.rs, Options{})[0]
	want := strings.Join([]string{
		"CV above 5%: look at the environment — wobbly",
		"CV above 10%: do not compare — wild",
		"runs were on different CPUs (1: median 1.00500 of 2 runs; any): the spread includes differences between cores — steady",
		"1 values are not finite and left out — steady",
		"runs were on different CPUs (1: median 1.00000 of 1 run; 2: median 1.10000 of 1 run): the spread includes differences between cores — wobbly",
		"1 kept runs have no value of this metric — wild",
		"busy — wobbly, wild",
	}, "\n")
	if got := noteTexts(&tb); got != want {
		t.Errorf("notes:\n%s\nwant:\n%s", got, want)
	}
}

// TestNoteOfChoices tells of CPUs that were chosen for another run, with the age
// of the oldest choice; not of a run's own choice, and not where a record does
// not say when it was.
func TestNoteOfChoices(t *testing.T) {
	b := &builder{}
	chose := func(run int, before time.Duration) func(*harness.Record) {
		return func(r *harness.Record) {
			r.Choice = &harness.Choice{Run: run, Attempt: 1, At: r.Start.Add(-before)}
		}
	}
	m := metric.Metric{Name: "t", Unit: "s", Shown: true}
	once, each, early := b.treat("w", "once", ""), b.treat("w", "each", ""), b.treat("w", "early", "")
	for i, before := range []time.Duration{time.Second, 3 * time.Minute, 2*time.Hour + 400*time.Millisecond, time.Minute} {
		b.run(once, i, map[string]float64{"t": 1}, on("1"), describe(m), chose(0, before))
		b.run(each, i, map[string]float64{"t": 1}, on("1"), chose(len(b.rs), time.Second))
		b.run(early, i, map[string]float64{"t": 1}, on("1"), func(r *harness.Record) { r.Choice = &harness.Choice{} })
	}
	// A void run is none of those that are counted.
	b.run(once, 4, nil, void("x"), on("1"), chose(0, 9*time.Hour))
	tb := build(t, b.rs, Options{})[0]
	want := "3 of 4 runs were on CPUs that had been chosen as the quietest for an earlier run, up to 2h0m0s before — once"
	if got := noteTexts(&tb); got != want {
		t.Errorf("notes:\n%s\nwant:\n%s", got, want)
	}
}

// TestNoteOfUnreadLayers counts the kept runs in which a layer was held and read
// back from nobody.
func TestNoteOfUnreadLayers(t *testing.T) {
	b := &builder{}
	m := metric.Metric{Name: "t", Unit: "s", Shown: true}
	some, none := b.treat("w", "some", ""), b.treat("w", "none", "")
	layers := func(unread bool) func(*harness.Record) {
		return func(r *harness.Record) {
			r.Layers = []isolation.LayerState{{Layer: "thp", Held: true, Unread: unread}, {Layer: "aslr", Held: true}}
		}
	}
	for i := range 3 {
		b.run(some, i, map[string]float64{"t": 1}, describe(m), layers(i > 0))
		b.run(none, i, map[string]float64{"t": 1}, layers(false))
	}
	b.run(some, 3, nil, void("x"), layers(true))
	tb := build(t, b.rs, Options{})[0]
	want := `layer "thp" was read back in 1 of 3 runs; the others had ended before that, or may not be read, and have what their exec was given — some`
	if got := noteTexts(&tb); got != want {
		t.Errorf("notes:\n%s\nwant:\n%s", got, want)
	}
}

// TestManyTexts holds that what comes from outside without bound is kept bounded.
func TestManyTexts(t *testing.T) {
	b := &builder{}
	u := b.treat("w", "m", "")
	for i := range 500 {
		b.run(u, i, map[string]float64{"wall": 1}, on(fmt.Sprint(i)), func(r *harness.Record) { r.Warnings = []string{fmt.Sprintf("at %d °C", i)} })
		b.run(u, i, nil, failed(1, fmt.Sprint("reason ", i)))
	}
	tb := build(t, b.rs, Options{})[0]
	if len(tb.Notes) > maxTexts+5 || !strings.Contains(noteTexts(&tb), "480 further warnings") {
		t.Errorf("%d notes:\n%s", len(tb.Notes), noteTexts(&tb))
	}
	if lines := excludedLines(&tb); len(lines) != maxExcluded+1 || lines[maxExcluded] != "… and 497 more of m" {
		t.Errorf("excluded: %q", lines)
	}
}

func TestMixedUp(t *testing.T) {
	for name, edit := range map[string]func(*harness.Record){
		"two experiments": func(r *harness.Record) { r.Mode = "other" },
		"levels":          func(r *harness.Record) { r.Levels = []harness.Level{lv("n", "2")} },
		"has unit":        describe(metric.Metric{Name: "t", Unit: "B"}),
	} {
		b := &builder{}
		u := b.treat("w", "m", "")
		b.run(u, 1, map[string]float64{"t": 1}, describe(metric.Metric{Name: "t", Unit: "s"}))
		b.run(u, 2, map[string]float64{"t": 1}, edit)
		if _, err := Build(t.Context(), b.rs, Options{}); err == nil || !strings.Contains(err.Error(), "cannot use record of run 1") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSuperseded(t *testing.T) {
	b := &builder{}
	u := b.treat("w", "m", "")
	b.run(u, 1, map[string]float64{"wall": 1}, func(r *harness.Record) { r.Superseded = true })
	b.run(u, 1, map[string]float64{"wall": 2})
	if r := build(t, b.rs, Options{})[0].Rows[0]; r.Summary.N != 1 || r.Summary.Median.V != 2 || r.Counts.Void != 1 {
		t.Errorf("row %+v, want the later attempt alone", r)
	}
}

func TestPool(t *testing.T) {
	b := &builder{}
	big, small := b.treat("w", "big", ""), b.treat("w", "small", "")
	n := 0
	for i := range 100 {
		xs := make([]float64, 1000)
		for j := range xs {
			xs[j], n = float64(n), n+1
		}
		b.run(big, i, map[string]float64{"wall": 1}, iterations("wall", xs))
	}
	b.run(small, 1, map[string]float64{"wall": 1}, iterations("wall", append(ramp(1, 99), math.Inf(1))))
	exact := build(t, b.rs, Options{})[0]
	if it := exact.Rows[0].Iterations; it.N != 100_000 || it.Pooled != it.N || it.P50.V != 49999.5 || math.Abs(it.P999.V-99899.001) > 1e-6 || math.Abs(it.P1.V-999.99) > 1e-6 {
		t.Errorf("exact: %+v", it)
	}
	if it := exact.Rows[1].Iterations; it.N != 99 || !it.P50.OK || it.P99.OK || it.P999.OK {
		t.Errorf("99 iterations: %+v, want p50 alone", it)
	}
	thinned := build(t, b.rs, Options{MaxIterations: 8000})[0]
	it := thinned.Rows[0].Iterations
	if it.N != 100_000 || it.Pooled > 8000 || it.Pooled < 3000 || math.Abs(it.P50.V-5e4) > 3e3 || math.Abs(it.P99.V-9.9e4) > 1e3 {
		t.Errorf("thinned: %+v", it)
	}
	if it := thinned.Rows[1].Iterations; it.Pooled != 99 {
		t.Errorf("the small pool was thinned too: %+v", it)
	}
	if s := noteTexts(&thinned); !strings.Contains(s, fmt.Sprintf("quantiles are of %d out of 100000, thinned evenly — big", it.Pooled)) {
		t.Errorf("notes do not say so:\n%s", s)
	}
	again := build(t, b.rs, Options{MaxIterations: 8000})[0]
	if again.Rows[0].Iterations != it {
		t.Errorf("the same records thin to %+v and %+v", it, again.Rows[0].Iterations)
	}
}

func TestModeFactors(t *testing.T) {
	modes := []harness.ModeSpec{{Keys: []harness.Param{{Name: "cpus", Levels: []string{"0"}}}}, {Keys: []harness.Param{{Name: "n", Levels: []string{"1", "2"}}, {Name: "fence", Levels: []string{"true", "false"}}}}}
	if got := ModeFactors(modes); !slices.Equal(got, []string{"n", "fence"}) {
		t.Errorf("ModeFactors = %q", got)
	}
	if got := ModeFactors(nil); got == nil {
		t.Error("ModeFactors(nil) is nil, which would mean the default")
	}
}
