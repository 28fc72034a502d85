// Package chase is the kernel that shows memory latency: dependent loads over
// one random cycle through every cache line of a ring. No prefetcher can guess
// the next line, and no load can start before the one before it has ended.
//
// The ring is one cycle by Sattolo's algorithm (Information Processing Letters
// 22(6), 1986): a shuffle that yields cyclic permutations only, so a short
// cycle can never pass for a large ring.
package chase

import (
	"fmt"
	"io"
	"strconv"

	"goset/workloads"
)

// Name is the kernel's name.
const Name = "chase"

// Config is what a run does.
type Config struct {
	KiB        int64 // size of the ring
	Loads      int64 // dependent loads in one iteration
	Iterations int64 // timed, after one untimed
	Threads    int   // processes side by side, each with its own ring
	HugePages  bool  // ask for transparent huge pages
	Seed       int64 // of the random cycle

	inProcess bool
}

// Params returns the kernel's parameters.
func Params() []workloads.Param {
	return []workloads.Param{
		{Name: "kib", Kind: workloads.KindInt, Default: "192", Min: 1, Max: 1 << 32},
		{Name: "loads", Kind: workloads.KindInt, Default: "2000000", Min: 1, Max: 1 << 40},
		workloads.IterationsParam("300"),
		workloads.ThreadsParam(),
		{Name: "hugepages", Kind: workloads.KindBool, Default: "false"},
		{Name: "seed", Kind: workloads.KindInt, Default: "1", Min: 0, Max: 1<<62 - 1},
	}
}

// Parse reads parameters from their texts; what is left out has its default.
// Faults are joined *workloads.ParamError.
func Parse(params map[string]string) (Config, error) {
	v, err := workloads.ParseParams(Name, Params(), params)
	return Config{
		KiB: v.Int("kib"), Loads: v.Int("loads"), Iterations: v.Int("iterations"), Threads: int(v.Int("threads")),
		HugePages: v.Bool("hugepages"), Seed: v.Int("seed"),
	}, err
}

func (c Config) check() error {
	return workloads.CheckParams(Name, Params(), map[string]string{
		"kib":        strconv.FormatInt(c.KiB, 10),
		"loads":      strconv.FormatInt(c.Loads, 10),
		"iterations": strconv.FormatInt(c.Iterations, 10),
		"threads":    strconv.Itoa(c.Threads),
		"hugepages":  strconv.FormatBool(c.HugePages),
		"seed":       strconv.FormatInt(c.Seed, 10),
	})
}

// Run measures and writes one line of ns/load per iteration: the slowest
// thread's time over its loads. Every thread has a ring of its own.
func Run(cfg Config, stdout io.Writer) error {
	if err := cfg.check(); err != nil {
		return err
	}
	res, err := workloads.Measure(cfg.measurement())
	if err != nil {
		return err
	}
	end, err := verify(res)
	if err != nil {
		return err
	}
	return write(cfg, res, end, stdout)
}

// write prints the byte offset of the line that every thread ended at as the
// checksum.
func write(cfg Config, res *workloads.Result, end uint64, stdout io.Writer) error {
	o := workloads.NewOutput(stdout, Name, res)
	o.Config("seed", strconv.FormatInt(cfg.Seed, 10))
	o.Config("hugepages", strconv.FormatBool(cfg.HugePages))
	if cfg.HugePages {
		o.Config("hugepages-kib", strconv.FormatUint(res.HugeKiB, 10))
	}
	o.Config("checksum", fmt.Sprintf("%#x", end))
	o.Unit("ns/load", "lower")
	name := fmt.Sprintf("Chase/kib=%d", cfg.KiB)
	for i := range cfg.Iterations {
		o.Line(name, cfg.Loads, res.Nanoseconds(i, 0)/float64(cfg.Loads), "ns/load")
	}
	return o.Flush()
}
