package harness

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"golang.org/x/perf/benchfmt"

	"goset/metric"
)

// gobenchReader makes a metric of each benchmark and unit. It is called "Name
// unit" with both as printed ("Plain-2 ns/op"), and "package.Name unit" when
// the output has several packages; the values are in base units.
type gobenchReader struct{}

func (gobenchReader) metrics() []metric.Metric { return nil }

func (gobenchReader) read(res *Result, out *extraction) {
	bench, ok := benchLines(res, out, "stdout has no benchmark result line")
	if !ok {
		return
	}
	bench.collect(out)
}

// benchLines reads the result lines of stdout; without one it refuses the run,
// in the words of none.
func benchLines(res *Result, out *extraction, none string) (bench benchOutput, ok bool) {
	v := viewOf(res.Stdout)
	if v.lost > 0 {
		out.refuse("cannot read benchmarks: %s (raise plan.output)", v.cut("stdout"))
		return bench, false
	}
	bench, err := readBench(v.head)
	if err != nil {
		out.refuse("cannot read benchmarks: %v", err)
		return bench, false
	}
	if bench.unread > 0 {
		out.warn("%s", bench.complaint())
	}
	if len(bench.lines) == 0 {
		out.refuse("%s", none)
		return bench, false
	}
	return bench, true
}

// complaint says how many lines could not be read, and shows one.
func (o *benchOutput) complaint() string {
	if o.unread == 1 {
		return fmt.Sprintf("1 line that looks like a benchmark result cannot be read: %s", quote(o.firstUnread))
	}
	return fmt.Sprintf("%d lines that look like benchmark results cannot be read, the first: %s", o.unread, quote(o.firstUnread))
}

// collect groups the lines by metric, in the order of their first appearance.
// The lines of one metric are its iterations.
func (o *benchOutput) collect(out *extraction) {
	qualified := o.severalPackages()
	at := map[string]int{}
	left := map[string]bool{}
	var metrics []metric.Metric
	var samples [][]float64
	for _, l := range o.lines {
		name := l.name
		if qualified && l.pkg != "" {
			name = l.pkg + "." + name
		}
		for _, bv := range l.values {
			key := metric.CleanName(name + " " + bv.unit)
			v, base, err := bv.inBase()
			if err != nil && !left[key] {
				// Absent, and said: the other numbers of the output are good.
				out.warn("metric %q is left out: %v", key, err)
				left[key] = true
			}
			if err != nil {
				continue
			}
			i, ok := at[key]
			if !ok {
				i = len(metrics)
				at[key] = i
				metrics = append(metrics, o.describe(key, bv.unit, base))
				samples = append(samples, nil)
			}
			samples[i] = append(samples[i], v)
		}
	}
	kept := false
	for i, m := range metrics {
		// Without one of its lines the rest would be another sample.
		if !left[m.Name] {
			out.sample(m, median(samples[i]), samples[i])
			kept = true
		}
	}
	if !kept {
		out.refuse("no benchmark printed a finite number")
	}
}

// severalPackages is true when results of more than one package are there:
// their benchmarks may have equal names.
func (o *benchOutput) severalPackages() bool {
	for _, l := range o.lines {
		if l.pkg != o.lines[0].pkg {
			return true
		}
	}
	return false
}

// describe makes the metric of a benchmark's unit.
func (o *benchOutput) describe(name, unit, base string) metric.Metric {
	m := metric.Metric{Name: name, Unit: base, Shown: true}
	if base != unit {
		m.Show = unit
	}
	switch o.units.GetBetter(unit) {
	case 1:
		m.Better = metric.Higher
	case -1:
		m.Better = metric.Lower
	}
	return m
}

// inBase brings a measurement to base units. Benchmarks do print NaN and
// infinities, by ReportMetric.
func (b benchValue) inBase() (float64, string, error) {
	if math.IsNaN(b.value) {
		return 0, "", errors.New("printed NaN")
	}
	if math.IsInf(b.value, 0) {
		return 0, "", errors.New("printed Inf")
	}
	v, base, _ := metric.Convert(b.value, b.unit)
	if math.IsInf(v, 0) || v == 0 && b.value != 0 {
		return 0, "", fmt.Errorf("%g %s %w", b.value, b.unit, errRange)
	}
	return v, base, nil
}

// kernelReader reads the lines of a bundled kernel by its table.
type kernelReader struct{ kernel Kernel }

func (r kernelReader) metrics() []metric.Metric {
	ms := make([]metric.Metric, len(r.kernel.Metrics))
	for i, km := range r.kernel.Metrics {
		ms[i] = km.Metric
	}
	return ms
}

// read wants every metric of the table and every line readable: a kernel's
// output is ours, and a fault in it is no noise.
func (r kernelReader) read(res *Result, out *extraction) {
	v := viewOf(res.Stdout)
	if v.lost > 0 {
		out.refuse("cannot read kernel %q: %s (raise plan.output)", r.kernel.Name, v.cut("stdout"))
		return
	}
	bench, err := readBench(v.head)
	if err == nil && bench.unread > 0 {
		err = errors.New(bench.complaint())
	}
	if err != nil {
		out.refuse("cannot read kernel %q: %v", r.kernel.Name, err)
		return
	}
	for _, km := range r.kernel.Metrics {
		values, err := r.iterations(km, bench.lines)
		if err != nil {
			out.refuse("metric %q of kernel %q: %v", km.Name, r.kernel.Name, err)
			continue
		}
		out.sample(km.Metric, km.valueOf(values), values)
	}
	for _, w := range bench.warnings {
		out.warn("%s", w)
	}
}

// iterations gathers a metric's values in base units, in time order.
func (r kernelReader) iterations(km KernelMetric, lines []benchLine) ([]float64, error) {
	var values []float64
	for _, l := range lines {
		base, op := splitBenchName(l.name)
		if !strings.EqualFold(base, r.kernel.Name) || km.Op != "" && op != km.Op {
			continue
		}
		for _, bv := range l.values {
			if bv.unit != km.Line {
				continue
			}
			v, unit, err := bv.inBase()
			if err != nil {
				return nil, err
			}
			if unit != km.Unit {
				return nil, fmt.Errorf("%q is in %q, not in %q", bv.unit, unit, km.Unit)
			}
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("stdout has no line of it with unit %q", km.Line)
	}
	return values, nil
}

// valueOf reduces the iterations of a run to its value.
func (km KernelMetric) valueOf(values []float64) float64 {
	if km.Best {
		return best(values, km.Better)
	}
	return median(values)
}

// best is the extreme in the good direction.
func best(values []float64, better metric.Direction) float64 {
	b := values[0]
	for _, v := range values[1:] {
		if better == metric.Higher && v > b || better == metric.Lower && v < b {
			b = v
		}
	}
	return b
}

// splitBenchName splits "Stream/op=triad-8" into its base and the value of its
// "op" part. A "-8" at the end is GOMAXPROCS.
func splitBenchName(name string) (base, op string) {
	baseName, parts := benchfmt.Name(name).Parts()
	for _, p := range parts {
		if v, ok := strings.CutPrefix(string(p), "/op="); ok {
			op = v
		}
	}
	return string(baseName), op
}
