package chase

import (
	"fmt"
	"math/bits"
	"unsafe"

	"goset/workloads"
)

// lineSize is the distance of two links: a cache line of the CPUs at hand.
const lineSize = 64

// The words of a child: its arguments and its sums.
const (
	argLines = 0
	argLoads = 1
	argSeed  = 2
	argWalk  = 3 // all loads of a run, without whole rounds of the ring

	sumEnd  = 0 // the address that the latest iteration ended at
	sumWant = 1 // the line where a walk by line numbers ends
	sumGot  = 2 // the line of sumEnd
	sums    = 3
)

func (c Config) measurement() workloads.Measurement {
	m := workloads.Measurement{
		Kernel: Name, Threads: c.Threads, Iterations: c.Iterations, Sections: 1, Sums: sums,
		Private: c.KiB << 10, HugePages: c.HugePages,
		Body:      workloads.Body{Start: start, Run: run, After: after, End: end},
		InProcess: c.inProcess,
	}
	m.Args[argLines] = uint64(c.KiB) << 10 / lineSize
	m.Args[argLoads] = uint64(c.Loads)
	m.Args[argSeed] = uint64(c.Seed)
	// The limits of both keep the product under 2^64.
	m.Args[argWalk] = (uint64(c.Iterations) + 1) * uint64(c.Loads) % m.Args[argLines]
	return m
}

// link is the first word of line i: the address of the next line of the cycle.
//
//go:nosplit
//go:norace
//go:nocheckptr
func link(ring unsafe.Pointer, i uint64) *uint64 {
	return (*uint64)(unsafe.Add(ring, i*lineSize))
}

// start links the lines.
//
//go:nosplit
//go:norace
//go:nocheckptr
func start(c *workloads.Child) {
	shuffle(c.Private, c.Args[argLines], c.Args[argSeed])
	*c.Sum(sumEnd) = uint64(uintptr(c.Private))
}

// shuffle makes one cycle of all lines: Sattolo's algorithm on line numbers in
// place, then numbers to addresses.
//
//go:nosplit
//go:norace
//go:nocheckptr
func shuffle(ring unsafe.Pointer, lines, seed uint64) {
	for i := uint64(0); i < lines; i++ {
		*link(ring, i) = i
	}
	for i := lines - 1; i > 0; i-- {
		// Never i itself: that makes the permutation cyclic. The bias of the
		// multiplication is under lines/2^64.
		j, _ := bits.Mul64(splitMix(&seed), i)
		a, b := link(ring, i), link(ring, j)
		*a, *b = *b, *a
	}
	for i := uint64(0); i < lines; i++ {
		at := link(ring, i)
		*at = uint64(uintptr(ring)) + *at*lineSize
	}
}

// splitMix is the generator of Steele, Lea and Flood (OOPSLA 2014).
//
//go:nosplit
//go:norace
func splitMix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// run goes on where the last iteration ended.
//
//go:nosplit
//go:norace
//go:nocheckptr
func run(c *workloads.Child, _ int) {
	from := *(*unsafe.Pointer)(unsafe.Pointer(c.Sum(sumEnd)))
	*c.Sum(sumEnd) = uint64(uintptr(follow(from, c.Args[argLoads])))
}

// follow is the measured loop.
//
//go:nosplit
//go:norace
//go:nocheckptr
//go:noinline
func follow(p unsafe.Pointer, loads uint64) unsafe.Pointer {
	for ; loads != 0; loads-- {
		p = *(*unsafe.Pointer)(p)
	}
	return p
}

//go:nosplit
//go:norace
//go:nocheckptr
func after(*workloads.Child, int64) {}

// end walks the ring once more by line numbers. The cycle is closed, so whole
// rounds are left out. It is the child's work because a Go process that
// computes wakes its monitor thread every 20 µs.
//
//go:nosplit
//go:norace
//go:nocheckptr
func end(c *workloads.Child) {
	*c.Sum(sumWant) = walk(c.Private, 0, c.Args[argWalk])
	*c.Sum(sumGot) = (*c.Sum(sumEnd) - uint64(uintptr(c.Private))) / lineSize
}

// walk follows the links by line numbers: the slow, plain way.
//
//go:nosplit
//go:norace
//go:nocheckptr
func walk(ring unsafe.Pointer, line, steps uint64) uint64 {
	for ; steps > 0; steps-- {
		line = (*link(ring, line) - uint64(uintptr(ring))) / lineSize
	}
	return line
}

// verify holds every thread to the walk.
func verify(res *workloads.Result) (uint64, error) {
	for i, s := range res.Sums {
		if s[sumGot] != s[sumWant] {
			return 0, fmt.Errorf("cannot trust kernel %q: thread %d of %d ended at line %d of the ring, want %d",
				Name, i+1, len(res.Sums), s[sumGot], s[sumWant])
		}
	}
	return res.Sums[0][sumWant] * lineSize, nil
}
