package report

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"goset/harness"
	"goset/metric"
)

var update = flag.Bool("update", false, "write the golden files anew")

// records is a Source in memory.
type records []harness.Record

func (rs records) Each(_ context.Context, f func(*harness.Record) error) error {
	for i := range rs {
		r := rs[i] // a copy: what a Source yields is valid only during the call
		if err := f(&r); err != nil {
			return err
		}
	}
	return nil
}

// builder makes records with little to write.
type builder struct {
	rs         records
	treatments []harness.Treatment
	described  map[string]bool
}

// treat declares a treatment and returns its index.
func (b *builder) treat(workload, mode, condition string, levels ...harness.Level) int {
	i := len(b.treatments)
	b.treatments = append(b.treatments, harness.Treatment{Index: i, Workload: workload, Mode: mode, Condition: condition, Levels: levels})
	return i
}

// run adds a record; edit may change it.
func (b *builder) run(t, block int, values map[string]float64, edit ...func(*harness.Record)) {
	tr := b.treatments[t]
	r := harness.Record{
		Run: len(b.rs), Attempt: 1, Block: block, Position: t + 1, Treatment: t, Previous: len(b.rs) - 1,
		Workload: tr.Workload, Mode: tr.Mode, Condition: tr.Condition, Levels: tr.Levels,
		Start: time.Date(2026, 1, 2, 3, 4, len(b.rs), 500_000_000, time.UTC), Outcome: harness.Kept, Values: values,
	}
	for _, e := range edit {
		e(&r)
	}
	b.rs = append(b.rs, r)
}

func void(reason string) func(*harness.Record) {
	return func(r *harness.Record) { r.Outcome, r.Reason = harness.Void, reason }
}

func failed(exit int, reason string) func(*harness.Record) {
	return func(r *harness.Record) { r.Outcome, r.Exit, r.Reason = harness.Failed, exit, reason }
}

func on(cpus string) func(*harness.Record) { return func(r *harness.Record) { r.CPUs = cpus } }

func describe(ms ...metric.Metric) func(*harness.Record) {
	return func(r *harness.Record) { r.Metrics = ms }
}

func iterations(name string, xs []float64) func(*harness.Record) {
	return func(r *harness.Record) { r.Iterations = map[string][]float64{name: xs} }
}

func lv(factor, value string) harness.Level { return harness.Level{Factor: factor, Value: value} }

// ramp gives n iterations about v with a long tail, always the same.
func ramp(v float64, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = v * (1 + 0.001*float64(i*7919%n)/float64(n))
		if i%100 == 99 {
			xs[i] = 1.5 * v
		}
	}
	return xs
}

// smallSet has rows of n = 6, 2, 1 and 0, void, failed, retried and warm-up
// runs, a workload with a factor of its own, and a name that has to be quoted.
func smallSet() *builder {
	b := &builder{}
	time := metric.Metric{Name: "time", Unit: "s/iteration", Show: "ms/iteration", Better: metric.Lower, Shown: true}
	wall := metric.Metric{Name: "wall", Unit: "s", Better: metric.Lower}
	triad := metric.Metric{Name: "triad", Unit: "B/s", Show: "MB/s", Better: metric.Higher, Shown: true}
	unpinned := b.treat("jitter", "unpinned", "")
	taskset := b.treat("jitter", "taskset", "")
	g1 := b.treat("jitter", "goset", "", lv("n", "1"), lv("fence", "true"))
	g2 := b.treat("jitter", "goset", "", lv("n", "2"), lv("fence", "true"))
	var stream [2][2]int
	for i, e := range []string{"1000", "2000"} {
		for j, m := range []string{"unpinned", "taskset"} {
			stream[i][j] = b.treat("stream", m, "", lv("elements", e))
		}
	}
	b.run(unpinned, 0, map[string]float64{"time": 9, "wall": 9}, describe(time, wall), func(r *harness.Record) { r.Warmup, r.Previous = true, -1 })
	b.run(g2, 0, nil, failed(2, "exit status 2"), func(r *harness.Record) { r.Warmup = true })
	for i, v := range []float64{0.0050512, 0.0050634, 0.0050478, 0.0052101, 0.0050590, 0.0050555} {
		b.run(unpinned, i+1, map[string]float64{"time": v, "wall": 300 * v}, iterations("time", ramp(v, 200)))
	}
	for i, v := range []float64{0.0050112, 0.0060} {
		b.run(taskset, i+1, map[string]float64{"time": v, "wall": 300 * v}, on([]string{"0", "1"}[i]), iterations("time", ramp(v, 30)),
			func(r *harness.Record) { r.Warnings = []string{"the machine was busy: load 3.1 on 2 CPUs"} })
	}
	b.run(taskset, 3, map[string]float64{"wall": 1}, void(`pattern of metric "time" matched nothing`))
	b.run(g1, 1, map[string]float64{"time": 0.0050022, "wall": 1.5}, on("1"), func(r *harness.Record) {
		r.Counters = map[string]float64{"switches": 3, "cpus": 1}
	})
	for i := range 5 {
		b.run(g2, i+1, nil, failed(139, "ended by signal SIGSEGV: \x1b[31mfault|at\nline 2"), func(r *harness.Record) { r.Signal, r.Attempt = "SIGSEGV", 1+i%2 })
	}
	for i := range stream {
		for j := range stream[i] {
			for k := range 6 {
				b.run(stream[i][j], k+1, map[string]float64{"triad": 1.2e10 + 1e8*float64(k*(j+1)) + 1e9*float64(i)}, describe(triad))
			}
		}
	}
	return b
}

func smallOptions(b *builder) Options {
	return Options{Experiment: "small", Title: "A small set", Baseline: "unpinned", Treatments: b.treatments, ModeFactors: []string{"n", "fence"}}
}

// golden compares with a file of testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff.Diff(name, want, "got", got); d != nil {
		t.Errorf("%s differs; -update writes it anew:\n%s", name, d)
	}
}
