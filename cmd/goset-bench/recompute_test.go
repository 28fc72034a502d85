package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// recompute holds summary.csv to a second computation from runs.csv, by other
// formulas than package stats uses: recompute DIR.
func recompute(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: recompute DIR")
	}
	dir := ts.MkAbs(args[0])
	_, runs, err := readCSV(filepath.Join(dir, "runs.csv"))
	ts.Check(err)
	head, summary, err := readCSV(filepath.Join(dir, "summary.csv"))
	ts.Check(err)
	// The factors stand between the mode and the metric.
	at := slices.Index(head, "mode")
	identity := append([]string{"workload"}, head[at:slices.Index(head, "metric")+1]...)
	cells := map[string][]float64{}
	for _, r := range runs {
		if r["outcome"] != "kept" || r["warmup"] == "true" || r["metric"] == "" {
			continue
		}
		v, err := strconv.ParseFloat(r["value"], 64)
		ts.Check(err)
		key := cellKey(r, identity)
		cells[key] = append(cells[key], v)
	}
	checked := 0
	for _, s := range summary {
		xs := cells[cellKey(s, identity)]
		if len(xs) == 0 {
			continue
		}
		for name, want := range secondOpinion(xs) {
			if err := close(s[name], want); err != nil {
				ts.Fatalf("%s of %s: %v", name, cellKey(s, identity), err)
			}
			checked++
		}
	}
	if checked == 0 || len(cells) == 0 {
		ts.Fatalf("nothing to recompute in %s", dir)
	}
	fmt.Fprintf(ts.Stdout(), "recomputed %d numbers of %d cells\n", checked, len(cells))
}

func cellKey(row map[string]string, identity []string) string {
	var parts []string
	for _, column := range identity {
		parts = append(parts, row[column])
	}
	return strings.Join(parts, "/")
}

// secondOpinion computes by the definitions: the median by counting values on
// both sides, the variance from all pairs.
func secondOpinion(xs []float64) map[string]float64 {
	n := float64(len(xs))
	pairs := 0.0
	for i, x := range xs {
		for _, y := range xs[:i] {
			pairs += (x - y) * (x - y)
		}
	}
	lo, hi := slices.Min(xs), slices.Max(xs)
	m := medianByCounting(xs)
	out := map[string]float64{"values": n, "median": m, "min": lo, "max": hi}
	if len(xs) > 1 {
		out["sd"] = math.Sqrt(pairs / n / (n - 1))
	}
	if m > 0 {
		out["spread"] = (hi - lo) / m
	}
	return out
}

// medianByCounting is the middle of the values that have at most half of the
// others on either side.
func medianByCounting(xs []float64) float64 {
	var middle []float64
	for _, x := range xs {
		below, above := 0, 0
		for _, y := range xs {
			switch {
			case y < x:
				below++
			case y > x:
				above++
			}
		}
		if 2*below <= len(xs) && 2*above <= len(xs) {
			middle = append(middle, x)
		}
	}
	return (slices.Min(middle) + slices.Max(middle)) / 2
}

func close(text string, want float64) error {
	got, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q is no number", text)
	}
	if math.Abs(got-want) > 1e-9*math.Max(math.Abs(want), 1e-300) {
		return fmt.Errorf("%v in summary.csv, %v from runs.csv", got, want)
	}
	return nil
}

func readCSV(file string) (head []string, out []map[string]string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, nil, fmt.Errorf("cannot read %q: %v, %d rows", file, err, len(rows))
	}
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		out = append(out, m)
	}
	return rows[0], out, nil
}

func TestMedianByCounting(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{1, 2}, 1.5}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{1, 1, 1, 9}, 1}, {[]float64{1, 1, 9, 9}, 5}} {
		if got := medianByCounting(c.xs); got != c.want {
			t.Errorf("%v: %v, want %v", c.xs, got, c.want)
		}
	}
}
