package harness

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"goset/metric"
)

// whole is a stream that was not cut.
func whole(text string) Stream { return Stream{Head: []byte(text), Total: int64(len(text))} }

// output is the result of a command that printed text on stdout.
func output(text string) Result { return Result{Stdout: whole(text)} }

// extract runs a workload's extractor and checks what holds for every output.
func extract(t testing.TB, w Workload, res Result) Extracted {
	t.Helper()
	x, err := NewExtractor(w)
	if err != nil {
		t.Fatalf("NewExtractor: %v", err)
	}
	e, err := x.Extract(res)
	if err != nil {
		t.Fatalf("Extract: %v", err)
	}
	checkExtracted(t, e)
	return e
}

func checkExtracted(t testing.TB, e Extracted) {
	t.Helper()
	described := map[string]bool{}
	for _, m := range e.Metrics {
		if err := metric.CheckName(m.Name); err != nil {
			t.Fatal(err)
		}
		if described[m.Name] {
			t.Fatalf("metric %q is described twice", m.Name)
		}
		described[m.Name] = true
		if base, factor, _ := metric.Base(m.Unit); base != m.Unit || factor != 1 {
			t.Fatalf("metric %q has unit %q, whose base is %q", m.Name, m.Unit, base)
		}
		if _, ok := e.Values[m.Name]; !ok {
			t.Fatalf("metric %q has no value", m.Name)
		}
	}
	for name, v := range e.Values {
		if !described[name] {
			t.Fatalf("value %q is not described", name)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("value %q is %v", name, v)
		}
	}
	for name, vs := range e.Iterations {
		if len(vs) < 2 || !described[name] {
			t.Fatalf("%d iterations of %q", len(vs), name)
		}
		for _, v := range vs {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("iteration of %q is %v", name, v)
			}
		}
	}
}

// own drops the base metrics.
func own(e Extracted) map[string]float64 {
	values := map[string]float64{}
	for name, v := range e.Values {
		values[name] = v
	}
	for _, m := range BaseMetrics() {
		delete(values, m.Name)
	}
	return values
}

// find returns the description of a metric.
func find(t *testing.T, e Extracted, name string) metric.Metric {
	t.Helper()
	for _, m := range e.Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no metric %q in %v", name, e.Values)
	return metric.Metric{}
}

func TestBaseMetrics(t *testing.T) {
	res := Result{Wall: 1500 * time.Millisecond, User: time.Second, Sys: time.Millisecond, MaxRSS: 1 << 20,
		Voluntary: 3, Involuntary: 4, MinorFaults: 5, MajorFaults: 6}
	e := extract(t, Workload{Name: "w", Command: []string{"true"}}, res)
	want := map[string]float64{"wall": 1.5, "user": 1, "sys": 0.001, "max-rss": 1 << 20,
		"voluntary-switches": 3, "involuntary-switches": 4, "minor-faults": 5, "major-faults": 6}
	if !reflect.DeepEqual(e.Values, want) {
		t.Errorf("values %v, want %v", e.Values, want)
	}
	for _, m := range e.Metrics {
		if m.Shown != (m.Name == "wall") {
			t.Errorf("metric %q shown: %v", m.Name, m.Shown)
		}
	}
	if e.Void != "" || e.Shape != "" {
		t.Errorf("void %q, shape %q", e.Void, e.Shape)
	}
}

func TestWallIsShownOnlyAlone(t *testing.T) {
	pattern := []MetricSpec{{Metric: metric.Metric{Name: "x"}, Pattern: `x=(\d+)`}}
	for _, c := range []struct {
		w     Workload
		shown bool
	}{
		{Workload{}, true},
		{Workload{Extract: true}, true},
		{Workload{Metrics: pattern}, false},
		{Workload{Format: "gobench"}, false},
		{Workload{Kernel: "jitter"}, false},
	} {
		e := extract(t, c.w, output("x=1"))
		if got := find(t, e, "wall").Shown; got != c.shown {
			t.Errorf("%+v: wall shown %v", c.w, got)
		}
	}
}

