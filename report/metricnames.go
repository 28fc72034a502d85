package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"goset/harness"
	"goset/metric"
)

// namesOf are what a metric may be called by: its name, and the units of a
// benchmark line, both as the benchmark prints them ("ns/op", "MB/s") and as
// benchstat tidies them ("sec/op", "B/s"). The first is its own.
func namesOf(m *metric.Metric) []string {
	var out names
	out.add(m.Name)
	for _, unit := range []string{m.Line, m.Show, m.Unit} {
		if strings.Contains(unit, "/") || unit != "" && unit == m.Line {
			out.add(unit)
		}
	}
	if rest, ok := strings.CutPrefix(m.Unit, "s/"); ok {
		out.add("ns/" + rest)
		out.add("sec/" + rest)
	}
	if rest, ok := strings.CutSuffix(m.Unit, "-sec"); ok { // a custom unit: "p99-ns"
		out.add(rest + "-ns")
	}
	if m.Unit == "B/s" {
		out.add("MB/s")
	}
	return out.list
}

// callable is the name of a metric for a list: short where it is one of many
// benchmarks.
func callable(m *metric.Metric) string { return cmp.Or(m.Line, m.Name) }

// maxNames is how many names a message lists.
const maxNames = 20

// SomeNames writes names for a message, the first twenty of them.
func SomeNames(list []string) string {
	if more := len(list) - maxNames; more > 0 {
		return strings.Join(list[:maxNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

// unknown says what a bound can name, in this data.
func (b *maker) unknown(name string) error {
	bound := Bound{Metric: name}
	var compared, others names
	for i := range b.tables {
		if t := &b.tables[i]; t.Metric.Name != "" && len(t.Contrasts) > 0 {
			compared.add(callable(&t.Metric))
		}
	}
	for _, w := range b.data.workloads {
		for i := range w.metrics {
			if m := &w.metrics[i]; bound.about(m) {
				return fmt.Errorf("no table compares metric %q: nothing is there to compare it with, or -metrics leaves it out", name)
			} else if !slices.Contains(compared.list, callable(m)) {
				others.add(callable(m))
			}
		}
	}
	slices.Sort(others.list)
	text := fmt.Sprintf("no table compares a metric or unit %q", name)
	if len(compared.list) > 0 {
		text += "; compared are " + SomeNames(compared.list)
	}
	if len(others.list) > 0 {
		text += "; measured, and compared where a bound names them: " + SomeNames(others.list)
	}
	return fmt.Errorf("%s", text)
}

// CheckBounds says before the first run which bounds name no metric that the
// experiment is known to have. What commands and benchmarks print of their own
// accord is not known before they ran: open is true where there are such.
func CheckBounds(e *harness.Experiment, bounds []Bound) (unknown []string, known []string, open bool) {
	metrics := harness.BaseMetrics()
	for i := range e.Workloads {
		w := &e.Workloads[i]
		for j := range w.Metrics {
			metrics = append(metrics, w.Metrics[j].Metric)
		}
		switch {
		case w.Go != nil:
			open = true
			metrics = append(metrics, goUnits()...)
		case w.Kernel != "":
			metrics = append(metrics, kernelMetrics(w.Kernel)...)
		default:
			open = true
		}
	}
	var list names
	for i := range metrics {
		list.add(callable(&metrics[i]))
	}
	for _, b := range bounds {
		_, unit, whole := strings.Cut(b.Metric, " ") // "example.org/p.X ns/op"
		named := func(m metric.Metric) bool { return b.about(&m) || open && whole && unit == m.Line }
		if !slices.ContainsFunc(metrics, named) {
			unknown = append(unknown, b.Metric)
		}
	}
	return unknown, list.list, open
}

func kernelMetrics(kernel string) []metric.Metric {
	var out []metric.Metric
	for _, k := range harness.Kernels() {
		if k.Name == kernel {
			for i := range k.Metrics {
				out = append(out, k.Metrics[i].Metric)
			}
		}
	}
	return out
}

// goUnits are the metrics that every Go benchmark can have.
func goUnits() []metric.Metric {
	var out []metric.Metric
	for _, unit := range []string{"ns/op", "B/op", "allocs/op", "MB/s"} {
		_, base, _ := metric.Convert(1, unit)
		out = append(out, metric.Metric{Name: unit, Unit: base, Line: unit})
	}
	return out
}
