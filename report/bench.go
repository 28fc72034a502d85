package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// Bench writes the kept runs in the Go benchmark format, a line per run with all
// of its metrics, for benchstat and its kin:
//
//	benchstat -col mode bench.txt
//
// The workload and its own levels are the benchmark's name
// (BenchmarkJitter/steps=3000000); mode, condition and the levels of the mode are
// configuration lines, so that modes with levels compare by "-col mode,n".
// Units begin with the metric's name, because benchstat knows a metric by its unit
// alone: "time-sec/iteration", "triad-B/s". Values are in base units, with
// "sec" for seconds as benchstat has it: it scales by itself. The iteration
// count of every line is 1: one run.
//
// Go benchmarks keep their own names, units and iteration counts: see goBenches.
//
// benchstat compares by ratios and warns where it cannot. So a metric that tables
// do not show either is left out when in some cell its median is not positive
// or no two of its values differ: page faults that never happen, say.
func Bench(w io.Writer, d *Data, opts Options) error {
	factors := opts.modeFactors()
	out := &benchInk{w: benchfmt.NewWriter(w), units: map[string][]string{}}
	for name, w := range d.workloads {
		out.units[name] = benchUnits(w.metrics)
	}
	for _, t := range d.treatments {
		if t.procs > 0 {
			out.native(d.workloads[t.workload].metrics, t.workload)
			continue
		}
		if err := out.leaveOut(t, d.workloads[t.workload].metrics); err != nil {
			return err
		}
	}
	if err := out.metadata(d); err != nil {
		return err
	}
	for _, t := range d.treatments {
		if t.procs > 0 {
			mode, own := splitLevels(t.levels, factors)
			if err := out.goBenches(d, t, benchConfig(opts.Experiment, t, slices.Concat(mode, own)), opts); err != nil {
				return err
			}
			continue
		}
		if err := out.treatment(t, opts.Experiment, factors); err != nil {
			return err
		}
	}
	return nil
}

type benchInk struct {
	w     *benchfmt.Writer
	units map[string][]string // by workload and metric index; "": left out
}

// native gives the metrics of Go benchmarks the units that their lines have;
// what is known of the process besides has no line of its own.
func (b *benchInk) native(metrics []metric.Metric, workload string) {
	for i, m := range metrics {
		b.units[workload][i] = ""
		if m.Benchmark != "" && m.Line != metric.Iterations {
			b.units[workload][i] = m.Line
		}
	}
}

// leaveOut marks the metrics that in this treatment have nothing to compare.
func (b *benchInk) leaveOut(t *treatment, metrics []metric.Metric) error {
	for i, m := range metrics {
		xs := t.lookup(i).values
		if m.Shown || len(xs) == 0 || len(metrics) == 1 {
			continue
		}
		median, err := stats.Median(xs)
		if err != nil {
			return err
		}
		if median.V <= 0 || len(xs) > 1 && slices.Min(xs) == slices.Max(xs) {
			b.units[t.workload][i] = ""
		}
	}
	return nil
}

// metadata writes the good direction of every unit. A unit that two workloads
// see differently gets none.
func (b *benchInk) metadata(d *Data) error {
	better := map[string]metric.Direction{}
	var order names
	for _, t := range d.treatments {
		for i, m := range d.workloads[t.workload].metrics {
			u := b.units[t.workload][i]
			if u == "" {
				continue
			}
			if have, ok := better[u]; ok && have != m.Better {
				better[u] = metric.Unknown
				continue
			}
			better[u] = m.Better
			order.add(u)
		}
	}
	for _, u := range order.list {
		if better[u] == metric.Unknown {
			continue
		}
		rec := &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: u, Key: "better"}, OrigUnit: u, Value: string(better[u])}
		if err := b.w.Write(rec); err != nil {
			return err
		}
	}
	return nil
}

