package report

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"goset/harness"
)

// sheet is a CSV file read back: one map per line.
type sheet []map[string]string

func readSheet(t *testing.T, r io.Reader) sheet {
	t.Helper()
	c := csv.NewReader(r) // also refuses lines of unequal length
	lines, err := c.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out sheet
	for _, l := range lines[1:] {
		m := map[string]string{}
		for i, h := range lines[0] {
			if _, ok := m[h]; ok {
				t.Fatalf("column %q twice", h)
			}
			m[h] = l[i]
		}
		out = append(out, m)
	}
	return out
}

func open(t *testing.T, path ...string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// again is a second computation of the statistics, on nothing but the lines
// of runs.csv, by other formulas than package stats has.
type again struct{ n, median, sd, min, max, spread, cv float64 }

func recompute(xs []float64) again {
	n := float64(len(xs))
	var sum, dev float64
	for _, x := range xs {
		sum += x
	}
	// The sd over all pairs needs no mean: Σ(xi−xj)² = n²·(population variance)·2.
	for _, x := range xs {
		for _, y := range xs {
			dev += (x - y) * (x - y)
		}
	}
	sd := math.Sqrt(dev / (2 * n * (n - 1)))
	// The median is the value (or the middle of the two) with as many below as above.
	rank := func(k int) float64 {
		for _, x := range xs {
			below, equal := 0, 0
			for _, y := range xs {
				if y < x {
					below++
				} else if y == x {
					equal++
				}
			}
			if below <= k && k < below+equal {
				return x
			}
		}
		return math.NaN()
	}
	med := (rank((len(xs)-1)/2) + rank(len(xs)/2)) / 2
	lo, hi := rank(0), rank(len(xs)-1)
	return again{n, med, sd, lo, hi, (hi - lo) / med, sd / (sum / n)}
}

// TestSecondComputation: medians, sds and the rest from runs.csv are those of
// summary.csv, and those of the table.
func TestSecondComputation(t *testing.T) {
	b := smallSet()
	opts := smallOptions(b)
	dir := t.TempDir()
	if err := WriteAll(t.Context(), dir, b.rs, opts); err != nil {
		t.Fatal(err)
	}
	key := func(m map[string]string, n string) string {
		return strings.Join([]string{m["workload"], m["mode"], m[n], m["fence"], m["elements"], m["metric"]}, "|")
	}
	values := map[string][]float64{}
	for _, l := range readSheet(t, open(t, dir, "runs.csv")) {
		if l["warmup"] == "true" || l["outcome"] != "kept" || l["metric"] == "" {
			continue
		}
		v, err := strconv.ParseFloat(l["value"], 64)
		if err != nil {
			t.Fatal(err)
		}
		values[key(l, "n")] = append(values[key(l, "n")], v)
	}
	compared := 0
	for _, l := range readSheet(t, open(t, dir, "summary.csv")) {
		xs := values[key(l, "n")]
		if l["values"] != strconv.Itoa(len(xs)) {
			t.Errorf("%s: values %s, runs.csv has %d", key(l, "n"), l["values"], len(xs))
		}
		if len(xs) == 0 {
			continue
		}
		want := recompute(xs)
		for name, w := range map[string]float64{"median": want.median, "sd": want.sd, "min": want.min, "max": want.max, "spread": want.spread, "cv": want.cv} {
			if len(xs) == 1 && (name == "sd" || name == "spread" || name == "cv") {
				if l[name] != "" {
					t.Errorf("%s: %s = %q of one value", key(l, "n"), name, l[name])
				}
				continue
			}
			got, err := strconv.ParseFloat(l[name], 64)
			if err != nil || math.Abs(got-w) > 1e-9*math.Abs(w) {
				t.Errorf("%s: %s = %s (%v), second computation %v", key(l, "n"), name, l[name], err, w)
			}
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("only %d numbers compared", compared)
	}
}

// TestTableIsSummary: every number that people see is the one of summary.csv,
// scaled and rounded.
func TestTableIsSummary(t *testing.T) {
	b := smallSet()
	tables := build(t, b.rs, smallOptions(b))
	var buf bytes.Buffer
	if err := SummaryCSV(&buf, tables); err != nil {
		t.Fatal(err)
	}
	lines := readSheet(t, &buf)
	at := 0
	for i := range tables {
		tb := &tables[i]
		f := formatOf(tb)
		for j := range tb.Rows {
			l := lines[at]
			at++
			for _, c := range append(runColumns(), iterationColumns(tb.Metric.Better)...) {
				checkCell(t, tb.Rows[j].Label()+" "+c.head, c, c.cell(&tb.Rows[j], f), f, l)
			}
		}
	}
	if at != len(lines) {
		t.Errorf("%d rows in tables, %d in summary.csv", at, len(lines))
	}
}

func checkCell(t *testing.T, where string, c shown[*Row], text string, f format, l map[string]string) {
	t.Helper()
	from := map[string][]string{"n": {"values"}, "95% interval": {"median_lo", "median_hi"}, "×median": {"median_ratio"}, "×sd": {"sd_ratio"}, "CV": {"cv"},
		"p0.1": {"iterations_p01"}, "p1": {"iterations_p1"}, "p50": {"iterations_p50"}, "p99": {"iterations_p99"}, "p99.9": {"iterations_p999"}}
	names := from[c.head]
	if names == nil {
		names = []string{c.head}
	}
	scale := f.factor
	switch c.head {
	case "n", "iterations", "×median", "×sd":
		scale = 1
	case "CV", "spread":
		scale = 100
	}
	if l[names[0]] == "" {
		if text != undefined && !strings.HasSuffix(text, " needed") {
			t.Errorf("%s: table has %q, summary.csv nothing", where, text)
		}
		return
	}
	for k, part := range strings.Split(text, "–") {
		got, err := strconv.ParseFloat(strings.TrimSuffix(part, "%"), 64)
		want, _ := strconv.ParseFloat(l[names[k]], 64)
		if err != nil || math.Abs(got-want*scale) > 0.005*math.Abs(want*scale) {
			t.Errorf("%s: table has %q, summary.csv %q (times %v)", where, text, l[names[k]], scale)
		}
	}
}

func TestRunsCSV(t *testing.T) {
	b := smallSet()
	b.rs[0].Values["time"] = 0.30000000000000004 // all 17 digits needed
	b.rs[3].Choice = &harness.Choice{Run: 0, Attempt: 1, At: b.rs[0].Start}
	b.rs[4].Choice = &harness.Choice{} // a record that does not say when
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := runsCSV(t.Context(), &buf, d, b.rs); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(buf.String(), "\n")
	if want := "run,attempt,block,position,previous,workload,mode,condition,n,fence,elements,warmup,metric,unit,value,outcome,reason,exit,signal,cpus,start,choice_run,choice_at,counter_cpus,switches"; head != want {
		t.Errorf("header\n%s\nwant\n%s", head, want)
	}
	lines := readSheet(t, &buf)
	rows := 0
	for _, r := range b.rs {
		rows += max(1, len(r.Values))
	}
	if len(lines) != rows {
		t.Errorf("%d lines, want %d", len(lines), rows)
	}
	first := lines[0]
	for k, want := range map[string]string{"run": "0", "attempt": "1", "block": "0", "previous": "", "warmup": "true", "metric": "time", "unit": "s/iteration",
		"value": "0.30000000000000004", "outcome": "kept", "start": "2026-01-02T03:04:00.5Z", "choice_run": "", "choice_at": "", "switches": ""} {
		if first[k] != want {
			t.Errorf("first line: %s = %q, want %q", k, first[k], want)
		}
	}
	seen := map[string]bool{}
	for _, l := range lines {
		if l["outcome"] == "failed" && l["warmup"] == "false" {
			seen["failed"] = true
			if l["metric"] != "" || l["value"] != "" || l["exit"] != "139" || l["signal"] != "SIGSEGV" || !strings.Contains(l["reason"], "at\nline 2") || l["n"] != "2" {
				t.Errorf("failed run: %v", l)
			}
		}
		if l["choice_run"]+l["choice_at"] != "" {
			seen["choice"] = true
			if l["run"] != "3" || l["choice_run"] != "0" || l["choice_at"] != "2026-01-02T03:04:00.5Z" {
				t.Errorf("choice: %v", l)
			}
		}
		if l["switches"] == "3" {
			seen["counters"] = true
			if l["counter_cpus"] != "1" || l["cpus"] != "1" {
				t.Errorf("counters: %v", l)
			}
		}
	}
	if !seen["failed"] || !seen["counters"] || !seen["choice"] {
		t.Errorf("seen %v", seen)
	}
}

func TestIterationsCSV(t *testing.T) {
	b := smallSet()
	dir := t.TempDir()
	if err := WriteAll(t.Context(), dir, b.rs, smallOptions(b)); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(open(t, dir, "iterations.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	lines := readSheet(t, z)
	at := 0
	for _, r := range b.rs {
		for i, v := range r.Iterations["time"] {
			l := lines[at]
			at++
			got, err := strconv.ParseFloat(l["value"], 64)
			if err != nil || got != v || l["iteration"] != strconv.Itoa(i+1) || l["run"] != strconv.Itoa(r.Run) || l["metric"] != "time" || l["unit"] != "s/iteration" || l["mode"] != r.Mode {
				t.Fatalf("line %d: %v, want run %d iteration %d value %v", at, l, r.Run, i+1, v)
			}
		}
	}
	if at != len(lines) {
		t.Errorf("%d lines, want %d", len(lines), at)
	}
}

func TestWriteAllFaults(t *testing.T) {
	b := smallSet()
	dir := t.TempDir()
	for _, name := range []string{"runs.csv", "bench.txt"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "taken"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	err := WriteAll(t.Context(), dir, b.rs, smallOptions(b))
	if err == nil || !strings.Contains(err.Error(), "runs.csv") || !strings.Contains(err.Error(), "bench.txt") {
		t.Errorf("error %v, want both files named", err)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"bench.txt", "contrasts.csv", "iterations.csv.gz", "runs.csv", "summary.csv", "summary.md"}) {
		t.Errorf("files %q: the others are to be written, and nothing left over", got)
	}
	if err := WriteAll(t.Context(), filepath.Join(dir, "missing"), b.rs, smallOptions(b)); err == nil || strings.Count(err.Error(), "cannot write") != 6 {
		t.Errorf("missing folder: %v", err)
	}
}

func TestWriteAllKeepsOldOnFault(t *testing.T) {
	b := smallSet()
	dir := t.TempDir()
	old := []byte("old")
	if err := os.WriteFile(filepath.Join(dir, "runs.csv"), old, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := Collect(t.Context(), b.rs, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	fault := errors.New("line 7 is no record")
	err = writeFile(dir, "runs.csv", func(w io.Writer) error {
		return errors.Join(runsCSV(t.Context(), w, d, b.rs), fault)
	})
	if !errors.Is(err, fault) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "runs.csv")); err != nil || !bytes.Equal(got, old) {
		t.Errorf("runs.csv is %q (%v), want the old one", got, err)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"runs.csv"}) {
		t.Errorf("left over: %q", got)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range es {
		out = append(out, e.Name())
	}
	return out
}

func TestColumnNames(t *testing.T) {
	got := columnNames("factor_", []string{"n", "cpus", "factor_cpus"}, []string{"run", "cpus"})
	if want := []string{"n", "factor_cpus", "factor_factor_cpus"}; !slices.Equal(got, want) {
		t.Errorf("columnNames = %q, want %q", got, want)
	}
}
