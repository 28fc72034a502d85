package harness

import (
	"math"
	"strings"
	"testing"
)

func TestFormatOf(t *testing.T) {
	for _, tt := range []struct{ text, want, hint string }{
		{"", "", ""},
		{"\n\n", "", ""},
		{"hello, world, this, is, 5, the program\n", "", ""},
		{"{", "", "begins like JSON and is none"},
		{"{}", "", ""},
		{`{"mean": 5}`, "", ""},
		{"[]", "", ""},
		{`{"Action":"start"}`, "gobench", ""},
		{"goos: linux\nBenchmarkX 1 2 ns/op\n", "gobench", ""},
		{"  \n" + googleOutput, "google-benchmark", ""},
		{hyperfineOutput, "hyperfine", ""},
		{perfOutput, "perf", ""},
		{"<not counted>,,cycles:u,0,0.00,,\n", "perf", ""},
		{"77,,context-switches,0.52%,12340000,100.00,,\n", "perf", ""},
		{"     1.000123456,77,,cycles,100,100.00,,\n", "perf", ""},
		{timeOutput, "time", ""},
		{timeHead + "\"true\"\n", "time", ""},
		{criterionOutput, "criterion", ""},
		{cargoCriterionOutput, "criterion", ""},
		{`{"iters":[1],"times":[2]}`, "criterion", ""},
		{criterionHead + "x\n", "criterion", ""},
		{`{"counter-value" : "1", "event" : "x"}`, "", "-x,"},
		{" Performance counter stats for 'x':\n", "", "-x,"},
	} {
		for _, text := range []string{tt.text, "\ufeff" + tt.text} {
			if got, hint := FormatOf([]byte(text)); got != tt.want || (tt.hint == "") != (hint == "") || !strings.Contains(hint, tt.hint) {
				t.Errorf("%.60q: %q, %q, want %q, %q", text, got, hint, tt.want, tt.hint)
			}
		}
	}
}

func TestReadFormatFileFaults(t *testing.T) {
	for _, tt := range []struct{ format, text, want string }{
		{"gobench", "", "read otherwise"},
		{"google-benchmark", "{}{}", "2 JSON values"},
		{"google-benchmark", "{} x", "value 2 of the file is no JSON"},
		{"google-benchmark", `{"benchmarks":[{"name":"x","real_time":1e999}]}`, "range"},
		{"criterion", `{"reason":"benchmark-complete","measured_values":[1],"iteration_count":[1]}`, "has no id"},
		{"criterion", `{"iters":[1,2],"times":[2]}`, "1 measured values and 2 counts"},
		{"criterion", `{"iters":[0],"times":[2]}`, `"0" is no number of iterations`},
		{"criterion", `{"iters":["x"],"times":[2]}`, "no object of criterion"},
		{"criterion", criterionHead + "unit\n", `no column "sample_measured_value"`},
		{"criterion", criterionHead + "sample_measured_value,unit,iteration_count\na,b,c,x,ns,1\n", `"x" is no number`},
		{"criterion", criterionHead + "sample_measured_value,unit,iteration_count\na,b\n", "wrong number of fields"},
		{"criterion", criterionOutput, "no values of single runs: criterion's estimates are of its samples"},
		{"perf", "77,,cycles,0.52%,12340000,100.00,,\n", "no values of single runs: perf stat -r"},
		{"perf", "     1.000123456,77,,cycles,100,100.00,,\n", "leave -I out"},
		{"time", timeHead + "\"x\"\n\tUser time (seconds): x\n", "is no number"},
	} {
		if _, err := ReadFormatFile(tt.format, []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %.60q: %v, want %q", tt.format, tt.text, err, tt.want)
		}
	}
}

// TestFormatFileKeepsBoth: beside values of runs, a summary is left out, and said.
func TestFormatFileKeepsBoth(t *testing.T) {
	f, err := ReadFormatFile("google-benchmark", []byte(googleOutput))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Series {
		if s.Of != "BM_Copy/64" || len(s.Values) != 2 {
			t.Errorf("%+v", s)
		}
	}
	notes := strings.Join(f.Notes, "\n")
	for _, want := range []string{"one process", "aggregates_only", "no file"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q lack %q", f.Notes, want)
		}
	}
	// perf may have something to say of every run.
	text := ""
	for i := range 50 {
		text += "1,,cycles,5000," + string(rune('1'+i%9)) + "0.5,,\n" + strings.Repeat("<not counted>,,x"+string(rune('a'+i%26))+",0,0.00,,\n", 1)
	}
	if f, err = ReadFormatFile("perf", []byte(text)); err != nil || len(f.Notes) != mostFileNotes+1 || len(f.Series[0].Values) != 50 {
		t.Errorf("%v, %d notes, %+v", err, len(f.Notes), f.Series)
	}
}

// FuzzFormatFile holds that every text is of some format or of none, and that
// what is read are finite numbers with names.
func FuzzFormatFile(f *testing.F) {
	for _, text := range []string{googleOutput, perfOutput, timeOutput, criterionOutput, cargoCriterionOutput,
		`{"iters":[10,20],"times":[1000,2400]}`, criterionHead + "sample_measured_value,unit,iteration_count\na,b,c,5,ns,1\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		format, hint := FormatOf(text)
		if format != "" && hint != "" {
			t.Fatalf("it is of format %q and not: %s", format, hint)
		}
		for _, name := range []string{"google-benchmark", "criterion", "perf", "time"} {
			file, err := ReadFormatFile(name, text)
			if err != nil {
				continue
			}
			for _, s := range file.Series {
				if s.Metric.Name == "" || len(s.Values) == 0 {
					t.Fatalf("%s: %+v", name, s)
				}
				for _, v := range s.Values {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Fatalf("%s: %+v", name, s)
					}
				}
			}
		}
	})
}
