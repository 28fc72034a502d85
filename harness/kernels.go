package harness

import "goset/metric"

// Kernel describes a bundled kernel as an experiment sees it: the keys that a
// workload of it may have, which are also flags of `goset-bench workload
// NAME`, and the metrics that its benchmark lines become. A test in cmd holds
// it against the kernels themselves.
type Kernel struct {
	Name    string
	Params  []KernelParam
	Metrics []KernelMetric
}

// KernelParam is one key of a kernel.
type KernelParam struct {
	Name    string
	Kind    string // "int", "bool" or "word"
	Default string
	Min     int64    // of an int
	Max     int64    // of an int
	Words   []string // of a word
	Help    string
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
	threads := KernelParam{Name: "threads", Kind: "int", Default: "1", Min: 1, Max: 4096, Help: "processes that run the kernel side by side"}
	iterations := func(n string) KernelParam {
		return KernelParam{Name: "iterations", Kind: "int", Default: n, Min: 1, Max: 10_000_000, Help: "timed repetitions, after one untimed"}
	}
	path := KernelParam{Name: "path", Kind: "word", Default: "auto", Words: []string{"auto", "avx512", "avx2", "portable"}, Help: "vector instructions"}
	return []Kernel{
		{Name: "jitter", Params: []KernelParam{
			{Name: "steps", Kind: "int", Default: "3000000", Min: 1, Max: 1 << 40, Help: "links of the dependent chain in one iteration"},
			iterations("300"), threads,
		}, Metrics: []KernelMetric{
			{Metric: metric.Metric{Name: "time", Unit: "s/iteration", Show: "ms/iteration", Better: metric.Lower, Shown: true}, Line: "ns/iteration"},
		}},
		{Name: "chase", Params: []KernelParam{
			{Name: "kib", Kind: "int", Default: "192", Min: 1, Max: 1 << 32, Help: "size of the ring in KiB"},
			{Name: "loads", Kind: "int", Default: "2000000", Min: 1, Max: 1 << 40, Help: "dependent loads in one iteration"},
			iterations("300"), threads,
			{Name: "hugepages", Kind: "bool", Default: "false", Help: "ask for transparent huge pages"},
			{Name: "seed", Kind: "int", Default: "1", Min: 0, Max: 1<<62 - 1, Help: "seed of the random cycle"},
		}, Metrics: []KernelMetric{
			{Metric: metric.Metric{Name: "latency", Unit: "s/load", Show: "ns/load", Better: metric.Lower, Shown: true}, Line: "ns/load"},
		}},
		{Name: "matmul", Params: []KernelParam{
			{Name: "multiplications", Kind: "int", Default: "2000", Min: 1, Max: 1 << 40, Help: "32×32 products in one iteration"},
			iterations("300"), threads, path,
		}, Metrics: []KernelMetric{
			{Metric: metric.Metric{Name: "rate", Unit: "FLOP/s", Show: "MFLOP/s", Better: metric.Higher, Shown: true}, Line: "MFLOP/s"},
		}},
		{Name: "stream", Params: []KernelParam{
			{Name: "elements", Kind: "int", Default: "20000000", Min: 8, Max: 1 << 36, Help: "float64 elements of each array"},
			iterations("20"), threads, path,
			{Name: "nontemporal", Kind: "bool", Default: "false", Help: "stores that bypass the caches"},
		}, Metrics: streamMetrics()},
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
