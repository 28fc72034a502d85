package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// goMetrics are the metrics of one benchmark.
func goMetrics(pkg, name string) []metric.Metric {
	of := func(unit, base string, shown bool) metric.Metric {
		m := metric.Metric{Name: pkg + "." + name + " " + unit, Unit: base, Better: metric.Lower, Shown: shown, Package: pkg, Benchmark: name, Line: unit}
		if base != unit {
			m.Show = unit
		}
		return m
	}
	return []metric.Metric{of("ns/op", "s/op", true), of("allocs/op", "allocs/op", true), of(metric.Iterations, "", false)}
}

// goData has two refs under two modes, n rounds each; ns gives the time of a
// treatment in a round, in ns.
func goData(t *testing.T, n int, ns func(treatment, round int) float64) (*Data, Options) {
	t.Helper()
	b := &builder{}
	for _, mode := range []string{"unpinned", "goset"} {
		for _, ref := range []string{"main", "."} {
			b.treat("w", mode, "", lv("package", "./p"), lv("ref", ref))
		}
	}
	ms := goMetrics("example.org/p", "X/size=10-8")
	for round := range n {
		for tr := range b.treatments {
			v, _, _ := metric.Convert(ns(tr, round), "ns/op")
			b.run(tr, round+1, map[string]float64{ms[0].Name: v, ms[1].Name: float64(2 + tr%2), ms[2].Name: float64(1000 + round), "wall": 1}, describe(ms...),
				func(r *harness.Record) { r.Procs = 4 })
		}
	}
	opts := Options{Experiment: "x", Treatments: b.treatments, Baseline: "unpinned", ModeFactors: []string{}, Sides: []string{"ref"},
		Manifest: &harness.Manifest{Builds: []harness.GoBuild{{GoVersion: "go1.26.0", Treatments: []int{0, 1, 2, 3}}}}}
	d, err := Collect(context.Background(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d, opts
}

// noise is a fixed sequence between 0 and 1 without ties.
func noise(i int) float64 {
	x := uint64(i)*0x9e3779b97f4a7c15 + 0x1234567
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	return float64(x>>11) / (1 << 53)
}

// bench.txt has the lines as go test prints them, and what differs between
// sides as configuration.
func TestGoBenchText(t *testing.T) {
	d, opts := goData(t, 2, func(tr, round int) float64 { return []float64{7.621, 8.5, 9, 10}[tr] + float64(round) })
	var out bytes.Buffer
	if err := Bench(&out, d, opts); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"mode: unpinned\n", "mode: goset\n", "ref: main\n", "ref: .\n", "toolchain: go1.26.0\n", "pkg: example.org/p\n", "experiment: x\n",
		"BenchmarkX/size=10-8-4 1000 7.621 ns/op 2 allocs/op\n", "BenchmarkX/size=10-8-4 1001 11 ns/op 3 allocs/op\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "wall") || strings.Contains(text, "b.N") {
		t.Errorf("more than benchmarks:\n%s", text)
	}
}

// Where modes have another GOMAXPROCS, a benchmark keeps one name for all: with
// two benchstat would compare nothing.
func TestGoBenchOfOtherProcs(t *testing.T) {
	d, opts := goData(t, 2, func(tr, round int) float64 { return 5 })
	for _, tr := range d.treatments[2:] {
		tr.procs = 1
	}
	var out bytes.Buffer
	if err := Bench(&out, d, opts); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "BenchmarkX/size=10-8 100"); n != 8 {
		t.Errorf("%d of 8 lines have the plain name:\n%s", n, out.String())
	}
}

