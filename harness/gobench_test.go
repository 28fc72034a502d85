package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

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
		{good + ".BenchmarkPrint-2  \t....  563973\t        50.03 ns/op\n", 1, "", "Print"},
		{good + "    noisy_test.go:24: N=1 elapsed so far: 3.5 ns/op\n", 0, "", ""},
		{long + "\n" + good, 1, "", "Long"},
		{good + strings.Repeat("x", 1<<17) + "\n" + good, 0, "", ""},
		{good + "BenchmarkX 1 NaN ratio\n", 0, `"X ratio": printed NaN`, ""},
		{good + "BenchmarkX 1 -Inf ratio\n", 0, `"X ratio": printed Inf`, ""},
		{good + "BenchmarkX 1 1e308 GB\n", 0, "outside the range", ""},
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

// The recorded outputs give the values that benchfmt reads.
func TestGobenchRecorded(t *testing.T) {
	root := os.Getenv("GOSET_TEST_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "data")
	}
	oracles, err := filepath.Glob(filepath.Join(root, "gobench", "*.benchfmt.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(oracles) == 0 {
		t.Skipf("no recorded outputs in %s (set GOSET_TEST_DATA)", root)
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
	var lines, faults int
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		var want struct {
			Full, Pkg, SyntaxError string
			Values                 map[string]string
		}
		if err := json.Unmarshal(s.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if want.SyntaxError != "" {
			faults++
			continue
		}
		if want.Full == "" {
			continue // unit metadata
		}
		if lines >= len(bench.lines) {
			t.Fatalf("line %d of the oracle is missing: %s", lines, s.Text())
		}
		got := bench.lines[lines]
		lines++
		if got.name != want.Full || got.pkg != want.Pkg || len(got.values) != len(want.Values) {
			t.Errorf("got %+v, want %+v", got, want)
			continue
		}
		for _, v := range got.values {
			if w := want.Values[v.unit]; strconv.FormatFloat(v.value, 'g', -1, 64) != w {
				t.Errorf("%s %s = %v, want %s", got.name, v.unit, v.value, w)
			}
		}
	}
	if lines != len(bench.lines) || bench.unread < faults {
		t.Errorf("%d lines and %d unreadable, want %d and at least %d", len(bench.lines), bench.unread, lines, faults)
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