func TestKnownMetrics(t *testing.T) {
	x, err := NewExtractor(Workload{Metrics: []MetricSpec{{Metric: metric.Metric{Name: "p99", Unit: "us", Better: metric.Lower}, Pattern: `(\d+)`}}})
	if err != nil {
		t.Fatal(err)
	}
	ms := x.(Describer).Metrics()
	if n := len(BaseMetrics()); len(ms) != n+1 {
		t.Fatalf("metrics %v", ms)
	}
	want := metric.Metric{Name: "p99", Unit: "s", Show: "us", Better: metric.Lower, Shown: true}
	if got := ms[len(ms)-1]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNewExtractorRefuses(t *testing.T) {
	spec := func(name, pattern, json, take string) Workload {
		return Workload{Name: "w", Metrics: []MetricSpec{{Metric: metric.Metric{Name: name}, Pattern: pattern, JSON: json, Take: take}}}
	}
	twice := spec("x", "(a)", "", "")
	twice.Metrics = append(twice.Metrics, twice.Metrics[0])
	for _, c := range []struct {
		w    Workload
		want string
	}{
		{Workload{Kernel: "jiter"}, "jitter, chase, matmul, stream"},
		{Workload{Format: "gobnech"}, `"gobnech"`},
		{spec("", "(a)", "", ""), "name is empty"},
		{spec("a\nb", "(a)", "", ""), "printable"},
		{spec("wall", "(a)", "", ""), "taken"},
		{twice, "taken"},
		{spec("x", "", "", ""), "exactly one of pattern and json"},
		{spec("x", "(a)", "$.a", ""), "exactly one of pattern and json"},
		{spec("x", "a", "", ""), "got 0"},
		{spec("x", "(a)(b)", "", ""), "got 2"},
		{spec("x", "(a", "", ""), "RE2"},
		{spec("x", `(?=a)(b)`, "", ""), "RE2"},
		{spec("x", "", "a.b", ""), "RFC 9535"},
		{spec("x", "(a)", "", "mean"), "first, last, median or all"},
	} {
		_, err := NewExtractor(c.w)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.w, err, c.want)
		}
	}
}

// All faults are reported in one go.
func TestNewExtractorReportsAllFaults(t *testing.T) {
	_, err := NewExtractor(Workload{Metrics: []MetricSpec{
		{Metric: metric.Metric{Name: "x"}, Pattern: "a"},
		{Metric: metric.Metric{Name: "y"}, JSON: "b"},
	}})
	if err == nil || !strings.Contains(err.Error(), `"x"`) || !strings.Contains(err.Error(), `"y"`) {
		t.Errorf("error %v", err)
	}
}

// declaredAs is a workload with one metric.
func declaredAs(unit, pattern, json, take string) Workload {
	return Workload{Name: "w", Metrics: []MetricSpec{{Metric: metric.Metric{Name: "m", Unit: unit}, Pattern: pattern, JSON: json, Take: take}}}
}

