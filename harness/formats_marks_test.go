package harness

import (
	"strings"
	"testing"

	"goset/metric"
)

// TestMarkedValuesAreAbsent: what a program marks as not counted, not supported,
// null or failed is no value, and least of all 0. Beside a value it is absent
// and, where the program said why, told; alone it makes the run void.
func TestMarkedValuesAreAbsent(t *testing.T) {
	declared := func(m MetricSpec) Workload { return Workload{Metrics: []MetricSpec{m}} }
	for _, c := range []struct {
		workload Workload
		text     string
		values   map[string]float64 // all that there are
		said     string             // in a warning, or as the reason of a void run
	}{
		{Workload{Format: "perf"}, "<not counted>,,cycles,0,0.00,,\n7,,faults,10,100.00,,\n", map[string]float64{"faults": 7}, "<not counted>"},
		{Workload{Format: "perf"}, "<not supported>,,cycles,0,100.00,,\n7,,faults,10,100.00,,\n", map[string]float64{"faults": 7}, "<not supported>"},
		{Workload{Format: "perf"}, "<not counted>,,cycles,0.00%,0,0.00,,\n7,,faults,1.50%,10,100.00,,\n", map[string]float64{"faults": 7}, "<not counted>"},
		{Workload{Format: "perf"}, "<not supported>,Joules,power/energy-pkg/,0,100.00,,\n", nil, "no value"},
		{Workload{Format: "perf"}, "7,,faults,10,100.00,nan,K/sec\n", map[string]float64{"faults": 7}, "nan"},
		{Workload{Format: "google-benchmark"}, `{"benchmarks":[{"name":"a","real_time":2,"cpu_time":null},{"name":"b","error_occurred":true,"error_message":"no","real_time":0,"cpu_time":0}]}`,
			map[string]float64{"a real_time": 2e-9}, "no"},
		{Workload{Format: "google-benchmark"}, `{"benchmarks":[{"name":"a","real_time":2},{"name":"b","skipped":true,"skip_message":"why","real_time":0}]}`,
			map[string]float64{"a real_time": 2e-9}, "why"},
		{Workload{Format: "hyperfine"}, `{"results":[{"command":"a","times":[null,3,null],"user":null,"memory_usage_byte":null}]}`, map[string]float64{"time": 3}, ""},
		{Workload{Format: "hyperfine"}, `{"results":[{"command":"a","times":[null],"median":null}]}`, nil, "no value"},
		{Workload{Format: "time"}, "\tUser time (seconds): 0.25\n\tPercent of CPU this job got: ?%\n", map[string]float64{"User time": 0.25}, "Percent of CPU"},
		{Workload{Format: "criterion"}, `{"mean":{"point_estimate":10},"slope":null,"median":{"point_estimate":null}}`, map[string]float64{"mean": 10e-9}, ""},
		{Workload{Format: "criterion"}, `{"mean":null}`, nil, "no value"},
		{declared(MetricSpec{Metric: metric.Metric{Name: "x"}, JSON: "$.x"}), `{"x":null}`, nil, `metric "x"`},
		{declared(MetricSpec{Metric: metric.Metric{Name: "x"}, JSON: "$.x"}), `{"x":"<not counted>"}`, nil, "<not counted>"},
		{declared(MetricSpec{Metric: metric.Metric{Name: "x"}, JSON: "$.y"}), `{"x":0}`, nil, `metric "x"`},
		{declared(MetricSpec{Metric: metric.Metric{Name: "x"}, Pattern: `cycles: (.*)`}), "cycles: <not supported>\n", nil, "<not supported>"},
		{declared(MetricSpec{Metric: metric.Metric{Name: "x"}, Pattern: `cycles: (.*)`}), "cycles: \n", nil, `metric "x"`},
	} {
		e := extract(t, c.workload, output(c.text))
		got := own(e)
		for name, want := range c.values {
			if d := got[name] - want; d > 1e-12*want || d < -1e-12*want {
				t.Errorf("%.60q: %q = %v, want %v", c.text, name, got[name], want)
			}
		}
		if len(got) != len(c.values) || (e.Void == "") != (len(c.values) > 0) {
			t.Errorf("%.60q: values %v, void %q", c.text, got, e.Void)
		}
		if said := e.Void + strings.Join(e.Warnings, "\n"); !strings.Contains(said, c.said) || c.said != "" && said == "" {
			t.Errorf("%.60q: said %q, want %q", c.text, said, c.said)
		}
	}
}

// TestFormatsKeepUnits: values are in base units, and shown in the program's.
func TestFormatsKeepUnits(t *testing.T) {
	for _, c := range []struct{ format, text, name, unit, show string }{
		{"google-benchmark", `{"benchmarks":[{"name":"a","real_time":2,"time_unit":"ms"}]}`, "a real_time", "s", "ms"},
		{"google-benchmark", `{"benchmarks":[{"name":"a","real_time":2}]}`, "a real_time", "s", "ns"},
		{"google-benchmark", `{"benchmarks":[{"name":"a","bytes_per_second":2}]}`, "a bytes_per_second", "B/s", ""},
		{"google-benchmark", `{"benchmarks":[{"name":"a","items_per_second":2}]}`, "a items_per_second", "items/s", ""},
		{"hyperfine", hyperfineOutput, "time", "s", ""},
		{"hyperfine", hyperfineOutput, "memory", "B", ""},
		{"perf", perfOutput, "task-clock:u", "s", "msec"},
		{"perf", perfOutput, "power/energy-pkg/", "J", "Joules"},
		{"perf", perfOutput, "context-switches", "", ""},
		{"time", timeOutput, "Elapsed time", "s", ""},
		{"time", timeOutput, "Maximum resident set size", "B", "KiB"},
		{"criterion", criterionOutput, "mean", "s", "ns"},
		{"criterion", cargoCriterionOutput, "fib/20 typical", "s", "us"},
	} {
		m := find(t, extract(t, Workload{Format: c.format}, output(c.text)), c.name)
		if got, want := (metric.Metric{Unit: m.Unit, Show: m.Show}), (metric.Metric{Unit: c.unit, Show: c.show}); got != want {
			t.Errorf("%s: %q is in %q, shown in %q, want %q, %q", c.format, c.name, got.Unit, got.Show, want.Unit, want.Show)
		}
	}
}
