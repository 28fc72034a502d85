package harness

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"goset/metric"
)

const googleOutput = `{
  "context": {"date": "2026-01-02", "num_cpus": 8, "caches": []},
  "benchmarks": [
    {"name": "BM_Copy/64", "run_name": "BM_Copy/64", "run_type": "iteration", "repetitions": 3, "repetition_index": 0, "threads": 1,
     "iterations": 1000, "real_time": 1.25e+01, "cpu_time": 12.0, "time_unit": "us", "bytes_per_second": 5.5e+09, "items_per_second": 2e6, "Hits": 7},
    {"name": "BM_Copy/64", "run_name": "BM_Copy/64", "run_type": "iteration", "repetitions": 3, "repetition_index": 1, "threads": 1,
     "iterations": 1002, "real_time": 13.5, "cpu_time": 12.5, "time_unit": "us", "bytes_per_second": 5.1e+09, "items_per_second": 1e6, "Hits": 9},
    {"name": "BM_Copy/64_mean", "run_name": "BM_Copy/64", "run_type": "aggregate", "aggregate_name": "mean", "iterations": 2, "real_time": 99, "cpu_time": 99, "time_unit": "us"},
    {"name": "BM_Copy/64_median", "run_name": "BM_Copy/64", "run_type": "aggregate", "aggregate_name": "median", "iterations": 2, "real_time": 98, "cpu_time": 98, "time_unit": "us"},
    {"name": "BM_Only_median", "run_name": "BM_Only", "run_type": "aggregate", "aggregate_name": "median", "real_time": 3, "cpu_time": 2, "time_unit": "ms"},
    {"name": "BM_Bad", "run_name": "BM_Bad", "run_type": "iteration", "error_occurred": true, "error_message": "no file", "real_time": 0, "cpu_time": 0, "time_unit": "ns"}
  ]
}`

const hyperfineOutput = `{"results": [{"command": "sleep 0.1", "mean": 0.2, "stddev": null, "median": 0.1011, "user": 0.001, "system": 0.002, "min": 0.1, "max": 0.4,
  "times": [0.1, 0.1011, 0.4], "memory_usage_byte": [1000, 2000, 3000], "exit_codes": [0, 0, 1]}]}`

const perfOutput = "# started on Mon Nov 30\n\nhello, world, this, is, 5, the program\n" +
	"12.34,msec,task-clock:u,12340000,100.00,0.987,CPUs utilized\n" +
	"<not counted>,,cycles:u,0,0.00,,\n" +
	"<not supported>,,LLC-loads,0,100.00,,\n" +
	"1000,,cpu/event=0x3c,umask=0x1/u,5000,45.12,,\n" +
	"77,,context-switches,0.52%,12340000,100.00,nan,K/sec\n" +
	"3.5,Joules,power/energy-pkg/,100,100.00,,\n"

const timeOutput = "program's own: 1\n\tCommand being timed: \"sleep 1: x\"\n\tUser time (seconds): 0.25\n\tSystem time (seconds): 0.01\n\tPercent of CPU this job got: ?%\n" +
	"\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02.50\n\tMaximum resident set size (kbytes): 2048\n\tMinor (reclaiming a frame) page faults: 95\n\tExit status: 0\n"

const criterionOutput = `{"mean":{"confidence_interval":{"confidence_level":0.95,"lower_bound":9.0,"upper_bound":11.0},"point_estimate":10.5,"standard_error":0.1},
 "median":{"point_estimate":10.25},"median_abs_dev":{"point_estimate":0.5},"slope":null,"std_dev":{"point_estimate":0.75}}`

