package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"goset/internal/publicdata"
	"goset/metric"
)

func gobench(t testing.TB, text string) Extracted {
	t.Helper()
	return extract(t, Workload{Format: "gobench"}, output(text))
}

func TestGobench(t *testing.T) {
	e := gobench(t, `goos: linux
pkg: example.org/a
Unit widgets better=higher
BenchmarkX-2   	1000	 7.621 ns/op	 12.50 p99-µs	 3 widgets	 270.5 MB/s	 8 B/op
BenchmarkX-2   	1000	 5.5 ns/op	 2.50 p99-µs	 5 widgets	 270.5 MB/s	 8 B/op
BenchmarkY/a=1,b   	1000	 1 ns/op
PASS
`)
	want := map[string]float64{"X-2 ns/op": (7.621e-9 + 5.5e-9) / 2, "X-2 p99-µs": 7.5e-6, "X-2 widgets": 4, "X-2 MB/s": 270.5e6, "X-2 B/op": 8, "Y/a=1,b ns/op": 1e-9}
	got := own(e)
	for name, v := range want {
		if d := got[name] - v; d > 1e-20 || d < -1e-20 {
			t.Errorf("%q = %v, want %v", name, got[name], v)
		}
	}
	if len(got) != len(want) || e.Void != "" || len(e.Warnings) != 0 {
		t.Errorf("values %v, void %q, warnings %q", got, e.Void, e.Warnings)
	}
	if it := e.Iterations["X-2 ns/op"]; !reflect.DeepEqual(it, []float64{7.621e-9, 5.5e-9}) {
		t.Errorf("iterations %v", it)
	}
	if _, ok := e.Iterations["Y/a=1,b ns/op"]; ok {
		t.Error("iterations of a benchmark of one line")
	}
	for _, m := range []metric.Metric{
		{Name: "X-2 ns/op", Unit: "s/op", Show: "ns/op", Better: metric.Lower, Shown: true},
		{Name: "X-2 p99-µs", Unit: "p99-s", Show: "p99-µs", Shown: true},
		{Name: "X-2 widgets", Unit: "widgets", Better: metric.Higher, Shown: true},
		{Name: "X-2 MB/s", Unit: "B/s", Show: "MB/s", Better: metric.Higher, Shown: true},
		{Name: "X-2 B/op", Unit: "B/op", Better: metric.Lower, Shown: true},
	} {
		if got := find(t, e, m.Name); got != m {
			t.Errorf("got %+v, want %+v", got, m)
		}
	}
}

func TestGobenchPackages(t *testing.T) {
	e := gobench(t, "pkg: a/b\nBenchmarkX 1 2 ns/op\npkg: a/c\nBenchmarkX 1 4 ns/op\n")
	if want := map[string]float64{"a/b.X ns/op": 2e-9, "a/c.X ns/op": 4e-9}; !reflect.DeepEqual(own(e), want) {
		t.Errorf("values %v", own(e))
	}
}