// benchstat, as go.mod pins it, reads our file without a word and finds the
// same medians and the same p.
func TestGoBenchstat(t *testing.T) {
	if testing.Short() {
		t.Skip("builds benchstat")
	}
	d, opts := goData(t, 9, func(tr, round int) float64 {
		return 100 + 2*float64(tr%2) + 3*float64(tr/2) + 4*noise(tr*100+round)
	})
	doc, err := d.Document(opts)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Bench(&out, d, opts); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	table := &doc.Tables[0]
	for _, c := range []struct {
		col, filter string
		row, base   int
	}{{"mode", "ref:main", 2, 0}, {"mode", "ref:.", 3, 1}, {"ref", "mode:unpinned", 1, 0}, {"ref", "mode:goset", 3, 2}} {
		at := slices.IndexFunc(table.Contrasts, func(x Contrast) bool { return x.Row == c.row && x.Base == c.base })
		if at < 0 {
			t.Errorf("%s, %s: rows %d and %d are not compared", c.col, c.filter, c.row, c.base)
			continue
		}
		medians, p := benchstat(t, file, c.col, c.filter)
		for i, row := range []int{c.base, c.row} {
			if want := table.Rows[row].Summary.Median.V; math.Abs(medians[i]-want) > 1e-9*want {
				t.Errorf("%s, %s: benchstat's median %d is %v, ours %v", c.col, c.filter, i, medians[i], want)
			}
		}
		if want := table.Contrasts[at].MannWhitney.PBenchstat.V; math.Abs(p-want) > 0.0005001 {
			t.Errorf("%s, %s: benchstat's p is %v, ours %v", c.col, c.filter, p, want)
		}
	}
}

// benchstat gives the medians in s/op and the p of a comparison of two columns.
func benchstat(t *testing.T, file, col, filter string) (medians [2]float64, p float64) {
	t.Helper()
	cmd := exec.Command("go", "tool", "benchstat", "-format", "csv", "-col", col, "-filter", filter+" .unit:sec/op", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, stderr.Bytes())
	}
	if stderr.Len() > 0 {
		t.Errorf("%v says: %s", cmd, stderr.Bytes())
	}
	r := csv.NewReader(bytes.NewReader(out))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if !strings.HasPrefix(l[0], "X/size=10-8") || len(l) < 7 {
			continue
		}
		// name, median, CI, median, CI, vs base, P
		a, erra := strconv.ParseFloat(l[1], 64)
		b, errb := strconv.ParseFloat(l[3], 64)
		text, _, _ := strings.Cut(strings.TrimPrefix(l[6], "p="), " ")
		v, errp := strconv.ParseFloat(text, 64)
		if erra != nil || errb != nil || errp != nil {
			t.Fatalf("cannot read %q", l)
		}
		return [2]float64{a, b}, v
	}
	t.Fatalf("no line of the benchmark in:\n%s", out)
	return medians, p
}

// Sides are compared with their first level within each mode, modes with the
// baseline at the same levels.
func TestSides(t *testing.T) {
	d, opts := goData(t, 6, func(tr, round int) float64 { return 100 + float64(tr) + noise(tr*7+round) })
	doc, err := d.Document(opts)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range doc.Tables[0].Contrasts {
		got = append(got, c.X+"|"+c.Y)
	}
	want := []string{"unpinned ref=.|unpinned ref=main", "goset ref=.|goset ref=main", "goset ref=main|unpinned ref=main", "goset ref=.|unpinned ref=."}
	if !slices.Equal(got, want) {
		t.Errorf("compared %q, want %q", got, want)
	}
	if len(doc.Tables) != 2 || len(doc.Tables[0].Rows) != 4 {
		t.Errorf("%d tables", len(doc.Tables))
	}
	if r := doc.Tables[0].Rows[1].MedianRatio; !r.OK || r.V <= 1 {
		t.Errorf("ratio of the second ref: %+v", r)
	}
	got = SidesOf([]harness.Workload{{}, {Go: &harness.GoSpec{}, Params: []harness.Param{{Name: "ref", Levels: []string{"a", "b"}}, {Name: "tags", Levels: []string{"a"}}, {Name: "cpu", Levels: []string{"1", "2"}}}}})
	if !slices.Equal(got, []string{"ref"}) {
		t.Errorf("sides %q", got)
	}
	got = SidesOf([]harness.Workload{{Kernel: "yield", Params: []harness.Param{{Name: "procs", Levels: []string{"3", "5"}}, {Name: "yield", Levels: []string{"none", "gosched"}}}}})
	if !slices.Equal(got, []string{"yield"}) {
		t.Errorf("sides of a kernel: %q", got)
	}
}

