package report

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goset/harness"
	"goset/isolation"
)

// clockless executes nothing: every job "takes" a time that follows from its
// number, and every seventh fails.
type clockless struct{ n int }

func (c *clockless) Execute(_ context.Context, _ harness.Job) (harness.Result, error) {
	c.n++
	r := harness.Result{Start: time.Unix(int64(c.n), 0).UTC(), Wall: time.Duration(1000+c.n*37%100) * time.Microsecond, MaxRSS: 4096, Voluntary: int64(c.n % 3)}
	if c.n%7 == 0 {
		r.Exit = 3
	}
	return r, nil
}

// TestResultFolder goes the whole way: a plan that the harness ran, its folder,
// the derived files beside it.
func TestResultFolder(t *testing.T) {
	e := &harness.Experiment{Name: "trial", Title: "A trial", Text: []byte("title = \"A trial\"\n"), Plan: harness.PlanSpec{Runs: 10, Order: harness.OrderInterleaved, Baseline: "a"}}
	e.Workloads = []harness.Workload{{Name: "w", Command: []string{"true"}}}
	p := &harness.Plan{Seed: 1}
	for i, m := range []string{"a", "b"} {
		mode := isolation.Mode{Name: m}
		e.Modes = append(e.Modes, harness.ModeSpec{Name: m, Layers: mode})
		p.Treatments = append(p.Treatments, harness.Treatment{Index: i, Workload: "w", Mode: m, Spec: e.Workloads[0], Layers: mode, Args: []string{"true"}})
	}
	for b := range 10 {
		for i := range p.Treatments {
			p.Runs = append(p.Runs, harness.Run{Treatment: int32(i), Block: int32(b + 1), Position: int32(i + 1)})
		}
	}
	dir := filepath.Join(t.TempDir(), "results")
	if _, err := harness.Execute(t.Context(), harness.Session{Experiment: e, Plan: p, Dir: dir, Executor: &clockless{}, Extractor: harness.NewExtractor}); err != nil {
		t.Fatal(err)
	}
	res, err := harness.OpenResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	opts := OptionsOf(res.Manifest)
	opts.ModeFactors = ModeFactors(e.Modes)
	if err := WriteAll(t.Context(), dir, res, opts); err != nil {
		t.Fatal(err)
	}
	tables, err := Build(t.Context(), res, opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != 1 || tables[0].Metric.Name != "wall" || tables[0].Counts.Kept+tables[0].Counts.Failed != 20 || tables[0].Counts.Failed != 2 || tables[0].Baseline != "a" {
		t.Errorf("tables %+v", tables)
	}
	for name, want := range map[string]string{"summary.md": "runs: 18 kept, 0 void, 2 failed", "bench.txt": "wall-sec", "summary.csv": "max-rss", "runs.csv": "exit"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q (%v):\n%s", name, want, err, text)
		}
	}
}