func TestGobenchFaults(t *testing.T) {
	const good = "BenchmarkX 1 2 ns/op\n"
	long := "BenchmarkLong " + strings.Repeat("1", 1<<17)
	for _, c := range []struct {
		text    string
		unread  int // lines said to be unreadable
		void    string
		isFirst string
	}{
		{"", 0, "no benchmark result line", ""},
		{"PASS\n", 0, "no benchmark result line", ""},
		{"BenchmarkX\n", 0, "no benchmark result line", ""}, // -v prints the name
		{good, 0, "", ""},
		{"\ufeff" + good, 0, "", ""},
		{strings.ReplaceAll(good, "\n", "\r\n"), 0, "", ""},
		{"BenchmarkX 1 2 ns/op", 0, "", ""},
		{"BenchmarkX\tpanic: boom\n", 1, "no benchmark result line", "panic: boom"},
		{good + "BenchmarkY-2 \t--- FAIL: BenchmarkY\n", 1, "", "--- FAIL"},
		{good + "BenchmarkFake-8 \t 100\t 5 ns/op <- not a result\n", 1, "", "Fake"},
		{good + "BenchmarkY 1 2\n", 1, "", "BenchmarkY"},
		{good + "BenchmarkY 1,234 2 ns/op\n", 1, "", "BenchmarkY"},
		{good + "  328717\t       132.9 ns/op\n", 1, "", "328717"},
		{good + "running BenchmarkA/BenchmarkB-2  \t  563973\t        50.03 ns/op\n", 1, "", "BenchmarkB"},
		{good + "BenchmarkCut-2  \t", 1, "", "Cut"},
		{good + "BenchmarkCut-2  \tprint\nPASS\n", 1, "", "Cut"},
		{good + "BenchmarkCut-2  \tprint\nBenchmarkY 1 2 ns/op\n", 1, "", "Cut"},
		{good + "BenchmarkCut-2  \tx\nseen: BenchmarkZ-2 \tyes\n    1000\t 3.5 ns/op\n", 2, "", "1000"},
		{good + "BenchmarkCut-2  \tprint\n 1000\t 3.5 ns/op\n", 2, "", "1000"},
		{good + "    noisy_test.go:24: N=1 elapsed so far: 3.5 ns/op\n", 0, "", ""},
		{long + "\n" + good, 1, "", "Long"},
		{good + strings.Repeat("x", 1<<17) + "\n" + good, 0, "", ""},
	} {
		e := gobench(t, c.text)
		if c.void == "" && e.Void != "" || !strings.Contains(e.Void, c.void) {
			t.Errorf("%.60q: void %q, want %q", c.text, e.Void, c.void)
		}
		if c.unread == 0 && len(e.Warnings) > 0 {
			t.Errorf("%.60q: warnings %q", c.text, e.Warnings)
		}
		if c.unread > 0 && (len(e.Warnings) != 1 || !strings.HasPrefix(e.Warnings[0], fmt.Sprint(c.unread)) || !strings.Contains(e.Warnings[0], c.isFirst)) {
			t.Errorf("%.60q: warnings %q", c.text, e.Warnings)
		}
		if strings.Contains(c.text, good) && e.Values["X ns/op"] != 2e-9 {
			t.Errorf("%.60q: values %v", c.text, own(e))
		}
	}
}

// What is no finite number is left out and said, and costs no other number of
// the output.
func TestGobenchInfinite(t *testing.T) {
	for text, want := range map[string]string{
		"BenchmarkX 1 2 ns/op NaN ratio\n":                                   `metric "X ratio" is left out: printed NaN`,
		"BenchmarkX 1 2 ns/op -Inf ratio\nBenchmarkX 1 2 ns/op -Inf ratio\n": `metric "X ratio" is left out: printed Inf`,
		"BenchmarkX 1 2 ns/op 5 ratio\nBenchmarkX 1 2 ns/op NaN ratio\n":     `metric "X ratio" is left out: printed NaN`,
		"BenchmarkX 1 2 ns/op\nBenchmarkX 1 1e308 GB\n":                      "outside the range",
	} {
		e := gobench(t, text)
		if got := own(e); e.Void != "" || len(got) != 1 || got["X ns/op"] != 2e-9 || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], want) {
			t.Errorf("%q: values %v, void %q, warnings %q, want %q", text, got, e.Void, e.Warnings, want)
		}
	}
	if e := gobench(t, "BenchmarkX 1 NaN ns/op\nBenchmarkX 1 2 ns/op\n"); e.Void != "no benchmark printed a finite number" {
		t.Errorf("void %q of an output without a number", e.Void)
	}
}