// The kernel yield has a table for each procs and metric, in which the
// functions are compared with none within the rounds.
func TestSidesOfKernel(t *testing.T) {
	b := &builder{}
	for _, procs := range []string{"3", "5"} {
		for _, yield := range []string{"none", "gosched"} {
			b.treat("yield", "unpinned", "", lv("procs", procs), lv("yield", yield))
		}
	}
	for round := range 6 {
		for tr := range b.treatments {
			// Rounds differ tenfold; within each, gosched has half of none.
			b.run(tr, round+1, map[string]float64{"peak": float64(1+9*round) / float64(1+tr%2)}, describe(metric.Metric{Name: "peak", Unit: "s/probe", Better: metric.Lower, Shown: true}))
		}
	}
	d, err := Collect(context.Background(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := d.Document(Options{ModeFactors: []string{}, Sides: []string{"yield"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range doc.Tables {
		tab := &doc.Tables[i]
		for _, c := range tab.Contrasts {
			got = append(got, fmt.Sprintf("%s: %s|%s %.3f", tab.Name(), c.X, c.Y, c.Location.Change.V))
		}
	}
	want := []string{"yield procs=3: unpinned yield=gosched|unpinned yield=none -0.500", "yield procs=5: unpinned yield=gosched|unpinned yield=none -0.500"}
	if !slices.Equal(got, want) {
		t.Errorf("compared %q, want %q", got, want)
	}
}

func TestParseBound(t *testing.T) {
	for _, c := range []struct {
		text string
		want Bound
	}{
		{"ns/op>3%", Bound{Metric: "ns/op", Value: 0.03, Relative: true}},
		{" ns/op > 3 % ", Bound{Metric: "ns/op", Value: 0.03, Relative: true}},
		{"allocs/op>0", Bound{Metric: "allocs/op"}},
		{"MB/s>2.5%", Bound{Metric: "MB/s", Value: 0.025, Relative: true}},
		{"p.X/a>b ns/op>5ms", Bound{Metric: "p.X/a>b ns/op", Value: 5, Unit: "ms"}},
		{"ns/op>1e3", Bound{Metric: "ns/op", Value: 1000}},
	} {
		c.want.Text = c.text
		if got, err := ParseBound(c.text); err != nil || got != c.want {
			t.Errorf("%q: %+v, %v, want %+v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "ns/op", ">3%", "ns/op>", "ns/op>x", "ns/op>=3%", "ns/op>3%%", "ns/op>1e999", "ns/op<3%", "ns/op>-3%"} {
		if got, err := ParseBound(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

// Commas part bounds where every part is one.
func TestParseBounds(t *testing.T) {
	for text, want := range map[string][]string{
		"ns/op>3%":             {"ns/op"},
		"ns/op>3%,allocs/op>0": {"ns/op", "allocs/op"},
		"ns/op>3%, B/op>1KiB":  {"ns/op", "B/op"},
		"p.X/a,b ns/op>3%":     {"p.X/a,b ns/op"},
		"p.X/a>1,b ns/op>3%":   {"p.X/a", "b ns/op"},
		"ns/op>3%,":            nil,
		"ns/op,B/op":           nil,
		"":                     nil,
	} {
		bounds, err := ParseBounds(text)
		var got []string
		for _, b := range bounds {
			got = append(got, b.Metric)
		}
		if want == nil && err == nil || want != nil && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParseBound(f *testing.F) {
	f.Add("ns/op>3%")
	f.Add("allocs/op>1e3k")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBound(text)
		if err == nil && (b.Metric == "" || math.IsNaN(b.Value) || math.IsInf(b.Value, 0)) {
			t.Errorf("%q: %+v", text, b)
		}
	})
}

// A bound fails when the interval lies beyond it, passes when the interval lies
// within, and is open in between.
func TestGates(t *testing.T) {
	// Ref "." takes 10% more; it allocates 3 objects instead of 2.
	d, opts := goData(t, 8, func(tr, round int) float64 { return (100 + noise(tr*7+round)) * (1 + 0.1*float64(tr%2)) })
	for _, c := range []struct {
		bound string
		want  GateStatus
	}{
		{"ns/op>3%", GateFailed}, {"ns/op>20%", GatePassed}, {"ns/op>10%", GateUnresolved}, {"median>3%", GateFailed},
		{"ns/op>5", GateFailed}, {"ns/op>1ms", GatePassed}, {"allocs/op>0", GateFailed}, {"allocs/op>1", GatePassed},
		{"example.org/p.X/size=10-8 ns/op>3%", GateFailed}, {"sec/op>3%", GateFailed}, {"sec/op>1e-3", GatePassed}, {"sec/op>5ns", GateFailed},
		{"wall>3%", GatePassed},
	} {
		b, err := ParseBound(c.bound)
		if err != nil {
			t.Fatal(err)
		}
		opts.FailOn = []Bound{b}
		doc, err := d.Document(opts)
		if err != nil {
			t.Fatalf("%s: %v", c.bound, err)
		}
		g := doc.Gates[0] // unpinned, "." against "main"
		if g.Status != c.want || !strings.HasPrefix(g.Text, c.bound) || g.X != "unpinned ref=." {
			t.Errorf("%s: %+v, want %s", c.bound, g, c.want)
		}
	}
	for _, text := range []string{"ns>3%", "ns/op>3KB"} {
		b, err := ParseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		opts.FailOn = []Bound{b}
		doc, err := d.Document(opts)
		if err != nil || doc.GateFault == nil || len(doc.Gates) > 0 || len(doc.Tables) == 0 {
			t.Errorf("%s: %+v, want a fault beside the tables (%v)", text, doc.Gates, err)
		} else if c := doc.GateFault.Error(); text == "ns>3%" && !strings.Contains(c, "compared are ns/op, allocs/op; measured, and compared where a bound names them: b.N, wall") {
			t.Errorf("%s: %s", text, c)
		}
	}
}

// What came of the bounds stands wherever the report does: in its Markdown, of
// which summary.md is one, in its JSON, and on its page.
func TestGatesInEveryInk(t *testing.T) {
	d, opts := goData(t, 8, func(tr, round int) float64 { return (100 + noise(tr*7+round)) * (1 + 0.1*float64(tr%2)) })
	opts.FailOn = []Bound{{Text: "ns/op>3%", Metric: "ns/op", Value: 0.03, Relative: true}, {Text: "ns/op>10%", Metric: "ns/op", Value: 0.1, Relative: true},
		{Text: "allocs/op>1", Metric: "allocs/op", Value: 1}}
	doc, err := d.Document(opts)
	if err != nil {
		t.Fatal(err)
	}
	var markdown, text, page bytes.Buffer
	if err := errors.Join(MarkdownDocument(&markdown, doc), JSONDocument(&text, doc), HTML(&page, &Page{Document: doc})); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Gates []struct {
			Bound, Metric, X, Y, Status, Text string
			Scale                             string `json:"change_scale"`
			Change                            *float64
			Lo                                *float64 `json:"change_lo"`
			Hi                                *float64 `json:"change_hi"`
		}
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Gates) != len(doc.Gates) || len(doc.Gates) < 3 {
		t.Fatalf("%d of %d gates in the JSON", len(got.Gates), len(doc.Gates))
	}
	seen := map[string]bool{}
	for i, g := range doc.Gates {
		j := got.Gates[i]
		scale := map[bool]string{true: "difference", false: "ratio"}[!g.Bound.Relative]
		if j.Bound != g.Bound.Text || j.Status != string(g.Status) || j.X != g.X || j.Scale != scale || j.Change == nil || *j.Change != g.Change.V || *j.Lo != g.CI.Lo || *j.Hi != g.CI.Hi {
			t.Errorf("JSON: %+v of %+v", j, g)
		}
		line := "- " + escapeMarkdown(g.Text)
		if g.Status == GateFailed {
			line = "- **" + escapeMarkdown(g.Text) + "**"
		}
		if !strings.Contains(markdown.String(), line+"\n") {
			t.Errorf("Markdown has no line %q", line)
		}
		if item := `<li class="gate ` + string(g.Status) + `">` + html.EscapeString(g.Text); !strings.Contains(strings.ReplaceAll(page.String(), "&#43;", "+"), item) {
			t.Errorf("the page has no item %q", item)
		}
		seen[j.Status] = true
	}
	if len(seen) != 3 {
		t.Errorf("statuses %v, want all three", seen)
	}
	doc.Gates = nil
	text.Reset()
	page.Reset()
	if err := errors.Join(JSONDocument(&text, doc), HTML(&page, &Page{Document: doc})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), `"gates": []`) || strings.Contains(page.String(), `id="gates"`) {
		t.Error("without a bound there is no empty list in the JSON, or a heading on the page")
	}
}

// A bound is about what is worse: of a rate the fall, of what has no good
// direction any change.
func TestGateDirections(t *testing.T) {
	for _, c := range []struct {
		better metric.Direction
		lo, hi float64
		want   GateStatus
	}{
		{metric.Lower, 0.04, 0.06, GateFailed}, {metric.Lower, 0.02, 0.06, GateUnresolved}, {metric.Lower, -0.9, 0.03, GatePassed},
		{metric.Higher, 0.04, 0.06, GatePassed}, {metric.Higher, -0.06, -0.04, GateFailed}, {metric.Higher, -0.06, 0.5, GateUnresolved},
		{metric.Unknown, 0.04, 0.06, GateFailed}, {metric.Unknown, -0.06, -0.04, GateFailed}, {metric.Unknown, -0.02, 0.03, GatePassed},
		{metric.Unknown, -0.5, 0.01, GateUnresolved}, {metric.Unknown, -0.02, -0.01, GatePassed},
	} {
		g := Gate{CI: stats.Interval{Lo: c.lo, Hi: c.hi, OK: true}}
		if g.judge(0.03, c.better); g.Status != c.want {
			t.Errorf("%q, %v to %v: %s, want %s", c.better, c.lo, c.hi, g.Status, c.want)
		}
	}
}

// TestGateBasis: the bounds keep to each interval, and say so beside the verdict
// that is corrected for the number of comparisons.
func TestGateBasis(t *testing.T) {
	d, opts := goData(t, 6, func(tr, round int) float64 { return (100 + noise(tr*7+round)) * (1 + 0.1*float64(tr%2)) })
	opts.FailOn = []Bound{{Text: "ns/op>0%", Metric: "ns/op", Relative: true}}
	doc, err := d.Document(opts)
	if err != nil {
		t.Fatal(err)
	}
	differs := "; the verdict corrected for all comparisons differs: no claim: 6 rounds cannot resolve anything among 4 comparisons; take 8 or more"
	if g := doc.Gates[0]; len(doc.Gates) != 4 || g.Status != GateFailed || !strings.HasSuffix(g.Text, differs) {
		t.Errorf("%d gates, the first %q", len(doc.Gates), doc.Gates[0].Text)
	}
	if want := "95%, uncorrected: 4 comparisons judged; where nothing changed, up to 0.1 of them fail a bound of 0 by chance"; !strings.Contains(doc.GateBasis, want) {
		t.Errorf("basis %q lacks %q", doc.GateBasis, want)
	}
	opts.FailOn = nil
	if doc, err = d.Document(opts); err != nil || doc.GateBasis != "" || doc.GateFault != nil {
		t.Errorf("without a bound: %q, %v, %v", doc.GateBasis, doc.GateFault, err)
	}
}

// TestSameBinary: two refs that build to one binary are no comparison, whatever
// their times; two modes with one binary are.
func TestSameBinary(t *testing.T) {
	d, opts := goData(t, 10, func(tr, round int) float64 { return (100 + noise(tr*7+round)) * (1 + 0.1*float64(tr%2)) })
	build := func(hash string, treatments ...int) harness.GoBuild {
		return harness.GoBuild{SHA256: hash, GoVersion: "go1.26.0", Treatments: treatments}
	}
	opts.FailOn = []Bound{{Text: "median>0%", Metric: "median", Relative: true}}
	for _, tt := range []struct {
		name        string
		builds      []harness.GoBuild
		same, gates int
	}{
		{"no hash", []harness.GoBuild{build("", 0, 2), build("", 1, 3)}, 0, 8},
		{"two binaries", []harness.GoBuild{build("a", 0, 2), build("b", 1, 3)}, 0, 8},
		{"one binary", []harness.GoBuild{build("a", 0, 2), build("a", 1, 3)}, 4, 4},
		{"layouts of one", []harness.GoBuild{build("a", 0, 2), build("b", 0, 2), build("b", 1, 3), build("a", 1, 3)}, 4, 4},
		{"a layout differs", []harness.GoBuild{build("a", 0, 2), build("b", 0, 2), build("b", 1, 3), build("c", 1, 3)}, 0, 8},
	} {
		opts.Manifest = &harness.Manifest{Builds: tt.builds}
		doc, err := d.Document(opts)
		if err != nil {
			t.Fatal(err)
		}
		same := 0
		for _, c := range doc.Contrasts() {
			if !c.Same {
				continue
			}
			same++
			if c.Location.Verdict.Kind != stats.NotJudged || c.Spread.Verdict.Claims() || c.MedianGrade.Grade != Open {
				t.Errorf("%s: %s against %s: %q", tt.name, c.X, c.Y, c.Location.Verdict.Text)
			}
		}
		if same != tt.same || len(doc.Gates) != tt.gates {
			t.Errorf("%s: %d with itself and %d gates, want %d and %d", tt.name, same, len(doc.Gates), tt.same, tt.gates)
		}
		if said := strings.Contains(doc.GateBasis, fmt.Sprintf("%d of 8 compare a binary with itself: not judged", tt.same)); said != (tt.same > 0) {
			t.Errorf("%s: basis %q", tt.name, doc.GateBasis)
		}
		for _, h := range doc.Headlines {
			if tt.same > 0 && strings.Contains(h.Text, "ref=. is worse than unpinned ref=main") {
				t.Errorf("%s: headline %q", tt.name, h.Text)
			}
		}
	}
}

// Below six rounds there is no interval at 95%, and so no judgement.
func TestGatesOfFewRuns(t *testing.T) {
	for n := range 4 {
		d, opts := goData(t, n, func(tr, round int) float64 { return 100 * (1 + 9*float64(tr%2)) })
		opts.FailOn = []Bound{{Text: "ns/op>3%", Metric: "ns/op", Value: 0.03, Relative: true}}
		doc, err := d.Document(opts)
		if n == 0 {
			if err != nil || doc.GateFault == nil {
				t.Errorf("no run at all: %+v", doc.Gates)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range doc.Gates {
			if g.Status != GateUnresolved || g.CI.OK {
				t.Errorf("n = %d: %+v", n, g)
			}
		}
	}
}

func TestGitHub(t *testing.T) {
	d, opts := goData(t, 8, func(tr, round int) float64 { return (100 + noise(tr*7+round)) * (1 + 0.1*float64(tr%2)) })
	opts.Title = "a|b"
	opts.FailOn = []Bound{{Text: "ns/op>3%", Metric: "ns/op", Value: 0.03, Relative: true}}
	doc, err := d.Document(opts)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := GitHub(&out, doc); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"## a\\|b\n", "- **ns/op&gt;3%: FAILED", "| **higher** |\n", "100.", "+10."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	rows := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			rows++
			if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 9 {
				t.Errorf("%d bars in %q", n, line)
			}
		}
	}
	if rows != 2+8 {
		t.Errorf("%d rows:\n%s", rows, text)
	}
}

// The false alarms of the comparison of a ref with itself: from one set of A/A
// runs of a benchmark, as it came from a busy machine, 100 repetitions of 20
// rounds are drawn (simulated, since 100 experiments would take hours); at most
// five may find the second side slower.
func TestSelfComparisonsFindNothing(t *testing.T) {
	set := selfRuns()
	found, alarms := 0, 0
	for rep := range 100 {
		pick := func(tr, round int) float64 { return set[int(noise(rep*1000+tr*100+round)*float64(len(set)))] }
		d, opts := goData(t, 20, pick)
		opts.FailOn = []Bound{{Text: "ns/op>3%", Metric: "ns/op", Value: 0.03, Relative: true}}
		doc, err := d.Document(opts)
		if err != nil {
			t.Fatal(err)
		}
		c := doc.Tables[0].Contrasts[0]
		if c.Location.Verdict.Kind == stats.HigherVerdict {
			found++
		}
		if doc.Gates[0].Status == GateFailed {
			alarms++
		}
	}
	if found > 5 || alarms > 5 {
		t.Errorf("of 100 comparisons of equal sides %d found the second one slower and %d broke a bound of 3%%", found, alarms)
	}
}

// A metric that only another level of the workload has makes no table: the
// benchmarks of another package.
func TestTablesOfPackages(t *testing.T) {
	b := &builder{}
	a, z := goMetrics("e.org/a", "A"), goMetrics("e.org/z", "Z")
	for _, p := range []string{"./a", "./z", "./none"} {
		b.treat("w", "unpinned", "", lv("package", p))
	}
	for round := range 2 {
		b.run(0, round+1, map[string]float64{a[0].Name: 1e-9}, describe(a[:1]...))
		b.run(1, round+1, map[string]float64{z[0].Name: 2e-9}, describe(z[:1]...))
		b.run(2, round+1, map[string]float64{}, void("no benchmark"))
	}
	d, err := Collect(context.Background(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := d.Tables(Options{Treatments: b.treatments})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range tables {
		got = append(got, tables[i].Name()+": "+tables[i].Metric.Name)
	}
	want := []string{"w package=./a: e.org/a.A ns/op", "w package=./z: e.org/z.Z ns/op", "w package=./none: e.org/a.A ns/op"}
	if !slices.Equal(got, want) {
		t.Errorf("tables %q, want %q", got, want)
	}
}
