package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"goset/metric"
)

func benchText(t *testing.T, b *builder, opts Options) []byte {
	t.Helper()
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Bench(&out, d, opts); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBenchReadBack: the format's own reader gives back every value of every
// kept run, in order, under its configuration, and finds no fault.
func TestBenchReadBack(t *testing.T) {
	b := smallSet()
	text := benchText(t, b, smallOptions(b))
	golden(t, "small.bench.txt", text)
	type key struct{ name, mode, n, unit string }
	got := map[key][]float64{}
	r := benchfmt.NewReader(bytes.NewReader(text), "bench.txt")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			if rec.GetConfig("experiment") != "small" {
				t.Errorf("experiment = %q", rec.GetConfig("experiment"))
			}
			for _, v := range rec.Values {
				k := key{string(rec.Name), rec.GetConfig("mode"), rec.GetConfig("n"), v.Unit}
				got[k] = append(got[k], v.Value)
			}
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[key][]float64{}
	for _, rec := range b.rs {
		if rec.Warmup || rec.Outcome != "kept" {
			continue
		}
		for name, v := range rec.Values {
			k := key{mode: rec.Mode, name: "Jitter", unit: map[string]string{"time": "time-sec/iteration", "wall": "wall-sec", "triad": "triad-B/s"}[name]}
			for _, l := range rec.Levels {
				if l.Factor == "n" {
					k.n = l.Value
				}
				if l.Factor == "elements" {
					k.name = "Stream/elements=" + l.Value
				}
			}
			want[k] = append(want[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d samples read back, want %d", len(got), len(want))
	}
	for k, w := range want {
		if len(got[k]) != len(w) {
			t.Errorf("%v: %v, want %v", k, got[k], w)
			continue
		}
		for i := range w {
			if got[k][i] != w[i] {
				t.Errorf("%v: value %d is %v, want %v", k, i, got[k][i], w[i])
			}
		}
	}
	for unit, sign := range map[string]int{"time-sec/iteration": -1, "triad-B/s": 1} {
		if s := r.Units().GetBetter(unit); s != sign {
			t.Errorf("better of %s is %d, want %d", unit, s, sign)
		}
	}
}

// TestBenchstat: benchstat reads the file without a warning and finds the
// medians that the table has.
func TestBenchstat(t *testing.T) {
	b := &builder{}
	m := metric.Metric{Name: "time", Unit: "s/iteration", Show: "ms/iteration", Better: metric.Lower, Shown: true}
	for _, steps := range []string{"1000", "2000"} {
		for j, mode := range []string{"unpinned", "goset"} {
			u := b.treat("jitter-2", mode, "", lv("steps", steps))
			for i := range 10 {
				b.run(u, i+1, map[string]float64{"time": 0.005 + 1e-5*float64((i*7+j)%10) + float64(j)*1e-3, "wall": 1 + 0.01*float64(i)}, describe(m, metric.Metric{Name: "wall", Unit: "s", Better: metric.Lower}))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, benchText(t, b, Options{Experiment: "e"}), 0o666); err != nil {
		t.Fatal(err)
	}
	found := benchstatMedians(t, path)
	for _, tb := range build(t, b.rs, Options{Baseline: "unpinned", All: true}) {
		for _, r := range tb.Rows {
			k := strings.Join([]string{tb.Metric.Name, "Jitter-2/steps=" + tb.Levels[0].Value, r.Mode}, "|")
			// benchstat's own quantile formula rounds differently in the last digits.
			if got, ok := found[k]; !ok || math.Abs(got-r.Summary.Median.V) > 1e-12 {
				t.Errorf("%s: benchstat's median %v (%v), the table's %v", k, got, ok, r.Summary.Median.V)
			}
		}
	}
}

// benchstatMedians runs benchstat and reads its CSV: "metric|name|mode".
func benchstatMedians(t *testing.T, path string) map[string]float64 {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("go", "tool", "benchstat", "-col", "mode", "-format", "csv", path)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("benchstat: %v\n%s", err, &stderr)
	}
	if stderr.Len() > 0 {
		t.Errorf("benchstat warns:\n%s", &stderr)
	}
	t.Logf("benchstat:\n%s", stdout.String())
	c := csv.NewReader(&stdout)
	c.FieldsPerRecord = -1
	lines, err := c.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	var modes, units []string
	for _, l := range lines {
		switch {
		case l[0] == "" && len(l) > 1 && strings.Contains(strings.Join(l, " "), "unpinned"):
			modes = l
		case l[0] == "" && strings.Contains(strings.Join(l, " "), "-sec"):
			units = l
		case strings.HasPrefix(l[0], "Jitter"):
			for i, mode := range modes {
				if mode == "" {
					continue
				}
				v, err := strconv.ParseFloat(l[i], 64)
				if err != nil {
					t.Fatalf("%q: %v", l, err)
				}
				m, _, _ := strings.Cut(units[i], "-")
				found[m+"|"+l[0]+"|"+mode] = v
			}
		}
	}
	return found
}

func TestBenchNames(t *testing.T) {
	for in, want := range map[string]string{"jitter": "Jitter", "my task": "My_task", "chase-192": "Chase_192", "a/b": "A_b", "größe": "Größe", "1st": "1st", "x-": "X_", "": ""} {
		if got := benchName(in, nil); got != want {
			t.Errorf("benchName(%q) = %q, want %q", in, got, want)
		}
	}
	ms := []metric.Metric{{Name: "p99 latency", Unit: "s"}, {Name: "p99_latency", Unit: "s"}, {Name: "ns", Unit: "s/op"}, {Name: "a/b-c", Unit: "B/s"}, {Name: "faults"}}
	if got, want := strings.Join(benchUnits(ms), " "), "p99_latency-sec p99_latency_2-sec ns_-sec/op a_b_c-B/s faults"; got != want {
		t.Errorf("benchUnits = %q, want %q", got, want)
	}
}

// FuzzBench holds that whatever names come from outside, the format's reader
// gives the value back.
func FuzzBench(f *testing.F) {
	f.Add("jitter", "goset", "time", "s/iteration", "n", "2", 0.5)
	f.Add("a-8 b/c", "Unit x", "ns/MB", "", "Mode:", " ", -1e-300)
	f.Add("", "\n", "*", "s", "cpus", "\u2028", 0.0)
	f.Fuzz(func(t *testing.T, workload, mode, name, unit, factor, level string, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) || strings.Contains(unit, "ns") || strings.Contains(unit, "MB") {
			t.Skip()
		}
		b := &builder{}
		b.run(b.treat(workload, mode, "", lv(factor, level)), 1, map[string]float64{name: v}, describe(metric.Metric{Name: name, Unit: unit, Better: metric.Lower}))
		text := benchText(t, b, Options{Experiment: mode, ModeFactors: []string{factor}})
		r := benchfmt.NewReader(bytes.NewReader(text), "")
		n := 0
		for r.Scan() {
			switch rec := r.Result().(type) {
			case *benchfmt.SyntaxError:
				t.Fatalf("%v in\n%s", rec, text)
			case *benchfmt.Result:
				if n++; len(rec.Values) != 1 || rec.Values[0].Value != v {
					t.Fatalf("read %v, want %v, in\n%s", rec.Values, v, text)
				}
			}
		}
		if n != 1 {
			t.Fatalf("%d results in\n%s", n, text)
		}
	})
}
