package harness

import (
	"time"

	"goset/metric"
)

// Kernel describes a bundled kernel as an experiment sees it: the keys that a
// workload of it may have, which are also flags of `goset-bench workload
// NAME`, and the metrics that its benchmark lines become. A test in cmd holds
// it against the kernels themselves.
type Kernel struct {
	Name    string
	Short   string // what it measures, in a line
	Long    string // the same at length, with what its numbers count
	Params  []KernelParam
	Metrics []KernelMetric
	// Runtime is true of a kernel that measures the Go runtime itself: its
	// process sleeps and wakes as any Go program does. See KernelSlack.
	Runtime bool
}

// KernelParam is one key of a kernel.
type KernelParam struct {
	Name    string
	Kind    string // "int", "bool", "word" or "duration"
	Default string
	Min     int64    // of an int, or of a duration in nanoseconds
	Max     int64    // of the same
	Words   []string // of a word
	Help    string
	Side    bool // levels are compared with the first of them: see Workload.Sides
}

// KernelMetric maps benchmark lines to a metric: the lines whose name, without
// "Benchmark" and without what follows the first "/" unless Op is set, is the
// kernel's and whose unit is Unit; Op is the value of the "/op=" part.
type KernelMetric struct {
	metric.Metric
	Op   string // "triad" for BenchmarkStream/op=triad; "" for any
	Line string // unit on the line: "ns/iteration"
	Best bool   // the best iteration instead of the median one
}

// Kernels returns the bundled kernels in the order of the published table.
func Kernels() []Kernel {
	kernels := kernelTable()
	for i := range kernels {
		kernels[i].Short, kernels[i].Long = kernelHelp(kernels[i].Name)
	}
	return kernels
}

func kernelTable() []Kernel {
	threads := KernelParam{Name: "threads", Kind: "int", Default: "1", Min: 1, Max: 4096, Help: "processes side by side, each with all of the work"}
	iterations := func(n string) KernelParam {
		return KernelParam{Name: "iterations", Kind: "int", Default: n, Min: 1, Max: 10_000_000, Help: "timed repetitions, after one untimed"}
	}
	path := KernelParam{Name: "path", Kind: "word", Default: "auto", Words: []string{"auto", "avx512", "avx2", "portable"}, Help: "vector instructions; auto: the widest there are"}
	return []Kernel{
		{Name: "jitter", Params: []KernelParam{
			{Name: "steps", Kind: "int", Default: "3000000", Min: 1, Max: 1 << 40, Help: "links of the dependent chain in one iteration"},
			iterations("300"), threads,
		}, Metrics: []KernelMetric{
			{Metric: metric.Metric{Name: "time", Unit: "s/iteration", Show: "ms/iteration", Better: metric.Lower, Shown: true}, Line: "ns/iteration"},
		}},
		{Name: "chase", Params: []KernelParam{
			{Name: "kib", Kind: "int", Default: "192", Min: 1, Max: 1 << 32, Help: "size of a process's ring in KiB"},
			{Name: "loads", Kind: "int", Default: "2000000", Min: 1, Max: 1 << 40, Help: "dependent loads in one iteration"},
			iterations("300"), threads,
			{Name: "hugepages", Kind: "bool", Default: "false", Help: "ask for transparent huge pages"},
			{Name: "seed", Kind: "int", Default: "1", Min: 0, Max: 1<<62 - 1, Help: "seed of the random cycle"},
		}, Metrics: []KernelMetric{
			{Metric: metric.Metric{Name: "latency", Unit: "s/load", Show: "ns/load", Better: metric.Lower, Shown: true}, Line: "ns/load"},
		}},
		{Name: "matmul", Params: []KernelParam{
			{Name: "multiplications", Kind: "int", Default: "2000", Min: 1, Max: 1 << 40, Help: "32×32 float64 products in one iteration"},
			iterations("300"), threads, path,
		}, Metrics: []KernelMetric{
			{Metric: metric.Metric{Name: "rate", Unit: "FLOP/s", Show: "MFLOP/s", Better: metric.Higher, Shown: true}, Line: "MFLOP/s"},
		}},
		{Name: "stream", Params: []KernelParam{
			{Name: "elements", Kind: "int", Default: "20000000", Min: 8, Max: 1 << 36, Help: "float64 elements of each of a process's three arrays"},
			iterations("20"), threads, path,
			{Name: "nontemporal", Kind: "bool", Default: "false", Help: "stores that bypass the caches"},
		}, Metrics: streamMetrics()},
		{Name: "yield", Params: yieldParams(), Metrics: yieldMetrics(), Runtime: true},
	}
}

// kernelOf finds a bundled kernel by its name.
func kernelOf(name string) (Kernel, bool) {
	for _, k := range Kernels() {
		if k.Name == name {
			return k, true
		}
	}
	return Kernel{}, false
}

func yieldParams() []KernelParam {
	integer := func(name, def string, most int64, help string) KernelParam {
		return KernelParam{Name: name, Kind: "int", Default: def, Min: 1, Max: most, Help: help}
	}
	return []KernelParam{
		{Name: "yield", Kind: "word", Default: "gosched", Words: []string{"none", "gosched", "paced", "runtime"}, Help: "what workers call before every block", Side: true},
		{Name: "every", Kind: "duration", Default: "100µs", Min: 0, Max: int64(time.Second), Help: "of paced: how long a worker runs before it calls runtime.Gosched"},
		integer("procs", "3", 4096, "GOMAXPROCS; may be more than there are CPUs"),
		integer("rounds", "10", 100_000, "timed rounds, after an untimed short one"),
		integer("workers", "16", 4096, "goroutines that compress in the background"),
		integer("bytes", "536870912", 1<<50, "what they compress together in a round"),
		integer("block", "2048", 1<<30, "bytes from one call of the yield function to the next"),
		integer("goroutines", "1000", 1_000_000, "goroutines of one probe, which each read the clock"),
	}
}

// yieldMetrics are of each round; the ratio is of the two latencies of a round.
// The peak comes first: claims over all workloads are about the first metric.
func yieldMetrics() []KernelMetric {
	of := func(name, unit, show string, better metric.Direction, line string) KernelMetric {
		return KernelMetric{Metric: metric.Metric{Name: name, Unit: unit, Show: show, Better: better, Shown: true}, Op: name, Line: line}
	}
	return []KernelMetric{
		of("peak", "s/probe", "µs/probe", metric.Lower, "ns/probe"),
		of("peak-to-base", "x", "", metric.Lower, "x"),
		of("rate", "B/s", "MB/s", metric.Higher, "MB/s"),
		of("base", "s/probe", "µs/probe", metric.Lower, "ns/probe"),
	}
}

// streamMetrics gives the median and the best rate of each operation; tables
// show the median Triad.
func streamMetrics() []KernelMetric {
	var ms []KernelMetric
	for _, op := range []string{"copy", "scale", "add", "triad"} {
		m := metric.Metric{Name: op, Unit: "B/s", Show: "MB/s", Better: metric.Higher, Shown: op == "triad"}
		best := m
		best.Name, best.Shown = op+"-best", false
		ms = append(ms, KernelMetric{Metric: m, Op: op, Line: "MB/s"}, KernelMetric{Metric: best, Op: op, Line: "MB/s", Best: true})
	}
	return ms
}

// Sides are the names of the workload's factors whose levels make another
// program of it: within a mode they are compared with the first level.
func (w *Workload) Sides() []string {
	if w.Go != nil {
		return GoSides()
	}
	var names []string
	for _, p := range kernelParams(w.Kernel) {
		if p.Side {
			names = append(names, p.Name)
		}
	}
	return names
}
