package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goset/harness"
)

// googleFile has two repetitions of one benchmark and one run of another.
const googleFile = `{"context": {}, "benchmarks": [
 {"name": "BM_A/8", "run_name": "BM_A/8", "run_type": "iteration", "repetition_index": 0, "iterations": 100, "real_time": 2, "cpu_time": 1, "time_unit": "us", "bytes_per_second": 5e9},
 {"name": "BM_A/8", "run_name": "BM_A/8", "run_type": "iteration", "repetition_index": 1, "iterations": 100, "real_time": 4, "cpu_time": 1, "time_unit": "us", "bytes_per_second": 4e9},
 {"name": "BM_A/8_mean", "run_name": "BM_A/8", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 3, "cpu_time": 1, "time_unit": "us"},
 {"name": "BM_B", "run_type": "iteration", "real_time": 7, "cpu_time": 6, "time_unit": "ns"}]}`

const perfFile = "# started on Mon Nov 30\n\n12.5,msec,task-clock,12340000,100.00,0.987,CPUs utilized\n1000,,cycles,12340000,100.00,,\n" +
	"# started on Mon Nov 30\n\n13.5,msec,task-clock,12340000,100.00,0.987,CPUs utilized\n<not counted>,,cycles,0,0.00,,\n" +
	"# started on Mon Nov 30\n\n14.5,msec,task-clock,12340000,100.00,0.987,CPUs utilized\n3000,,cycles,12340000,100.00,,\n"

const timeFile = "\tCommand being timed: \"true\"\n\tUser time (seconds): 0.25\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.50\n" +
	"\tCommand being timed: \"true\"\n\tUser time (seconds): 0.50\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:02.50\n"

const criterionCSV = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n" +
	"Fib,Iter,20,,,1000,ns,10\nFib,Iter,20,,,2400,ns,20\n"

const cargoCriterion = `{"reason":"benchmark-complete","id":"fib/20","iteration_count":[10,20],"measured_values":[1000,2400],"unit":"us","mean":{"estimate":1,"unit":"us"}}
{"reason":"benchmark-complete","id":"spin","iteration_count":[1],"measured_values":[77],"unit":"cycles"}
{"reason":"group-complete","group_name":"fib"}
`

const criterionSample = `{"sampling_mode": "Linear", "iters": [10, 20], "times": [1000, 2400]}`

// TestExternalFormats reads what other programs write, a value a run.
func TestExternalFormats(t *testing.T) {
	for _, tt := range []struct {
		path, text string
		want       []string // workload, mode: metrics with their values
		notes      []string // a part of each
	}{
		{"runs/old.json", googleFile, []string{
			"BM_A/8, old: real_time=2e-06 cpu_time=1e-06 bytes_per_second=5e+09 iterations=100", "BM_A/8, old: real_time=4e-06 cpu_time=1e-06 bytes_per_second=4e+09 iterations=100",
			"BM_B, old: real_time=7e-09 cpu_time=6e-09"}, []string{"repetitions are of one process"}},
		{"perf.csv", perfFile, []string{
			"perf, perf: task-clock=0.0125 task-clock CPUs utilized=0.987 cycles=1000",
			"perf, perf: task-clock=0.0135 task-clock CPUs utilized=0.987 cycles=3000",
			"perf, perf: task-clock=0.0145 task-clock CPUs utilized=0.987"}, []string{`"cycles" is absent: perf says <not counted>`}},
		{"time.txt", timeFile, []string{"time, time: User time=0.25 Elapsed time=1.5", "time, time: User time=0.5 Elapsed time=2.5"}, nil},
		{"raw.csv", criterionCSV, []string{"Fib/Iter/20, raw: time=1e-07", "Fib/Iter/20, raw: time=1.2e-07"}, []string{"one of criterion's samples, which are all of one process"}},
		{"fib/base/raw.csv", criterionCSV, []string{"Fib/Iter/20, base: time=1e-07", "Fib/Iter/20, base: time=1.2e-07"}, []string{"samples"}},
		{"target/criterion/fib/new/sample.json", criterionSample, []string{"fib, new: time=1e-07", "fib, new: time=1.2e-07"}, []string{"samples"}},
		{"sample.json", criterionSample, []string{"criterion, sample: time=1e-07", "criterion, sample: time=1.2e-07"}, []string{"samples"}},
		{"cargo.json", cargoCriterion, []string{"fib/20, cargo: time=0.0001", "fib/20, cargo: time=0.00012", "spin, cargo: measured=77"}, []string{"samples"}},
	} {
		for _, text := range []string{tt.text, "\ufeff" + tt.text, strings.ReplaceAll(tt.text, "\n", "\r\n")} {
			var x External
			if err := x.Add(tt.path, []byte(text), 1); err != nil {
				t.Errorf("%s: %v", tt.path, err)
				continue
			}
			var got []string
			for i := range x.records {
				r := &x.records[i]
				line := r.Workload + ", " + r.Mode + ":"
				for _, m := range r.Metrics {
					line += fmt.Sprintf(" %s=%.6g", m.Name, r.Values[m.Name])
				}
				got = append(got, line)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s:\n%s\nwant\n%s", tt.path, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if len(x.notes) != len(tt.notes) {
				t.Errorf("%s: notes %q, want %q", tt.path, x.notes, tt.notes)
				continue
			}
			for i, want := range tt.notes {
				if !strings.HasPrefix(x.notes[i], tt.path+": ") || !strings.Contains(x.notes[i], want) {
					t.Errorf("%s: note %q, want %q", tt.path, x.notes[i], want)
				}
			}
			d, err := Collect(t.Context(), &x, x.treatments, 0)
			if err != nil {
				t.Fatal(err)
			}
			if doc, err := d.Document(x.Options()); err != nil || len(doc.Tables) == 0 {
				t.Errorf("%s: %v, or no table", tt.path, err)
			}
		}
	}
}

// TestExternalCriterionFolders: what criterion measured before and now is
// compared, and benchmarks have files of their own.
func TestExternalCriterionFolders(t *testing.T) {
	var x External
	for _, path := range []string{"fib/base/sample.json", "fib/new/sample.json", "sum/base/sample.json"} {
		if err := x.Add(path, []byte(criterionSample), 3); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, tr := range x.treatments {
		got = append(got, tr.Workload+" "+tr.Mode)
	}
	if want := []string{"fib base", "fib new", "sum base"}; !slices.Equal(got, want) || x.Options().Baseline != "base" {
		t.Errorf("%q with baseline %q, want %q", got, x.Options().Baseline, want)
	}
	err := x.Add("other/fib/new/sample.json", []byte(criterionSample), 4)
	if err == nil || !strings.Contains(err.Error(), `both have results of mode "new"`) {
		t.Errorf("two samples of one benchmark are pooled: %v", err)
	}
}

// TestReadableNamesEveryFormat: the error of a file that is unknown names all
// that are not.
func TestReadableNamesEveryFormat(t *testing.T) {
	names := map[string]string{"gobench": "Go benchmark lines", "google-benchmark": "Google Benchmark", "hyperfine": "hyperfine", "perf": "perf stat -x,", "time": "GNU time -v", "criterion": "criterion"}
	for _, format := range harness.Formats() {
		if names[format] == "" || !strings.Contains(readable, names[format]) {
			t.Errorf("format %q is not in %q", format, readable)
		}
	}
}
