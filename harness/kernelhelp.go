package harness

// What the value of an iteration is where several processes run the kernel: a
// rate adds up, a time is that of the slowest.
const (
	rateOfAll = `With threads = N, N processes run side by side, each with data of its own and
with all of the configured work. An iteration begins when all are ready; its
rate is the sum over the processes: the work of all over the time of the slowest.`
	timeOfAll = `With threads = N, N processes run side by side, each with data of its own and
with all of the configured work. An iteration begins when all are ready; its
time is that of the slowest.`
)

// kernelHelp is what each bundled kernel measures: in a line, and at length.
func kernelHelp(name string) (short, long string) {
	switch name {
	case "jitter":
		return "one dependent chain of arithmetic, in ms per iteration", `jitter runs one chain of 64-bit arithmetic in which every step needs the one
before (three shifts and exclusive ors, a multiplication). It touches no memory:
what an iteration takes longer than others was taken from it by interrupts,
other tasks or the clock.

` + timeOfAll
	case "chase":
		return "dependent loads from a ring of -kib in random order, in ns per load", `chase follows a random cycle through every cache line of a ring: no load can start
before the one before has ended, and none can be guessed. The time per load is
the latency of the nearest level of cache that holds the ring of -kib KiB, or of
memory where none does: "goset-bench plan" says which on this machine. A value
between two levels is a mixture of both.

` + timeOfAll
	case "matmul":
		return "32×32 float64 products in the first-level cache, in MFLOP/s", `matmul multiplies two 32×32 matrices of float64, which stay in the first-level
cache with their product. A product counts as 2·32³ = 65,536 floating-point
operations, a multiplication and an addition for each term; MFLOP/s are 10^6 of
them per second.

Path "auto" takes the widest vector instructions that the CPU has (AVX-512, else
AVX2, with fused multiply-add on 8 or 4 float64 at a time) and keeps a block of
the product in registers: that is ten times and more what a plain loop in C
reaches, whose terms wait for each other. "portable" is plain Go, about as fast as
such a loop, and what other architectures have.

` + rateOfAll
	case "stream":
		return "Copy, Scale, Add and Triad over three float64 arrays, in MB/s", `stream is McCalpin's STREAM: Copy (c = a), Scale (b = 3c), Add (c = a + b) and Triad
(a = b + 3c) over three arrays of -elements float64 each. MB/s are 10^6 bytes per
second by his counts: 16, 16, 24 and 24 bytes an element, without what a store
reads first to fill its cache line.

It is the bandwidth of memory where each array has at least 4 times the
last-level caches that the run uses, and of a cache where the arrays fit into it:
plan and run warn of arrays that are too small for this machine, and so do the
records.

` + rateOfAll + `
-elements is of one process: N of them have 3·N arrays.`
	case "yield":
		return "latency of goroutines beside work that yields, and the rate of that work", `yield measures Go's scheduler, in a Go process with GOMAXPROCS = -procs: the latency
of goroutines beside background work that yields or does not, and what yielding
costs the work. docs/experiments.md describes its phases and metrics.`
	}
	return "", ""
}