func TestPattern(t *testing.T) {
	three := "p=3 us\np=1 us\np=2 us\n"
	for _, c := range []struct {
		unit, take, stdout, stderr string
		value                      float64
		iterations                 []float64
		void                       string
	}{
		{"us", "", three, "", 2e-6, nil, ""},
		{"us", "last", three, "", 2e-6, nil, ""},
		{"us", "first", three, "", 3e-6, nil, ""},
		{"us", "median", three, "", 2e-6, nil, ""},
		{"us", "all", three, "", 2e-6, []float64{3e-6, 1e-6, 2e-6}, ""},
		{"us", "all", "p=3", "", 3e-6, nil, ""},
		{"us", "last", "p=3", "p=4", 3e-6, nil, ""},
		{"us", "last", "", "p=4", 4e-6, nil, ""},
		{"", "last", "p=12.5ms", "", 0.0125, nil, ""},
		{"", "last", "p=0", "", 0, nil, ""},
		{"", "last", "", "", 0, nil, `pattern of metric "m" matched nothing: p=(\S+)`},
		{"", "last", "q=3", "", 0, nil, "matched nothing"},
		{"", "last", "p=1,234", "", 0, nil, `"1,234" has a thousands separator or a decimal comma`},
		{"", "last", "p=3,14", "", 0, nil, "decimal comma"},
		{"", "last", "p=NaN", "", 0, nil, "printed NaN"},
		{"", "last", "p=-inf", "", 0, nil, "printed Inf"},
		{"", "last", "p=1e999", "", 0, nil, "outside the range"},
		{"", "last", "p=fast", "", 0, nil, `"fast" is not a number`},
		{"B", "last", "p=3ms", "", 0, nil, "not the declared"},
		{"", "all", "p=3ms p=4", "", 0, nil, "another unit"},
		{"", "first", "p=1 p=NaN", "", 1, nil, ""},
		{"", "all", "p=1 p=NaN", "", 0, nil, "printed NaN"},
	} {
		e := extract(t, declaredAs(c.unit, `p=(\S+)`, "", c.take), Result{Stdout: whole(c.stdout), Stderr: whole(c.stderr)})
		if c.void != "" {
			if !strings.Contains(e.Void, c.void) || !strings.Contains(e.Void, `"m"`) || len(own(e)) != 0 {
				t.Errorf("%q: void %q, values %v; want void with %q", c.stdout, e.Void, own(e), c.void)
			}
			continue
		}
		if e.Void != "" || e.Values["m"] != c.value || !reflect.DeepEqual(e.Iterations["m"], c.iterations) {
			t.Errorf("%s of %q: void %q, value %v, iterations %v; want %v, %v", c.take, c.stdout, e.Void, e.Values["m"], e.Iterations["m"], c.value, c.iterations)
		}
	}
}

func TestPatternGroupLeftOut(t *testing.T) {
	e := extract(t, declaredAs("", `a(\d)|b`, "", ""), output("b"))
	if !strings.Contains(e.Void, "without its group") {
		t.Errorf("void %q", e.Void)
	}
}

func TestPatternHintsAtLineAnchors(t *testing.T) {
	e := extract(t, declaredAs("", `^p=(\d+)$`, "", ""), output("x\np=3\n"))
	if !strings.Contains(e.Void, "(?m)") {
		t.Errorf("void %q", e.Void)
	}
	e = extract(t, declaredAs("", `^q=(\d+)$`, "", ""), output("x\np=3\n"))
	if e.Void == "" || strings.Contains(e.Void, "(?m)") {
		t.Errorf("void %q", e.Void)
	}
}

func TestPatternMatchesTooOften(t *testing.T) {
	e := extract(t, declaredAs("", `(\d)`, "", "all"), output(strings.Repeat("1", maxMatches+1)))
	if !strings.Contains(e.Void, "more than") {
		t.Errorf("void %q", e.Void)
	}
}

