package workloads

import (
	"errors"
	"fmt"
	"unsafe"
)

// The values of Result.Runner.
const (
	RunnerChild     = "child"      // forked children without a Go runtime
	RunnerInProcess = "in-process" // threads of the Go process itself
)

// resultLimit bounds the memory for results, in bytes.
const resultLimit = 4 << 30

// Measurement says what is run and how often.
type Measurement struct {
	Kernel     string
	Threads    int   // children side by side
	Iterations int64 // timed ones; an untimed one comes first
	Sections   int   // timed parts of an iteration, each with its own barrier
	Sums       int   // words that each child hands back
	Private    int64 // bytes of memory of each child
	// HugePages asks for transparent huge pages. Without it nothing is asked,
	// so the machine's own setting decides.
	HugePages bool
	Args      [MaxArgs]uint64
	Body      Body
	// InProcess asks for the Go process itself even where children can be had.
	InProcess bool
}

// Result is what came back.
type Result struct {
	Runner   string
	Sections int
	// Slowest holds, in time order, the nanoseconds that the slowest thread
	// took for each section of each iteration.
	Slowest []int64
	// Sums holds the words of each thread.
	Sums [][]uint64
	// HugeKiB is the least that huge pages back of any child's memory; known
	// only where they were asked for.
	HugeKiB uint64
}

// Nanoseconds returns the slowest thread's time for one section.
func (r *Result) Nanoseconds(iteration int64, section int) float64 {
	return float64(r.Slowest[iteration*int64(r.Sections)+int64(section)])
}

// ErrNoHugePages says that this system gives none.
var ErrNoHugePages = errors.New("the system gives none (on Linux see /sys/kernel/mm/transparent_hugepage/enabled); leave out -hugepages")

// Measure runs the kernel and returns when the last child has ended. No child
// outlives it, nor the process, whatever ends them.
func Measure(m Measurement) (*Result, error) {
	if need := int64(m.Threads) * m.regionBytes(); need > resultLimit {
		return nil, fmt.Errorf("cannot run kernel %q: %d iterations on %d threads give %d bytes of results, the limit is %d; ask for fewer iterations",
			m.Kernel, m.Iterations, m.Threads, need, int64(resultLimit))
	}
	if m.InProcess || !forkable {
		return measureInProcess(m)
	}
	res, err := measureForked(m)
	if err == nil && m.HugePages && res.HugeKiB == 0 {
		return nil, fmt.Errorf("cannot use huge pages for kernel %q: %w", m.Kernel, ErrNoHugePages)
	}
	return res, err
}

// regionBytes is the size of one child's part of the result memory: the
// header, the sums and the times, up to a page so that no two children write to
// one cache line.
func (m Measurement) regionBytes() int64 {
	n := 8 * (header + int64(m.Sums) + m.Iterations*int64(m.Sections))
	return (n + 4095) &^ 4095
}

// child is the common part of a child's set-up.
func (m Measurement) child(thread int, region unsafe.Pointer) *Child {
	c := &Child{Thread: thread, Args: m.Args, Iterations: m.Iterations}
	c.body, c.sections, c.sums, c.region = m.Body, m.Sections, m.Sums, region
	c.gate.n = uint32(m.Threads)
	c.clock.init()
	return c
}

// collect takes the results out of the children's regions.
func (m Measurement) collect(runner string, regions []unsafe.Pointer) *Result {
	n := int(m.Iterations) * m.Sections
	r := &Result{Runner: runner, Sections: m.Sections, Slowest: make([]int64, n)}
	r.HugeKiB = *(*uint64)(unsafe.Add(regions[0], 8))
	for _, region := range regions {
		r.HugeKiB = min(r.HugeKiB, *(*uint64)(unsafe.Add(region, 8)))
		sums := unsafe.Slice((*uint64)(unsafe.Add(region, 8*header)), m.Sums)
		r.Sums = append(r.Sums, append([]uint64(nil), sums...))
		times := unsafe.Slice((*int64)(unsafe.Add(region, 8*(header+m.Sums))), n)
		for i, t := range times {
			r.Slowest[i] = max(r.Slowest[i], t)
		}
	}
	return r
}
