package stream

import (
	"fmt"
	"math"
	"unsafe"

	"goset/workloads"
)

// The operations in the order of an iteration.
const (
	opCopy = iota
	opScale
	opAdd
	opTriad
	ops
)

func opNames() [ops]string { return [ops]string{"copy", "scale", "add", "triad"} }

// opBytes is McCalpin's count of bytes moved per element.
func opBytes(op int) int64 {
	if op == opAdd || op == opTriad {
		return 3 * 8
	}
	return 2 * 8
}

const (
	scalar  = 3.0
	epsilon = 1e-13 // of the mean relative error, for float64

	// An iteration multiplies the arrays by 15; float64 holds 15^262. After a
	// generation they are checked and filled anew.
	generationLength = 200
)

// generation is how many iterations the arrays have gone through since they
// were filled, after n of them in all.
func generation(n int64) int64 { return (n-1)%generationLength + 1 }

// reference goes through n iterations with one element of each array.
func reference(n int64) (a, b, c float64) {
	a, b, c = fillA, fillB, fillC
	for range n {
		c = a
		b = scalar * c
		c = a + b
		a = b + scalar*c
	}
	return a, b, c
}

// McCalpin's initial values; a is 1, doubled by his test of the clock.
const fillA, fillB, fillC = 2.0, 2.0, 0.0

// The words of a child: its arguments and its sums.
const (
	argElements    = 0
	argPath        = 1 // of workloads.PathCode
	argNonTemporal = 2
	argFull        = 3 // a, b and c after a whole generation
	argLast        = 6 // a, b and c after the last one

	sumError  = 0 // worst mean relative error of a, b and c
	sumChecks = 3 // how often the arrays were checked
	sums      = 4
)

// stride is the distance of two arrays: back to back as McCalpin's static
// ones, each aligned to a cache line.
//
//go:nosplit
//go:norace
func stride(elements uint64) uint64 { return (elements*8 + 63) &^ 63 }

func (c Config) measurement() workloads.Measurement {
	m := workloads.Measurement{
		Kernel: Name, Threads: c.Threads, Iterations: c.Iterations, Sections: ops, Sums: sums,
		Private:   3 * int64(stride(uint64(c.Elements))),
		Body:      workloads.Body{Start: fill, Run: run, After: after, End: workloads.Nothing},
		InProcess: c.inProcess,
	}
	m.Args[argElements] = uint64(c.Elements)
	m.Args[argPath] = workloads.PathCode(c.Path)
	if c.NonTemporal {
		m.Args[argNonTemporal] = 1
	}
	setReference(m.Args[argFull:], generationLength)
	setReference(m.Args[argLast:], generation(c.Iterations+1))
	return m
}

func setReference(words []uint64, n int64) {
	a, b, c := reference(n)
	words[0], words[1], words[2] = math.Float64bits(a), math.Float64bits(b), math.Float64bits(c)
}

// array is the i-th array's first element.
//
//go:nosplit
//go:norace
//go:nocheckptr
func array(c *workloads.Child, i uint64) unsafe.Pointer {
	return unsafe.Add(c.Private, i*stride(c.Args[argElements]))
}

//go:nosplit
//go:norace
//go:nocheckptr
func at(p unsafe.Pointer, i uint64) *float64 { return (*float64)(unsafe.Add(p, i*8)) }

// fill sets the initial values.
//
//go:nosplit
//go:norace
//go:nocheckptr
func fill(c *workloads.Child) {
	pa, pb, pc := array(c, 0), array(c, 1), array(c, 2)
	for i := uint64(0); i < c.Args[argElements]; i++ {
		*at(pa, i), *at(pb, i), *at(pc, i) = fillA, fillB, fillC
	}
}

// after checks the arrays at the end of a generation and of the run.
//
//go:nosplit
//go:norace
//go:nocheckptr
func after(c *workloads.Child, iteration int64) {
	switch n := iteration + 2; { // iterations so far, with the untimed one
	case n == c.Iterations+1:
		check(c, argLast)
	case n%generationLength == 0:
		check(c, argFull)
		fill(c)
	}
}

// check keeps the worst mean relative error of each array against the
// reference at words.
//
//go:nosplit
//go:norace
//go:nocheckptr
func check(c *workloads.Child, words uint64) {
	*c.Sum(sumChecks)++
	for k := uint64(0); k < 3; k++ {
		want := *(*float64)(unsafe.Pointer(uintptr(unsafe.Pointer(&c.Args)) + uintptr(8*(words+k))))
		got, total := array(c, k), 0.0
		for i := uint64(0); i < c.Args[argElements]; i++ {
			d := *at(got, i) - want
			if d < 0 {
				d = -d
			}
			total += d
		}
		mean := total / float64(c.Args[argElements]) / want
		worst := (*float64)(unsafe.Pointer(c.Sum(sumError + int(k))))
		if !(mean <= *worst) && *worst == *worst { // a NaN stays
			*worst = mean
		}
	}
}

// verify is McCalpin's criterion, for every thread.
func verify(cfg Config, res *workloads.Result) error {
	checks := uint64(cfg.Iterations/generationLength + 1)
	for i, s := range res.Sums {
		if s[sumChecks] != checks {
			return fmt.Errorf("cannot trust kernel %q: thread %d of %d checked its arrays %d times, want %d", Name, i+1, len(res.Sums), s[sumChecks], checks)
		}
		for k, name := range []string{"a", "b", "c"} {
			if e := math.Float64frombits(s[sumError+k]); !(e <= epsilon) {
				return fmt.Errorf("cannot trust kernel %q: thread %d of %d: mean relative error of array %s is %g, must be at most %g", Name, i+1, len(res.Sums), name, e, epsilon)
			}
		}
	}
	return nil
}

// run does one operation on all elements.
//
//go:nosplit
//go:norace
//go:nocheckptr
func run(c *workloads.Child, op int) {
	pa, pb, pc, n := array(c, 0), array(c, 1), array(c, 2), c.Args[argElements]
	done := vector(c.Args[argPath], c.Args[argNonTemporal] != 0, op, pa, pb, pc, n)
	switch op {
	case opCopy:
		for i := done; i < n; i++ {
			*at(pc, i) = *at(pa, i)
		}
	case opScale:
		for i := done; i < n; i++ {
			*at(pb, i) = scalar * *at(pc, i)
		}
	case opAdd:
		for i := done; i < n; i++ {
			*at(pc, i) = *at(pa, i) + *at(pb, i)
		}
	case opTriad:
		for i := done; i < n; i++ {
			*at(pa, i) = *at(pb, i) + scalar**at(pc, i)
		}
	}
}
