package report

import (
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/perf/benchfmt"

	"goset/harness"
	"goset/metric"
)

// goBenches writes the Go benchmarks of a treatment as go test would have:
// a line per run and benchmark, with its own name, b.N and units. GOMAXPROCS
// stands behind the name where it is not 1, and package, ref and toolchain are
// configuration lines.
func (b *benchInk) goBenches(d *Data, t *treatment, config []benchfmt.Config, opts Options) error {
	config = append(config, goConfig(t, opts.Manifest)...)
	metrics := d.workloads[t.workload].metrics
	for run := range t.counts.Kept {
		for _, g := range goLines(metrics) {
			res := &benchfmt.Result{Name: benchfmt.Name(goName(g.name, t.procs)), Iters: 1}
			for _, i := range g.metrics {
				v, ok := t.lookup(i).of(run)
				if !ok {
					continue
				}
				if m := &metrics[i]; m.Line == metric.Iterations {
					res.Iters = int(v)
				} else {
					res.Values = append(res.Values, benchfmt.Value{Value: metric.Restore(v, m.Line), Unit: m.Line})
				}
			}
			if len(res.Values) == 0 {
				continue
			}
			res.Config = config
			if g.pkg != "" {
				res.Config = append(config[:len(config):len(config)], benchfmt.Config{Key: "pkg", Value: []byte(g.pkg), File: true})
			}
			if err := b.w.Write(res); err != nil {
				return err
			}
		}
	}
	return nil
}

// of is the value of a kept run.
func (c *cell) of(run int) (float64, bool) {
	i, ok := slices.BinarySearchFunc(c.at, int32(run), func(a, b int32) int { return cmp.Compare(a, b) })
	if !ok {
		return 0, false
	}
	return c.values[i], true
}

// goLine is the metrics of one benchmark.
type goLine struct {
	pkg, name string
	metrics   []int
}

// goLines groups metrics by benchmark, in their order.
func goLines(metrics []metric.Metric) []goLine {
	var out []goLine
	for i, m := range metrics {
		if m.Benchmark == "" {
			continue
		}
		at := slices.IndexFunc(out, func(g goLine) bool { return g.pkg == m.Package && g.name == m.Benchmark })
		if at < 0 {
			at = len(out)
			out = append(out, goLine{pkg: m.Package, name: m.Benchmark})
		}
		out[at].metrics = append(out[at].metrics, i)
	}
	return out
}

func goName(name string, procs int) string {
	if procs > 1 {
		return fmt.Sprintf("%s-%d", name, procs)
	}
	return name
}

// goConfig is what the manifest knows of the binary of a treatment and its
// levels do not say.
func goConfig(t *treatment, m *harness.Manifest) []benchfmt.Config {
	if m == nil {
		return nil
	}
	var out []benchfmt.Config
	for i := range m.Builds {
		b := &m.Builds[i]
		if !slices.Contains(b.Treatments, t.index) {
			continue
		}
		// Not the commit: benchstat would part by it what "-col ref" compares.
		for _, c := range [][2]string{{"ref", b.Ref}, {"toolchain", b.GoVersion}} {
			given := slices.ContainsFunc(t.levels, func(l harness.Level) bool { return l.Factor == c[0] })
			if v := benchValue(c[1]); v != "" && !given {
				out = append(out, benchfmt.Config{Key: c[0], Value: []byte(v), File: true})
			}
		}
		break // the binaries of the blocks differ in their layout alone
	}
	return out
}