// The recorded outputs give the values that benchfmt reads.
func TestGobenchRecorded(t *testing.T) {
	oracles, err := filepath.Glob(filepath.Join(publicdata.Path(t, "gobench"), "*.benchfmt.jsonl"))
	if err != nil || len(oracles) == 0 {
		t.Fatalf("%d recorded outputs, %v", len(oracles), err)
	}
	for _, oracle := range oracles {
		name := strings.TrimSuffix(oracle, ".benchfmt.jsonl")
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			bench, err := readBench(text)
			if err != nil {
				t.Fatal(err)
			}
			compareOracle(t, bench, oracle)
			gobench(t, string(text))
		})
	}
}

// compareOracle holds the lines read against the recorded ones.
func compareOracle(t *testing.T, bench benchOutput, oracle string) {
	t.Helper()
	data, err := os.ReadFile(oracle)
	if err != nil {
		t.Fatal(err)
	}
	var want, faults, at int
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		var w oracleLine
		if err := json.Unmarshal(s.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		if w.SyntaxError != "" {
			faults++
		}
		if w.SyntaxError != "" || w.Full == "" {
			continue // what was torn, and unit metadata
		}
		want++
		// Between the lines that benchfmt reads may be some that it loses.
		for at < len(bench.lines) && !w.equal(bench.lines[at]) {
			at++
		}
		if at == len(bench.lines) {
			t.Fatalf("line %d of the oracle is missing: %s", want, s.Text())
		}
		at++
	}
	if len(bench.lines)+bench.unread < want+faults {
		t.Errorf("%d lines and %d unreadable, want %d in all", len(bench.lines), bench.unread, want+faults)
	}
}

// oracleLine is what benchfmt made of a line.
type oracleLine struct {
	Full, Pkg, SyntaxError string
	Values                 map[string]string
}

func (w oracleLine) equal(l benchLine) bool {
	if l.name != w.Full || l.pkg != w.Pkg || len(l.values) != len(w.Values) {
		return false
	}
	return !slices.ContainsFunc(l.values, func(v benchValue) bool {
		return strconv.FormatFloat(v.value, 'g', -1, 64) != w.Values[v.unit]
	})
}

