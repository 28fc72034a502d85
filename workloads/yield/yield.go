// Package yield is the kernel that shows Go's own scheduler: how long goroutines
// of the foreground wait while others do work in the background, and what it
// costs that work to yield to them.
//
// Unlike the other kernels it does not run in a forked child without a Go
// runtime: the runtime is what is measured. It runs in the Go process, with
// GOMAXPROCS as asked and the collector off. A round has two phases:
//
//  1. Nothing runs. Every few milliseconds a probe starts some goroutines at
//     once, each of which reads the clock; the probe's latency is the time from
//     before the first was started until the last of them read the clock. The
//     round's base latency is the median of these probes.
//  2. Workers compress a number of bytes with gzip, block by block, and call the
//     yield function before every block; the probes go on until the last worker
//     has ended. The round's peak latency is the largest of these probes, and
//     its rate is the bytes over the time from the start of the workers to the
//     end of the last.
//
// What a probe's own timer is late by is in no latency. Nothing is allocated in
// a round; an untimed short one comes first and starts the runtime's threads.
package yield

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"goset/workloads"
)

// Name is the kernel's name.
const Name = "yield"

// Config is what a run does.
type Config struct {
	Yield      string        // the yield function: one of functionNames
	Every      time.Duration // of Paced: how long a worker runs at most before it yields
	Procs      int           // GOMAXPROCS; may be more than there are CPUs
	Rounds     int           // timed, after an untimed short one
	Workers    int           // goroutines in the background
	Bytes      int64         // that all workers of a round compress together
	Block      int64         // bytes from one call of the yield function to the next
	Goroutines int           // of one probe
}

// Params returns the kernel's parameters.
func Params() []workloads.Param {
	return []workloads.Param{
		{Name: "yield", Kind: workloads.KindWord, Default: Gosched, Words: functionNames()},
		{Name: "every", Kind: workloads.KindDuration, Default: "100µs", Min: 0, Max: int64(time.Second)},
		{Name: "procs", Kind: workloads.KindInt, Default: "3", Min: 1, Max: 4096},
		{Name: "rounds", Kind: workloads.KindInt, Default: "10", Min: 1, Max: 100_000},
		{Name: "workers", Kind: workloads.KindInt, Default: "16", Min: 1, Max: 4096},
		{Name: "bytes", Kind: workloads.KindInt, Default: "536870912", Min: 1, Max: 1 << 50},
		{Name: "block", Kind: workloads.KindInt, Default: "2048", Min: 1, Max: 1 << 30},
		{Name: "goroutines", Kind: workloads.KindInt, Default: "1000", Min: 1, Max: 1_000_000},
	}
}

// Parse reads parameters from their texts; what is left out has its default.
// Faults are joined *workloads.ParamError.
func Parse(params map[string]string) (Config, error) {
	v, err := workloads.ParseParams(Name, Params(), params)
	return Config{
		Yield: v.Word("yield"), Every: v.Duration("every"), Procs: int(v.Int("procs")), Rounds: int(v.Int("rounds")),
		Workers: int(v.Int("workers")), Bytes: v.Int("bytes"), Block: v.Int("block"), Goroutines: int(v.Int("goroutines")),
	}, err
}

func (c Config) check() error {
	return workloads.CheckParams(Name, Params(), map[string]string{
		"yield":      c.Yield,
		"every":      c.Every.String(),
		"procs":      strconv.Itoa(c.Procs),
		"rounds":     strconv.Itoa(c.Rounds),
		"workers":    strconv.Itoa(c.Workers),
		"bytes":      strconv.FormatInt(c.Bytes, 10),
		"block":      strconv.FormatInt(c.Block, 10),
		"goroutines": strconv.Itoa(c.Goroutines),
	})
}

// Run measures and writes four lines per round: base and peak latency, their
// ratio, and the rate of the background work.
func Run(cfg Config, stdout io.Writer) error {
	if err := cfg.check(); err != nil {
		return err
	}
	if err := Available(cfg.Yield); err != nil {
		return err
	}
	rounds, work, err := measure(cfg)
	if err != nil {
		return err
	}
	return write(cfg, rounds, work, stdout)
}

func write(cfg Config, rounds []round, work *background, stdout io.Writer) error {
	// One process, whatever the number of its threads.
	o := workloads.NewOutput(stdout, Name, &workloads.Result{Runner: workloads.RunnerInProcess, Sums: make([][]uint64, 1)})
	o.Config("yield", cfg.Yield)
	if cfg.Yield == Paced {
		o.Config("every", cfg.Every.String())
	}
	o.Config("procs", strconv.Itoa(work.procs))
	o.Config("cpus", strconv.Itoa(runtime.NumCPU()))
	o.Config("workers", strconv.Itoa(cfg.Workers))
	o.Config("goroutines", strconv.Itoa(cfg.Goroutines))
	o.Config("bytes", strconv.FormatInt(work.bytes(), 10))
	o.Config("block", strconv.FormatInt(cfg.Block, 10))
	o.Config("checksum", strconv.FormatUint(uint64(work.sum), 16))
	if text := oversubscribed(work.procs, runtime.NumCPU()); text != "" {
		o.Config(workloads.WarningKey, text)
	}
	o.Unit("ns/probe", "lower")
	o.Unit("x", "lower")
	o.Unit("MB/s", "higher")
	for _, r := range rounds {
		base := median(r.base)
		o.Line("Yield/op=base", int64(len(r.base)), base, "ns/probe")
		o.Line("Yield/op=peak", r.probes, float64(r.peak), "ns/probe")
		o.Line("Yield/op=peak-to-base", r.probes, float64(r.peak)/base, "x")
		o.Line("Yield/op=rate", work.blocks, float64(work.bytes())/float64(r.work)*1e3, "MB/s")
	}
	return o.Flush()
}

// oversubscribed says what more procs than CPUs mean; "" when there are not.
func oversubscribed(procs, cpus int) string {
	if procs <= cpus {
		return ""
	}
	plural := "s"
	if cpus == 1 {
		plural = ""
	}
	return fmt.Sprintf("GOMAXPROCS is %d on %d CPU%s: Go's threads wait for CPUs too, so a part of the latencies is the operating system's scheduler",
		procs, cpus, plural)
}

// median of nanoseconds, in time order.
func median(ns []int64) float64 {
	s := slices.Clone(ns)
	slices.Sort(s)
	n := len(s)
	if n == 0 {
		return math.NaN()
	}
	return (float64(s[(n-1)/2]) + float64(s[n/2])) / 2
}
