package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

const goBench = `goos: linux
pkg: example.com/x
BenchmarkA-2   100  50.0 ns/op  16 B/op  2 MB/s
BenchmarkA-2   100  51.0 ns/op  16 B/op  2 MB/s
BenchmarkB/size=4-2   100  7 widgets/op
PASS
`

func TestExternalGoBenchmarks(t *testing.T) {
	var x External
	for _, name := range []string{"old.txt", "dir/new.txt"} {
		if err := x.Add(name, []byte(goBench), 2); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.treatments) != 4 || x.treatments[2].Mode != "new" || x.treatments[0].Workload != "example.com/x.A-2" || x.treatments[1].Workload != "example.com/x.B/size=4-2" {
		t.Errorf("treatments %+v", x.treatments)
	}
	r := x.records[1]
	if r.Values["sec/op"] != 51e-9 || r.Block != 2 || r.Outcome != harness.Kept {
		t.Errorf("second record %+v", r)
	}
	want := []metric.Metric{
		{Name: "sec/op", Unit: "s/op", Better: metric.Lower, Shown: true},
		{Name: "B/op", Unit: "B/op", Better: metric.Lower, Shown: true},
		{Name: "B/s", Unit: "B/s", Better: metric.Higher, Shown: true},
	}
	if !slices.Equal(r.Metrics, want) {
		t.Errorf("metrics %+v, want %+v", r.Metrics, want)
	}
	if o := x.Options(); o.Baseline != "old" || !o.Unblocked {
		t.Errorf("options %+v", o)
	}
}

func TestExternalOwnBenchFile(t *testing.T) {
	b := compared{n: 6, scale: 1}.build()
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := Bench(&text, d, Options{ModeFactors: []string{}}); err != nil {
		t.Fatal(err)
	}
	var x External
	if err := x.Add("bench.txt", text.Bytes(), 1); err != nil {
		t.Fatal(err)
	}
	back, err := Collect(t.Context(), &x, x.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.modes(); !slices.Equal(got, []string{"unpinned", "unpinned#2", "taskset", "goset"}) {
		t.Errorf("modes %q", got)
	}
	doc, err := back.Document(x.Options())
	if err != nil {
		t.Fatal(err)
	}
	if c := contrastOf(t, doc, 0, "goset"); c.Blocked || c.N != 6 {
		t.Errorf("values without rounds are compared as %+v", c)
	}
	if i := slices.IndexFunc(doc.Rules, func(r Rule) bool { return r.Number == 9 }); doc.Rules[i].Status != RuleFail {
		t.Error("an unknown set-up passes for a documented one")
	}
}

const hyperfine = `{"results": [
  {"command": "true", "mean": 1, "times": [0.001, 0.002, 0.003], "exit_codes": [0, 1, null]},
  {"command": "sleep {t}", "times": [0.5], "parameters": {"t": "0.5"}}]}`

func TestExternalHyperfine(t *testing.T) {
	var x External
	if err := x.Add("a.json", []byte(hyperfine), 1); err != nil {
		t.Fatal(err)
	}
	if len(x.records) != 4 || x.treatments[0].Mode != "true" || x.treatments[1].Mode != `sleep {t} t="0.5"` || x.treatments[0].Workload != "hyperfine" {
		t.Errorf("treatments %+v of %d records", x.treatments, len(x.records))
	}
	for i, want := range []harness.Outcome{harness.Kept, harness.Failed, harness.Failed, harness.Kept} {
		if got := x.records[i].Outcome; got != want {
			t.Errorf("record %d: %s, want %s", i, got, want)
		}
	}
	// Of two files, each is a mode and each command a workload.
	var two External
	for _, name := range []string{"a.json", "b.json"} {
		if err := two.Add(name, []byte(hyperfine), 2); err != nil {
			t.Fatal(err)
		}
	}
	if len(two.treatments) != 4 || two.treatments[2].Mode != "b" || two.treatments[0].Workload != "true" {
		t.Errorf("treatments of two files %+v", two.treatments)
	}
}

// TestExternalModesOfTwoFiles: what would be pooled in silence is refused.
func TestExternalModesOfTwoFiles(t *testing.T) {
	keyed := "mode: quiet\n" + goBench
	for _, c := range []struct {
		names [2]string
		text  string
		want  string // part of the error; "": none
	}{
		{[2]string{"old.txt", "new.txt"}, goBench, ""},
		{[2]string{"old.txt", "old.txt"}, goBench, "give it once"},
		{[2]string{"monday/bench.txt", "tuesday/bench.txt"}, goBench, `cannot tell "tuesday/bench.txt" from "monday/bench.txt": both have results of mode "bench"`},
		{[2]string{"monday.txt", "tuesday.txt"}, keyed, `both have results of mode "quiet" (their results say so`},
		{[2]string{"monday/a.json", "tuesday/a.json"}, hyperfine, "give the files different names"},
	} {
		var x External
		if err := x.Add(c.names[0], []byte(c.text), 2); err != nil {
			t.Fatal(err)
		}
		err := x.Add(c.names[1], []byte(c.text), 2)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.names, err, c.want)
		}
	}
}

func TestExternalFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                "no result in it",
		"hello\n":         "no result in it",
		"{}":              "no result in it",
		"{":               "begins like JSON and is none",
		`{"results": 5}`:  "looks like hyperfine's JSON and is none",
		`{"results": []}`: "no result in it, and it looks like a file of format hyperfine",
		`{"counter-value": "5", "event": "cycles"}`:                                                                                    "perf stat -j is not read: give it -x, instead",
		"\n Performance counter stats for 'true':\n\n 1 msec task-clock\n":                                                             "perf stat prints for people: give it -x,",
		`{"mean": {"point_estimate": 1}, "std_dev": {"point_estimate": 1}}`:                                                            "no values of single runs: criterion's estimates are of its samples: give the sample.json",
		"77,,context-switches,0.52%,12340000,100.00,,\n":                                                                               "no values of single runs: perf stat -r prints the means of its runs and not the runs",
		"     1.000123456,77,,cycles,100,100.00,,\n":                                                                                   "leave -I out",
		`{"benchmarks": [{"name": "a_median", "run_name": "a", "run_type": "aggregate", "aggregate_name": "median", "real_time": 1}]}`: "leave --benchmark_report_aggregates_only out",
		`{"benchmarks": []}`:              "no result in it, and it looks like a file of format google-benchmark",
		`{"results": [{"command": "x"}]}`: `command "x" has no times`,
		`{"results": [{"command": "x", "times": [1, 2], "exit_codes": [0]}]}`: "2 times and 1 exit codes",
		`{"results": [{"command": "x", "times": [1, null]}]}`:                 "time 2 of 2 is null",
		"BenchmarkX 100 NaN ns/op\n":                                          "not a finite number",
		"BenchmarkX 100 1 ns/op 2 ns/op\n":                                    "twice",
		"BenchmarkX 1x0 1 ns/op\n":                                            `1 line that looks like a benchmark result cannot be read: "BenchmarkX 1x0 1 ns/op"`,
	} {
		var x External
		if err := x.Add("f", []byte(text), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A file is read as the output of a run is: what prints tore apart and the
// events of go test -json too. What cannot be read is counted and shown.
func TestExternalHostileBenchmarks(t *testing.T) {
	const event = `{"Action":"output","Package":"p","Output":"%s\n"}` + "\n"
	for _, c := range []struct {
		name, text string
		values     []float64 // of sec/op
		notes      []string
	}{
		{"print", "pkg: p\nBenchmarkX-2 \thello\n     100\t  5 ns/op\n", []float64{5e-9}, nil},
		{"events", `{"Action":"start","Package":"p"}` + "\n" + fmt.Sprintf(event, `BenchmarkX-2 \t     100\t  5 ns/op`), []float64{5e-9}, nil},
		{"mark", "\ufeffpkg: p\r\nBenchmarkX-2 100 5 ns/op\r\n", []float64{5e-9}, nil},
		{"cut", "pkg: p\nBenchmarkX-2 100 5 ns/op\nBenchmarkX-2 10", []float64{5e-9}, []string{`f: 1 line that looks like a benchmark result cannot be read: "BenchmarkX-2 10"`}},
		{"panic", "pkg: p\nBenchmarkX-2 100 5 ns/op\nBenchmarkY-2 \tpanic: no\n\ngoroutine 1\nBenchmarkZ 1x 2 ns/op\nFAIL\n", []float64{5e-9}, []string{`f: 2 lines that look like benchmark results cannot be read, the first: "BenchmarkY-2 \tpanic: no"`}},
		{"infinite", "pkg: p\nBenchmarkX-2 100 5 ns/op NaN ratio\nBenchmarkX-2 100 5 ns/op +Inf ratio\n", []float64{5e-9, 5e-9},
			[]string{`f: 2 values are left out, because they are not finite numbers, the first: benchmark "X-2" has ratio = NaN`}},
		{"one infinite", "pkg: p\nBenchmarkX-2 100 5 ns/op NaN ratio\n", []float64{5e-9}, []string{`f: 1 value is left out, because it is not a finite number: benchmark "X-2" has ratio = NaN`}},
	} {
		var x External
		if err := x.Add("f", []byte(c.text), 1); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []float64
		for i := range x.records {
			if r := &x.records[i]; r.Workload != "p.X-2" || len(r.Values) != 1 {
				t.Errorf("%s: record %+v", c.name, r)
			}
			got = append(got, x.records[i].Values["sec/op"])
		}
		if !slices.Equal(got, c.values) || !slices.Equal(x.Options().Notes, c.notes) {
			t.Errorf("%s: values %v, notes %q, want %v and %q", c.name, got, x.Options().Notes, c.values, c.notes)
		}
		d, err := Collect(t.Context(), &x, x.treatments, 0)
		if err != nil {
			t.Fatal(err)
		}
		if doc, err := d.Document(x.Options()); err != nil || len(c.notes) > 0 && !slices.Contains(doc.Notes, c.notes[0]) {
			t.Errorf("%s: %v, or a document without the notes", c.name, err)
		}
	}
}

// FuzzExternal: whatever a file holds, its records have finite values and a
// report of them can be made.
func FuzzExternal(f *testing.F) {
	f.Add([]byte(goBench))
	f.Add([]byte(hyperfine))
	f.Add([]byte("Unit ns/op better=higher\nBenchmarkX 1 1 ns/op\nmode: a\nBenchmarkX 1 1 ns/op\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var x External
		if len(text) > 1<<12 || x.Add("f", text, 1) != nil {
			return
		}
		d, err := Collect(t.Context(), &x, x.treatments, 0)
		if err != nil {
			return // one unit of two meanings
		}
		doc, err := d.Document(x.Options())
		if err != nil {
			t.Fatalf("no document: %v", err)
		}
		var out bytes.Buffer
		if err := JSONDocument(&out, doc); err != nil {
			t.Errorf("%v", err)
		}
	})
}

func TestCompareFolders(t *testing.T) {
	side := func(name string, c compared, m harness.Manifest) Side {
		b := c.build()
		d, err := Collect(t.Context(), b.rs, b.treatments, 0)
		if err != nil {
			t.Fatal(err)
		}
		return Side{Name: name, Data: d, Opts: Options{Baseline: "unpinned", ModeFactors: []string{}, Manifest: &m}}
	}
	old := side("monday", compared{n: 12, scale: 1}, harness.Manifest{Text: "a\n", Seed: 1, Tool: "v1", Host: []byte(`{"kernel":"6.1"}`)})
	now := side("tuesday", compared{n: 12, scale: 1, shift: 0.05}, harness.Manifest{Text: "a\nb\n", Seed: 2, Tool: "v1", Host: []byte(`{"kernel":"6.12","smt":false}`)})
	d, err := Compare(old, now)
	if err != nil {
		t.Fatal(err)
	}
	if want := []FactChange{{"host.kernel", "6.1", "6.12"}, {"host.smt", "", "false"}}; !slices.Equal(d.Facts, want) {
		t.Errorf("facts %+v, want %+v", d.Facts, want)
	}
	if !strings.Contains(d.TextDiff, "+b") || len(d.Cells) != 8 {
		t.Errorf("%d cells, diff %q", len(d.Cells), d.TextDiff)
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		goset := strings.HasSuffix(c.Name, "/goset")
		if c.Location.Verdict.Claims() != goset || c.Location.Family != 8 || c.Blocked {
			t.Errorf("%s: %s (family %d)", c.Name, c.Location.Verdict.Text, c.Location.Family)
		}
		if goset && c.Location.Verdict.Kind != stats.HigherVerdict {
			t.Errorf("%s: %s, want new against old", c.Name, c.Location.Verdict.Text)
		}
	}
	for text, want := range map[string]int{"median>3%": 2, "median>10%": 0, "sd>50%": 0, "sd>50%,median>1%": 2} {
		limits, err := ParseLimits(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Broken(limits); len(got) != want {
			t.Errorf("%s: broken %q, want %d", text, got, want)
		}
	}
	// The other way round it got better.
	back, err := Compare(now, old)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Broken([]Bound{{Metric: "median", Relative: true}}); len(got) > 0 {
		t.Errorf("broken %q by what got better", got)
	}
	var out bytes.Buffer
	if err := CompareText(&out, d, TextOptions{}); err != nil || !strings.Contains(out.String(), "host.smt: absent → false") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestCompareOneSidedCells(t *testing.T) {
	b := compared{n: 2, scale: 1}.build()
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := Collect(t.Context(), records(nil), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	diff, err := Compare(Side{Name: "a", Data: d, Opts: Options{ModeFactors: []string{}}}, Side{Name: "b", Data: empty})
	if err != nil || len(diff.Cells) != 0 || len(diff.OnlyOld) != 8 || len(diff.OnlyNew) != 0 {
		t.Errorf("%+v, %v", diff, err)
	}
}

func TestParseLimits(t *testing.T) {
	got, err := ParseLimits("median > 3%,sd>20.5%")
	if want := []Bound{{Text: "median > 3%", Metric: "median", Value: 0.03, Relative: true}, {Text: "sd>20.5%", Metric: "sd", Value: 0.205, Relative: true}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "median", "median>3", "mean>3%", "median<3%", "median>-3%", "median>3%%", "median>3%x", "median>NaN%", "median>3%,", "median>3ms", "sd>1e999%"} {
		if got, err := ParseLimits(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestNoiseFloors(t *testing.T) {
	floors := func(c compared) []NoiseFloor {
		b := c.build()
		d, err := Collect(t.Context(), b.rs, b.treatments, 0)
		if err != nil {
			t.Fatal(err)
		}
		out, err := d.NoiseFloors(Options{Baseline: "unpinned", ModeFactors: []string{}}, 50)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	fs := floors(compared{n: 12, scale: 1})
	if len(fs) != 2 || fs[0].Both.N != 24 || fs[0].Splits != 50 || fs[0].Failed || !fs[0].Change.OK || !fs[0].Ratio.OK {
		t.Fatalf("%+v", fs)
	}
	if fs[0].LocationClaims > 12 || fs[0].SpreadClaims > 12 {
		t.Errorf("%d and %d claims in 50 splits of equal modes", fs[0].LocationClaims, fs[0].SpreadClaims)
	}
	if bad := floors(compared{n: 12, scale: 1, control: 0.05}); !bad[0].Failed || !bad[1].Failed {
		t.Error("a baseline that differs from itself passes")
	}
	for n := range 3 {
		few := floors(compared{n: n, scale: 1})
		if few[0].Failed || few[0].Change.OK || few[0].Comparison.Location.Verdict.Kind != stats.NoClaim {
			t.Errorf("n = %d: %+v", n, few[0].SelfCheck)
		}
		var out bytes.Buffer
		if err := NoiseText(&out, few, TextOptions{}); err != nil || strings.Contains(out.String(), "NaN") {
			t.Errorf("n = %d: %v\n%s", n, err, out.String())
		}
	}
}
