// Package jitter is the kernel that shows the system's noise and nothing else:
// one chain of integer operations in registers, each of which needs the
// result of the one before, so that no cache, no memory and no second thread
// of the core can make an iteration faster or slower by itself.
//
// A link of the chain is Marsaglia's xorshift with the shifts 13, 7 and 17,
// multiplied by Vigna's constant 0x2545f4914f6cdd1d (Vigna, "An experimental
// exploration of Marsaglia's xorshift generators, scrambled", 2016). An
// iteration always starts from the same state, so its end is known.
package jitter

import (
	"fmt"
	"io"
	"strconv"

	"goset/workloads"
)

// Name is the kernel's name.
const Name = "jitter"

const (
	seed       = 0x9e3779b97f4a7c15
	multiplier = 0x2545f4914f6cdd1d
)

// Config is what a run does.
type Config struct {
	Steps      int64 // links of the chain in one iteration
	Iterations int64 // timed, after one untimed
	Threads    int   // processes side by side

	inProcess bool
}

// Params returns the kernel's parameters.
func Params() []workloads.Param {
	return []workloads.Param{
		{Name: "steps", Kind: workloads.KindInt, Default: "3000000", Min: 1, Max: 1 << 40},
		workloads.IterationsParam("300"),
		workloads.ThreadsParam(),
	}
}

// Parse reads parameters from their texts; what is left out has its default.
// Faults are joined *workloads.ParamError.
func Parse(params map[string]string) (Config, error) {
	v, err := workloads.ParseParams(Name, Params(), params)
	return Config{Steps: v.Int("steps"), Iterations: v.Int("iterations"), Threads: int(v.Int("threads"))}, err
}

// Run measures and writes one line of ns/iteration per iteration: the slowest
// thread's time.
func Run(cfg Config, stdout io.Writer) error {
	if err := cfg.check(); err != nil {
		return err
	}
	res, err := workloads.Measure(cfg.measurement())
	if err != nil {
		return err
	}
	sum, err := verify(cfg, res)
	if err != nil {
		return err
	}
	return write(cfg, res, sum, stdout)
}

func (c Config) check() error {
	return workloads.CheckParams(Name, Params(), map[string]string{
		"steps":      strconv.FormatInt(c.Steps, 10),
		"iterations": strconv.FormatInt(c.Iterations, 10),
		"threads":    strconv.Itoa(c.Threads),
	})
}

// The words of a child: its arguments and its sums.
const (
	argSteps = 0

	sumEnd   = 0 // the end of the untimed iteration
	sumDrift = 1 // iterations that ended elsewhere
	sumLast  = 2 // the end of the latest iteration
	sumWant  = 3 // the end by the plain chain
	sums     = 4
)

func (c Config) measurement() workloads.Measurement {
	m := workloads.Measurement{
		Kernel: Name, Threads: c.Threads, Iterations: c.Iterations, Sections: 1, Sums: sums,
		Body:      workloads.Body{Start: workloads.Nothing, Run: run, After: after, End: end},
		InProcess: c.inProcess,
	}
	m.Args[argSteps] = uint64(c.Steps)
	return m
}

//go:nosplit
//go:norace
//go:nocheckptr
func run(c *workloads.Child, _ int) {
	*c.Sum(sumLast) = chain(seed, c.Args[argSteps])
}

//go:nosplit
//go:norace
//go:nocheckptr
func after(c *workloads.Child, iteration int64) {
	switch last := *c.Sum(sumLast); {
	case iteration < 0:
		*c.Sum(sumEnd) = last
	case last != *c.Sum(sumEnd):
		*c.Sum(sumDrift)++
	}
}

// chain is the measured loop.
//
//go:nosplit
//go:norace
//go:noinline
func chain(x, steps uint64) uint64 {
	for ; steps != 0; steps-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		x *= multiplier
	}
	return x
}

// end computes the chain a second time, another way. It is the child's work
// because it lasts as long as an iteration: a Go process that computes wakes
// its monitor thread every 20 µs.
//
//go:nosplit
//go:norace
//go:nocheckptr
func end(c *workloads.Child) { *c.Sum(sumWant) = plainChain(seed, c.Args[argSteps]) }

// plainChain is the chain written differently: without in-place operations,
// the product from halves.
//
//go:nosplit
//go:norace
//go:noinline
func plainChain(x, steps uint64) uint64 {
	const hi, lo = multiplier >> 32, multiplier & (1<<32 - 1)
	for i := uint64(0); i < steps; i++ {
		a := x ^ x*(1<<13)
		b := a ^ a/(1<<7)
		d := b ^ b*(1<<17)
		x = d*lo + d*hi<<32
	}
	return x
}

// verify holds every thread and iteration to the plain chain.
func verify(cfg Config, res *workloads.Result) (uint64, error) {
	for i, s := range res.Sums {
		if s[sumEnd] != s[sumWant] || s[sumDrift] != 0 {
			return 0, fmt.Errorf("cannot trust kernel %q: thread %d of %d ended at %#016x, want %#016x, and %d of %d iterations ended elsewhere",
				Name, i+1, len(res.Sums), s[sumEnd], s[sumWant], s[sumDrift], cfg.Iterations)
		}
	}
	return res.Sums[0][sumWant], nil
}

func write(cfg Config, res *workloads.Result, sum uint64, stdout io.Writer) error {
	o := workloads.NewOutput(stdout, Name, res)
	o.Config("checksum", fmt.Sprintf("%#016x", sum))
	o.Unit("ns/iteration", "lower")
	name := fmt.Sprintf("Jitter/steps=%d", cfg.Steps)
	for i := range cfg.Iterations {
		o.Line(name, 1, res.Nanoseconds(i, 0), "ns/iteration")
	}
	return o.Flush()
}