// benchNames lists the results and their b.N, with "?" for an uncertain one.
func benchNames(t *testing.T, text string) []string {
	t.Helper()
	bench, err := readBench([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range bench.lines {
		n := strconv.Itoa(l.iters)
		if l.iters == 0 {
			n = "?"
		}
		names = append(names, fmt.Sprintf("%s.%s %s %v%s", l.pkg, l.name, n, l.values[0].value, l.values[0].unit))
	}
	if bench.unread > 0 {
		names = append(names, fmt.Sprintf("%d unread", bench.unread))
	}
	return names
}

// A result that a print tore apart is put together where no doubt is left.
func TestGobenchTorn(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{".BenchmarkA-2   \t....  563973\t        50.03 ns/op\n", []string{".A-2 563973 50.03ns/op"}},
		{"BenchmarkA-2   \tdb\ndb\n  328717\t       132.9 ns/op\t  8 B/op\n", []string{".A-2 328717 132.9ns/op"}},
		{"BenchmarkA-2   \t2026/11/30 09:58:20 N=1\nx\ty\n  328717\t       132.9 ns/op\n", []string{".A-2 328717 132.9ns/op"}},
		{"BenchmarkA-2   \tN=12345678\t  5.5 ns/op\n", []string{".A-2 12345678 5.5ns/op"}},
		{"BenchmarkA-2   \tN=123456789\t  5.5 ns/op\n", []string{".A-2 ? 5.5ns/op"}},
		{"BenchmarkA-2   \t123456789\t  5.5 ns/op\n", []string{".A-2 123456789 5.5ns/op"}},
		{"BenchmarkA-2   \tN=1234567\t  5.5 ns/op\n", []string{"1 unread"}}, // no field of eight
		{"BenchmarkA-2 \tx\nBenchmarkB-2 \ty\n     100\t  5.5 ns/op\n", []string{".B-2 100 5.5ns/op", "1 unread"}},
		{"BenchmarkA-2 \tx\nBenchmark is warm\nBenchmark\n     100\t  5.5 ns/op\n", []string{".A-2 100 5.5ns/op"}},
		{"BenchmarkA-2 \tx\nBenchmarkB 1 2 ns/op\n", []string{".B 1 2ns/op", "1 unread"}},
		{"\xff\xfeB\x00e\x00n\x00c\x00h\x00m\x00a\x00r\x00k\x00A\x00 \x001\x00 \x002\x00 \x00n\x00s\x00/\x00o\x00p\x00\r\x00\n\x00", []string{".A 1 2ns/op"}},
		{"BenchmarkA-2 \tx\r\n     100\t  5.5 ns/op\r\n", []string{".A-2 100 5.5ns/op"}},
		{"pkg: p\nBenchmarkA-2 \tx\n     100\t  4 hits/op\nok  \tp\t0.1s\npkg: q\nBenchmarkA-2 \t     100\t  5 ns/op\n", []string{"p.A-2 100 4hits/op", "q.A-2 100 5ns/op"}},
	} {
		if got := benchNames(t, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q:\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

// The events of go test -json are put together again, package by package.
func TestGobenchEvents(t *testing.T) {
	event := func(pkg, output string) string {
		e, err := json.Marshal(map[string]string{"Action": "output", "Package": pkg, "Output": output})
		if err != nil {
			t.Fatal(err)
		}
		return string(e) + "\n"
	}
	text := `{"Action":"start","Package":"a"}` + "\n" +
		event("a", "\x16=== RUN   BenchmarkX\n") + event("a", "BenchmarkX\n") + event("a", "BenchmarkX-2  \t") +
		event("b", "pkg: b\n") + event("b", "BenchmarkX-2  \tprint\n") + event("a", "    1000\t  7.5 ns/op\n") +
		event("b", "    2000\t  8.5 ns/op\n") + "go: a line of another program\n" + `{"Action":"output","Package":"b","Out`
	want := []string{"a.X-2 1000 7.5ns/op", "b.X-2 2000 8.5ns/op", "1 unread"}
	if got := benchNames(t, text); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// kernelLines prints a line per value, as the kernels do.
func kernelLines(name, unit string, values ...string) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%s\t1\t%s %s\n", name, v, unit)
	}
	return b.String()
}

func TestKernelReader(t *testing.T) {
	for _, c := range []struct {
		kernel, text string
		values       map[string]float64
		void         string
	}{
		{"jitter", "goos: linux\n" + kernelLines("BenchmarkJitter", "ns/iteration", "5050000", "5000000", "5150000"), map[string]float64{"time": 5.05e-3}, ""},
		{"jitter", kernelLines("BenchmarkJitter/threads=2-8", "ns/iteration", "3", "1"), map[string]float64{"time": 2e-9}, ""},
		{"jitter", kernelLines("Benchmarkjitter-8", "ns/iteration", "3"), map[string]float64{"time": 3e-9}, ""},
		{"chase", kernelLines("BenchmarkChase", "ns/load", "2.61"), map[string]float64{"latency": 2.61e-9}, ""},
		{"matmul", kernelLines("BenchmarkMatmul", "MFLOP/s", "17241.5"), map[string]float64{"rate": 17241.5e6}, ""},
		{"stream", kernelLines("BenchmarkStream/op=copy", "MB/s", "1", "2", "9") + kernelLines("BenchmarkStream/op=scale", "MB/s", "3") +
			kernelLines("BenchmarkStream/op=add", "MB/s", "4") + kernelLines("BenchmarkStream/op=triad-4", "MB/s", "5", "4"),
			map[string]float64{"copy": 2e6, "copy-best": 9e6, "scale": 3e6, "scale-best": 3e6, "add": 4e6, "add-best": 4e6, "triad": 4.5e6, "triad-best": 5e6}, ""},
		{"jitter", "", nil, `metric "time" of kernel "jitter": stdout has no line of it with unit "ns/iteration"`},
		{"jitter", kernelLines("BenchmarkChase", "ns/load", "2"), nil, `"time"`},
		{"jitter", kernelLines("BenchmarkJitter", "ns/op", "2"), nil, `"time"`},
		{"jitter", kernelLines("BenchmarkJitter", "ns/iteration", "2") + "BenchmarkJitter\t1\t2", map[string]float64{}, "cannot be read"},
		{"jitter", kernelLines("BenchmarkJitter", "ns/iteration", "2", "NaN"), map[string]float64{}, "printed NaN"},
		{"stream", kernelLines("BenchmarkStream/op=copy", "MB/s", "1"), map[string]float64{"copy": 1e6, "copy-best": 1e6}, "and 1 more"},
	} {
		e := extract(t, Workload{Kernel: c.kernel}, output(c.text))
		if c.void == "" && e.Void != "" || !strings.Contains(e.Void, c.void) {
			t.Errorf("%s %.60q: void %q, want %q", c.kernel, c.text, e.Void, c.void)
		}
		got := own(e)
		if len(got) != len(c.values) {
			t.Errorf("%s %.60q: values %v, want %v", c.kernel, c.text, got, c.values)
		}
		for name, v := range c.values {
			if got[name] != v {
				t.Errorf("%s: %q = %v, want %v", c.kernel, name, got[name], v)
			}
		}
	}
}

// A kernel's doubts about its run are warnings of the record, each once.
func TestKernelWarnings(t *testing.T) {
	lines := func(op, unit string) string {
		return kernelLines("BenchmarkYield/op="+op, unit, "2", "3", "4")
	}
	all := lines("base", "ns/probe") + lines("peak", "ns/probe") + lines("peak-to-base", "x") + lines("rate", "MB/s")
	for text, want := range map[string][]string{
		all:                          nil,
		"warning: a: b\n" + all:      {"a: b"},
		all + "warning: after all\n": nil, // a line of configuration is about what follows it
	} {
		e := extract(t, Workload{Kernel: "yield"}, output("kernel: yield\n"+text))
		if e.Void != "" || !slices.Equal(e.Warnings, want) {
			t.Errorf("%q: void %q, warnings %q, want %q", text, e.Void, e.Warnings, want)
		}
		if got := own(e); got["base"] != 3e-9 || got["peak"] != 3e-9 || got["peak-to-base"] != 3 || got["rate"] != 3e6 {
			t.Errorf("values %v", got)
		}
	}
}

// The iterations are in time order.
func TestKernelIterations(t *testing.T) {
	e := extract(t, Workload{Kernel: "jitter"}, output(kernelLines("BenchmarkJitter", "ns/iteration", "3", "1", "2")))
	if want := []float64{3e-9, 1e-9, 2e-9}; !reflect.DeepEqual(e.Iterations["time"], want) {
		t.Errorf("iterations %v, want %v", e.Iterations["time"], want)
	}
}

func TestBest(t *testing.T) {
	values := []float64{2, 3, 1}
	if got := best(values, metric.Higher); got != 3 {
		t.Errorf("best of higher: %v", got)
	}
	if got := best(values, metric.Lower); got != 1 {
		t.Errorf("best of lower: %v", got)
	}
}

func FuzzGobench(f *testing.F) {
	f.Add("BenchmarkX-2 1 2 ns/op\nBenchmarkX-2 1 NaN MB/s\n")
	f.Add("pkg: a\nBenchmarkStream/op=triad 1 2 MB/s\npkg: b\nBenchmarkX 1 2 ns/op")
	f.Add("Unit x better=higher\nBenchmarkX 1 2 x\n  12\t 3 ns/op")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range []Workload{{Format: "gobench"}, {Kernel: "stream"}, {Kernel: "jitter"}} {
			e := extract(t, w, output(text))
			if len(own(e)) == 0 && e.Void == "" {
				t.Fatalf("%+v: no value and not void", w)
			}
		}
	})
}