// treatment writes one line for each kept run that has a value.
func (b *benchInk) treatment(t *treatment, experiment string, modeFactors []string) error {
	mode, own := splitLevels(t.levels, modeFactors)
	res := &benchfmt.Result{Name: benchfmt.Name(benchName(t.workload, own)), Iters: 1, Config: benchConfig(experiment, t, mode)}
	next := make([]int, len(t.cells)) // the next value of each cell
	for run := range t.counts.Kept {
		res.Values = res.Values[:0]
		for i, c := range t.cells {
			if c == nil || next[i] == len(c.at) || int(c.at[next[i]]) != run {
				continue
			}
			if u := b.units[t.workload][i]; u != "" {
				res.Values = append(res.Values, benchfmt.Value{Value: c.values[next[i]], Unit: u})
			}
			next[i]++
		}
		if len(res.Values) == 0 {
			continue
		}
		if err := b.w.Write(res); err != nil {
			return err
		}
	}
	return nil
}

func benchConfig(experiment string, t *treatment, mode []harness.Level) []benchfmt.Config {
	var out []benchfmt.Config
	add := func(key, value string) {
		if value = benchValue(value); value != "" {
			out = append(out, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	add("experiment", experiment)
	add("condition", t.condition)
	add("mode", t.mode)
	taken := []string{"experiment", "condition", "mode"}
	keys := make([]string, len(mode))
	for i, l := range mode {
		keys[i] = benchKey(l.Factor)
	}
	for i, k := range columnNames("factor-", keys, taken) {
		add(k, mode[i].Value)
	}
	return out
}

// benchName is the benchmark's name without "Benchmark". What follows a last
// "-" must not be a number, or it would be read as GOMAXPROCS.
func benchName(workload string, levels []harness.Level) string {
	s := benchWord(workload)
	if r, n := utf8.DecodeRuneInString(s); n > 0 {
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	for _, l := range levels {
		s += "/" + benchWord(l.Factor) + "=" + benchWord(l.Value)
	}
	if i := strings.LastIndexByte(s, '-'); i >= 0 && strings.Trim(s[i+1:], "0123456789") == "" {
		s = s[:i] + "_" + s[i+1:]
	}
	return s
}

// benchWord keeps what would part a name in two out of it.
func benchWord(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '/' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, s)
}

// benchKey makes a configuration key: it begins with a lower-case letter and
// has no blanks, capitals or colons.
func benchKey(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == ':' || !unicode.IsPrint(r) {
			return '_'
		}
		return unicode.ToLower(r)
	}, s)
	if r, _ := utf8.DecodeRuneInString(s); !unicode.IsLower(r) {
		s = "x" + s
	}
	return s
}

func benchValue(s string) string { return strings.TrimSpace(oneLine(s)) }

// benchUnits names the unit of every metric of a workload; no two are equal.
func benchUnits(metrics []metric.Metric) []string {
	out := make([]string, len(metrics))
	for i, m := range metrics {
		u := benchMetric(m.Name)
		if m.Unit != "" {
			u += "-" + benchBase(m.Unit)
		}
		for k := 2; slices.Contains(out[:i], u); k++ {
			u = benchMetric(m.Name) + fmt.Sprintf("_%d", k)
			if m.Unit != "" {
				u += "-" + benchBase(m.Unit)
			}
		}
		out[i] = u
	}
	return out
}

// benchMetric makes a metric's name one word of a unit: readers part units
// at "-", "*" and "/", and scale by a word "ns" or "MB".
func benchMetric(name string) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("-*/", r) {
			return '_'
		}
		return r
	}, name)
	if s == "ns" || s == "MB" {
		s += "_"
	}
	return s
}

// benchBase is a base unit as Go's tools write it.
func benchBase(unit string) string {
	head, tail, _ := strings.Cut(unit, "/")
	if head == "s" {
		head = "sec"
	}
	if tail != "" {
		head += "/" + tail
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, head)
}
