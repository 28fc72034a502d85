package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/metric"
)

// goReader reads the benchmarks of a test binary that was run with -test.cpu,
// so that what a "-4" at the end of a name means is known: GOMAXPROCS when that
// is 4, and the benchmark's own otherwise.
//
// Each benchmark and unit is a metric "package.Name/sub unit"; b.N is the metric
// "package.Name/sub b.N", which tables leave out.
type goReader struct{ procs int }

func (goReader) metrics() []metric.Metric { return nil }

func (r goReader) read(res *Result, out *extraction) {
	bench, ok := benchLines(res, out, "no benchmark gave a result: -bench matches none of this package, or none ended well")
	if !ok {
		return
	}
	seen := map[string]bool{}
	for _, l := range bench.lines {
		r.line(&bench, l, seen, out)
	}
}

// line takes in one result. A metric that is there twice is an error of the
// program: with -test.count=1 each benchmark ends once.
func (r goReader) line(bench *benchOutput, l benchLine, seen map[string]bool, out *extraction) {
	name := l.name
	if r.procs > 1 {
		name = strings.TrimSuffix(name, "-"+strconv.Itoa(r.procs))
	}
	full := name
	if l.pkg != "" {
		full = l.pkg + "." + name
	}
	add := func(m metric.Metric, unit string, v float64) {
		m.Benchmark, m.Package, m.Line = name, l.pkg, unit
		if seen[m.Name] {
			out.refuse("benchmark %q gave %q twice in one run", full, unit)
			return
		}
		seen[m.Name] = true
		out.value(m, v)
	}
	for _, bv := range l.values {
		key := metric.CleanName(full + " " + bv.unit)
		v, base, err := bv.inBase()
		if err != nil {
			// Absent, and said: the other numbers of the line are good.
			out.warn("metric %q is left out: %v", key, err)
			continue
		}
		add(bench.describe(key, bv.unit, base), bv.unit, v)
	}
	if l.iters > 0 {
		add(metric.Metric{Name: metric.CleanName(full + " " + metric.Iterations), Better: metric.Unknown}, metric.Iterations, float64(l.iters))
	}
}

// goFailure names what failed in a run of Go benchmarks, which its exit status
// does not: the benchmarks, or the panic. "" where the output does not say.
func goFailure(res *Result) string {
	const most = 3
	var failed []string
	for line := range strings.Lines(string(viewOf(res.Stdout).head)) {
		// Under -test.v a line may begin with a mark of its own.
		at, ok := strings.CutPrefix(strings.TrimLeft(line, "\x16 "), "--- FAIL: ")
		if name, _, _ := strings.Cut(strings.TrimSpace(at), " "); ok && name != "" && !slices.Contains(failed, name) {
			failed = append(failed, name)
		}
	}
	for line := range strings.Lines(string(viewOf(res.Stderr).head)) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			failed = append(failed, strings.TrimSpace(line))
			break
		}
	}
	if more := len(failed) - most; more > 0 {
		failed = append(failed[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(failed, ", ")
}