func TestCutOutput(t *testing.T) {
	cut := func(head, tail string, lost int) Stream {
		return Stream{Head: []byte(head), Tail: []byte(tail), Total: int64(len(head) + len(tail) + lost)}
	}
	for _, c := range []struct {
		take string
		s    Stream
		want float64
		void bool
	}{
		{"first", cut("p=1\np=2", "x\np=9\n", 5), 1, false},
		{"first", cut("q\np=2", "x\np=9\n", 5), 0, true}, // "p=2" may go on in the gap
		{"last", cut("p=1\n", "p=8\np=9\n", 5), 9, false},
		{"last", cut("p=1\n", "p=8\n", 5), 0, true}, // so may "p=8" come from it
		{"last", cut("p=1\n", "q\nq\n", 5), 0, true},
		{"median", cut("p=1\n", "x\np=9\n", 5), 0, true},
		{"all", cut("p=1\n", "x\np=9\n", 5), 0, true},
		// The tail reaches back to the head: nothing is missing.
		{"all", cut("p=1\np=", "3\n", 0), 2, false},
		{"all", cut("p=1\np=", "p=3\n", -2), 2, false},
	} {
		e := extract(t, declaredAs("", `p=(\S+)`, "", c.take), Result{Stdout: c.s})
		if c.void {
			if !strings.Contains(e.Void, "plan.output") || !strings.Contains(e.Void, `"m"`) {
				t.Errorf("%s of %q: void %q", c.take, c.s.Head, e.Void)
			}
		} else if e.Void != "" || e.Values["m"] != c.want {
			t.Errorf("%s of %q: void %q, value %v", c.take, c.s.Head, e.Void, e.Values["m"])
		}
	}
	// stdout comes first: a match on stderr does not say what its gap held.
	e := extract(t, declaredAs("", `p=(\S+)`, "", "last"), Result{Stdout: cut("a\n", "b\nc\n", 9), Stderr: whole("p=1")})
	if !strings.Contains(e.Void, "stdout is longer than plan.output") {
		t.Errorf("void %q", e.Void)
	}
	for _, w := range []Workload{declaredAs("", "", "$.a", ""), {Format: "gobench"}, {Kernel: "jitter"}} {
		if e := extract(t, w, Result{Stdout: cut(`{"a":1}`, "\n", 9)}); !strings.Contains(e.Void, "plan.output") {
			t.Errorf("%+v: void %q", w, e.Void)
		}
	}
	e = extract(t, Workload{Extract: true}, Result{Stdout: cut("a 1\nb 2", "3\nc 4\n", 9)})
	if want := map[string]float64{"a #": 1, "c #": 4}; !reflect.DeepEqual(own(e), want) || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "plan.output") {
		t.Errorf("values %v, warnings %q", own(e), e.Warnings)
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		path, take, text string
		value            float64
		iterations       []float64
		void             string
	}{
		{"$.a", "", `{"a":1.5}`, 1.5, nil, ""},
		{"$.a", "", `{"a":"1.5"}`, 1.5, nil, ""},
		{"$.a", "", `{"a":"1.5ms"}`, 0.0015, nil, ""},
		{"$.a", "", ` {"a":0} ` + "\n", 0, nil, ""},
		{"$", "", `7`, 7, nil, ""},
		{"$.t[*]", "all", `{"t":[3,1,2]}`, 2, []float64{3, 1, 2}, ""},
		{"$.t[*]", "first", `{"t":[3,1,2]}`, 3, nil, ""},
		{"$.t[*]", "median", `{"t":[3,1,2]}`, 2, nil, ""},
		{"$.t[*]", "last", `{"t":[3,1,2]}`, 2, nil, ""},
		{"$..ns", "all", `{"x":[{"ns":1},{"ns":5}]}`, 3, []float64{1, 5}, ""},
		{"$.r[?@.n=='b'].v", "", `{"r":[{"n":"a","v":1},{"n":"b","v":2}]}`, 2, nil, ""},
		{"$.a", "all", "{\"a\":1}\n{\"a\":3}\n", 2, []float64{1, 3}, ""},
		{"$.b", "", `{"a":1}`, 0, nil, `path of metric "m" matched nothing: $.b`},
		{"$.a", "", ``, 0, nil, "stdout is empty"},
		{"$.a", "", `hello`, 0, nil, "not JSON"},
		{"$.a", "", `{"a":1} done`, 0, nil, "not JSON"},
		{"$.a", "", `{"a":`, 0, nil, "not JSON"},
		{"$.a", "", `{"a":NaN}`, 0, nil, "JSON has no NaN"},
		{"$.a", "", `{"a":"NaN"}`, 0, nil, "printed NaN"},
		{"$.a", "", `{"a":null}`, 0, nil, "null, not a number"},
		{"$.a", "", `{"a":true}`, 0, nil, "true, not a number"},
		{"$.a", "", `{"a":[1]}`, 0, nil, "[*]"},
		{"$.a", "", `{"a":{}}`, 0, nil, "an object"},
		{"$.a", "", `{"a":1e999}`, 0, nil, "outside the range"},
		{"$.a", "", `{"a":"1,234"}`, 0, nil, "thousands separator"},
		{"$.a", "", strings.Repeat("[", 20000), 0, nil, "not JSON"},
	} {
		e := extract(t, declaredAs("", "", c.path, c.take), output(c.text))
		if c.void != "" {
			if !strings.Contains(e.Void, c.void) || !strings.Contains(e.Void, `"m"`) {
				t.Errorf("%s in %.40q: void %q, want %q", c.path, c.text, e.Void, c.void)
			}
			continue
		}
		if e.Void != "" || e.Values["m"] != c.value || !reflect.DeepEqual(e.Iterations["m"], c.iterations) {
			t.Errorf("%s of %s in %q: void %q, value %v, iterations %v", c.take, c.path, c.text, e.Void, e.Values["m"], e.Iterations["m"])
		}
	}
}