const cargoCriterionOutput = `{"reason":"benchmark-complete","id":"fib/20","typical":{"estimate":2.5,"lower_bound":2,"upper_bound":3,"unit":"us"},"mean":{"estimate":2600,"unit":"ns"},"slope":null}
{"reason":"group-complete","group_name":"fib"}
`

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format, text string
		values       map[string]float64
		warnings     []string
	}{
		{"google-benchmark", googleOutput, map[string]float64{
			"BM_Copy/64 real_time": 13e-6, "BM_Copy/64 cpu_time": 12.25e-6, "BM_Copy/64 iterations": 1001, "BM_Copy/64 bytes_per_second": 5.3e9,
			"BM_Copy/64 items_per_second": 1.5e6, "BM_Copy/64 Hits": 8, "BM_Only real_time": 3e-3, "BM_Only cpu_time": 2e-3}, []string{"no file"}},
		{"hyperfine", hyperfineOutput, map[string]float64{"time": 0.1011, "user time": 0.001, "system time": 0.002, "memory": 2000}, []string{"1 of 3 runs"}},
		{"hyperfine", `{"results":[{"command":"a","median":1,"times":null},{"command":"b","median":2,"user":null}]}`, map[string]float64{"a time": 1, "b time": 2}, nil},
		{"hyperfine", `{"results":[{"command":"a","times":[1,null,3],"memory_usage_byte":[null]}]}`, map[string]float64{"time": 2}, []string{"1 of 3 times of \"a\" are null", "1 of 1 memory values"}},
		{"perf", perfOutput, map[string]float64{"task-clock:u": 12.34e-3, "task-clock:u CPUs utilized": 0.987, "cpu/event=0x3c,umask=0x1/u": 1000, "context-switches": 77, "power/energy-pkg/": 3.5},
			[]string{`"cycles:u" is absent: perf says <not counted>`, `"LLC-loads" is absent: perf says <not supported>`, "45.12%", "nan"}},
		{"time", timeOutput, map[string]float64{"User time": 0.25, "System time": 0.01, "Elapsed time": 62.5, "Maximum resident set size": 2 << 20, "Minor page faults": 95}, []string{"Percent of CPU"}},
		{"criterion", criterionOutput, map[string]float64{"mean": 10.5e-9, "median": 10.25e-9, "median_abs_dev": 0.5e-9, "std_dev": 0.75e-9}, nil},
		{"criterion", cargoCriterionOutput, map[string]float64{"fib/20 typical": 2.5e-6, "fib/20 mean": 2.6e-6}, nil},
	} {
		for _, text := range []string{c.text, strings.ReplaceAll(c.text, "\n", "\r\n"), "\ufeff" + c.text} {
			e := extract(t, Workload{Format: c.format}, output(text))
			got := own(e)
			for name, want := range c.values {
				if d := got[name] - want; d > 1e-12*want || d < -1e-12*want {
					t.Errorf("%s: %q = %v, want %v", c.format, name, got[name], want)
				}
			}
			if len(got) != len(c.values) || e.Void != "" {
				t.Errorf("%s: void %q, values %v", c.format, e.Void, got)
			}
			if len(e.Warnings) != len(c.warnings) {
				t.Errorf("%s: warnings %q, want %q", c.format, e.Warnings, c.warnings)
				continue
			}
			for i, w := range c.warnings {
				if !strings.Contains(e.Warnings[i], w) {
					t.Errorf("%s: warning %q, want %q", c.format, e.Warnings[i], w)
				}
			}
		}
	}
	e := extract(t, Workload{Format: "google-benchmark"}, output(googleOutput))
	if it := e.Iterations["BM_Copy/64 real_time"]; !reflect.DeepEqual(it, []float64{12.5e-6, 13.5e-6}) {
		t.Errorf("repetitions %v", it)
	}
	if got, want := find(t, e, "BM_Copy/64 bytes_per_second"), (metric.Metric{Name: "BM_Copy/64 bytes_per_second", Unit: "B/s", Better: metric.Higher, Shown: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := find(t, e, "BM_Copy/64 real_time"), (metric.Metric{Name: "BM_Copy/64 real_time", Unit: "s", Show: "us", Better: metric.Lower, Shown: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// perf and time write to stderr, beside the program.
	res := output("out\n")
	res.Stderr = whole(perfOutput)
	if e := extract(t, Workload{Format: "perf"}, res); e.Values["task-clock:u"] != 12.34e-3 {
		t.Errorf("perf on stderr: %v", own(e))
	}
}

func TestFormatFaults(t *testing.T) {
	for _, c := range []struct{ format, text, void string }{
		{"google-benchmark", "", "stdout is empty"},
		{"google-benchmark", "{", "not JSON"},
		{"google-benchmark", "{}", "no value"},
		{"google-benchmark", "[]", "cannot read format"},
		{"google-benchmark", "{}{}", "2 JSON values"},
		{"google-benchmark", `{"benchmarks":[{"real_time":1}]}`, "has no name"},
		{"google-benchmark", `{"benchmarks":[{"name":"x","real_time":NaN}]}`, "NaN"},
		{"google-benchmark", `{"benchmarks":[{"name":"x","real_time":1e999}]}`, "range"},
		{"google-benchmark", `{"benchmarks":[{"name":"x","error_occurred":true}]}`, "no value"},
		{"hyperfine", `{"results":[]}`, "no value"},
		{"hyperfine", `{"results":[{"command":"a","times":["x"]}]}`, "cannot read format"},
		{"hyperfine", `{"results":[{"command":"a","median":1},{"command":"a","median":2}]}`, "printed twice"},
		{"perf", "<not counted>,,cycles,0,0.00,,\n", "no value"},
		{"perf", "     1.000123456,77,,cycles,100,100.00,,\n", "-I"},
		{"perf", "CPU0,77,,cycles,100,100.00,,\n", "-A"},
		{"perf", "77,,cycles,100,100.00,,\n78,,cycles,100,100.00,,\n", "printed twice"},
		{"perf", "a,b,c,d,e\n", "no value"},
		{"time", "\tUser time (seconds): x\n", "is no number"},
		{"time", "\tElapsed (wall clock) time (h:mm:ss or m:ss): 5\n", "h:mm:ss"},
		{"time", timeOutput + timeOutput, "printed twice"},
		{"criterion", criterionOutput + criterionOutput, "several estimates"},
		{"criterion", `{"mean":{"point_estimate":"x"}}`, "no estimate"},
		{"criterion", `{"mean":{}}`, "no value"},
	} {
		e := extract(t, Workload{Format: c.format}, output(c.text))
		if !strings.Contains(e.Void, c.void) {
			t.Errorf("%s %.60q: void %q, want %q", c.format, c.text, e.Void, c.void)
		}
		if e.Void == "" {
			t.Errorf("%s %.60q: not void", c.format, c.text)
		}
	}
	if _, err := NewExtractor(Workload{Format: "xml"}); err == nil || !strings.Contains(err.Error(), `"hyperfine"`) {
		t.Errorf("an unknown format: %v", err)
	}
	cut := Result{Stdout: Stream{Head: []byte("{"), Total: 1000}}
	for _, f := range Formats() {
		if e := extract(t, Workload{Format: f}, cut); !strings.Contains(e.Void, "plan.output") {
			t.Errorf("%s: output that was cut: %q", f, e.Void)
		}
	}
}

// Programs that are here print what is read.
func TestFormatsLive(t *testing.T) {
	for _, c := range []struct {
		format string
		argv   []string
		metric string
	}{
		{"hyperfine", []string{"hyperfine", "-N", "--runs", "2", "--style", "none", "--export-json", "/dev/stdout", "true"}, "time"},
		{"time", []string{"/usr/bin/time", "-v", "true"}, "Elapsed time"},
		{"perf", []string{"perf", "stat", "-x,", "-e", "task-clock,context-switches", "true"}, "context-switches"},
	} {
		if _, err := exec.LookPath(c.argv[0]); err != nil {
			continue
		}
		var stdout, stderr strings.Builder
		cmd := exec.Command(c.argv[0], c.argv[1:]...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Logf("%q: %v (not allowed here)", c.argv, err)
			continue
		}
		e := extract(t, Workload{Format: c.format}, Result{Stdout: whole(stdout.String()), Stderr: whole(stderr.String())})
		if _, ok := e.Values[c.metric]; !ok {
			t.Errorf("%s: void %q, values %v of\n%s%s", c.format, e.Void, own(e), stdout.String(), stderr.String())
		}
	}
}

// fuzzFormat holds a reader to what holds for every extraction.
func fuzzFormat(f *testing.F, format string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := extract(t, Workload{Format: format}, output(text))
		if len(own(e)) == 0 && e.Void == "" {
			t.Fatal("no value and not void")
		}
	})
}

func FuzzGoogleBenchmark(f *testing.F) { fuzzFormat(f, "google-benchmark", googleOutput) }
func FuzzHyperfine(f *testing.F)       { fuzzFormat(f, "hyperfine", hyperfineOutput) }
func FuzzPerf(f *testing.F) {
	fuzzFormat(f, "perf", perfOutput, "CPU0,77,,cycles,100,100.00,,\n")
}
func FuzzTime(f *testing.F) { fuzzFormat(f, "time", timeOutput) }
func FuzzCriterion(f *testing.F) {
	fuzzFormat(f, "criterion", criterionOutput, cargoCriterionOutput)
}

func FuzzEvents(f *testing.F) {
	f.Add(`{"Action":"output","Package":"a","Output":"BenchmarkX 1 2 ns/op\n"}` + "\n" + `{"Action":"out`)
	f.Fuzz(func(t *testing.T, text string) {
		e := extract(t, Workload{Go: &GoSpec{CPU: 2}}, output(text))
		if len(own(e)) == 0 && e.Void == "" && len(e.Warnings) == 0 {
			t.Fatal("nothing read and nothing said")
		}
	})
}