// One metric that fails leaves the values of the others, in a void run.
func TestVoidKeepsTheOtherValues(t *testing.T) {
	w := Workload{Metrics: []MetricSpec{
		{Metric: metric.Metric{Name: "a"}, Pattern: `a=(\S+)`},
		{Metric: metric.Metric{Name: "b"}, Pattern: `b=(\S+)`},
		{Metric: metric.Metric{Name: "c"}, Pattern: `c=(\S+)`},
	}}
	e := extract(t, w, output("b=2"))
	if want := map[string]float64{"b": 2}; !reflect.DeepEqual(own(e), want) {
		t.Errorf("values %v", own(e))
	}
	if !strings.Contains(e.Void, `"a"`) || !strings.Contains(e.Void, `"c"`) || strings.Contains(e.Void, `"b"`) {
		t.Errorf("void %q", e.Void)
	}
}

func FuzzPattern(f *testing.F) {
	f.Add(`p=(\S+)`, "p=1\np=2", 3, 2)
	f.Add(`(.*)`, "NaN", 0, 0)
	f.Add(`(a)|b`, "b", 1, 1)
	f.Fuzz(func(t *testing.T, pattern, text string, head, tail int) {
		for _, take := range []string{"first", "last", "median", "all"} {
			x, err := NewExtractor(declaredAs("ms", pattern, "", take))
			if err != nil {
				return
			}
			head, tail = bound(head, len(text)), bound(tail, len(text))
			s := Stream{Head: []byte(text[:head]), Tail: []byte(text[len(text)-tail:]), Total: int64(len(text))}
			e, err := x.Extract(Result{Stdout: s})
			if err != nil {
				t.Fatal(err)
			}
			checkExtracted(t, e)
			if _, ok := e.Values["m"]; ok == (e.Void != "") {
				t.Fatalf("%s: void %q, value there: %v", take, e.Void, ok)
			}
		}
	})
}

// bound brings n between 0 and most.
func bound(n, most int) int { return max(0, min(n, most)) }

func FuzzJSON(f *testing.F) {
	f.Add("$..a", `{"a":[1,{"a":"2ms"}]}`)
	f.Add("$[?@.x>1].y", `[{"x":2,"y":3}]`)
	f.Add("$[::-1]", `[1,2]`)
	f.Add("$.a", `{"a":NaN}`)
	f.Fuzz(func(t *testing.T, path, text string) {
		x, err := NewExtractor(declaredAs("", "", path, "all"))
		if err != nil || len(path) > 40 {
			return
		}
		e, err := x.Extract(output(text))
		if err != nil {
			t.Fatal(err)
		}
		checkExtracted(t, e)
		if _, ok := e.Values["m"]; ok == (e.Void != "") {
			t.Fatalf("void %q, value there: %v", e.Void, ok)
		}
	})
}

func ExampleNewExtractor() {
	x, err := NewExtractor(Workload{
		Name:    "mytask",
		Command: []string{"./mytask"},
		Metrics: []MetricSpec{{Metric: metric.Metric{Name: "latency", Unit: "us"}, Pattern: `p99 = ([\d.]+) us`}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, _ := x.Extract(Result{Stdout: whole("p99 = 12.5 us\n")})
	fmt.Println(e.Values["latency"], "s")
	e, _ = x.Extract(Result{Stdout: whole("done\n")})
	fmt.Println(e.Void)
	// Output:
	// 1.25e-05 s
	// pattern of metric "latency" matched nothing: p99 = ([\d.]+) us
}
