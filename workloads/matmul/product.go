package matmul

import (
	"fmt"
	"math"
	"unsafe"

	"goset/workloads"
)

// tolerance of an element against the naive product. All elements of the
// factors are positive, so nothing cancels and 32 roundings stay below it.
const tolerance = 1e-12

// The words of a child: its arguments and its sums.
const (
	argMultiplications = 0
	argPath            = 1 // of workloads.PathCode

	sumDrift   = 0 // iterations whose product differed from the untimed one
	sumProduct = 1 // the untimed one
	sums       = sumProduct + N*N
)

const matrixBytes = N * N * 8

func (c Config) measurement() workloads.Measurement {
	m := workloads.Measurement{
		Kernel: Name, Threads: c.Threads, Iterations: c.Iterations, Sections: 1, Sums: sums,
		Private:   3 * matrixBytes,
		Body:      workloads.Body{Start: fill, Run: run, After: after, End: workloads.Nothing},
		InProcess: c.inProcess,
	}
	m.Args[argMultiplications] = uint64(c.Multiplications)
	m.Args[argPath] = workloads.PathCode(c.Path)
	return m
}

// matrix is a row-major matrix in the child's memory.
type matrix = [N * N]float64

//go:nosplit
//go:norace
//go:nocheckptr
func matrixAt(c *workloads.Child, i int) *matrix {
	return (*matrix)(unsafe.Add(c.Private, i*matrixBytes))
}

// element gives the i-th element of factor k: in [1, 2), no two neighbours
// alike, exact in float64.
//
//go:nosplit
//go:norace
func element(k, i int) float64 {
	return 1 + float64((i*37+k*61)%127)/128
}

//go:nosplit
//go:norace
//go:nocheckptr
func fill(c *workloads.Child) {
	for k := 0; k < 2; k++ {
		m := matrixAt(c, k)
		for i := 0; i < N*N; i++ {
			m[i] = element(k, i)
		}
	}
}

// run does the products of one iteration.
//
//go:nosplit
//go:norace
//go:nocheckptr
func run(c *workloads.Child, _ int) {
	a, b, p := matrixAt(c, 0), matrixAt(c, 1), matrixAt(c, 2)
	multiply(p, a, b, c.Args[argPath], c.Args[argMultiplications])
}

// multiply computes p = a b n times.
//
//go:nosplit
//go:norace
//go:nocheckptr
//go:noinline
func multiply(p, a, b *matrix, path, n uint64) {
	for ; n != 0; n-- {
		if path == workloads.CodePortable || !vectorProduct(p, a, b, path) {
			product(p, a, b)
		}
	}
}

// after compares the product with the untimed one bit by bit and wipes it, so
// that an iteration that does nothing is found.
//
//go:nosplit
//go:norace
//go:nocheckptr
func after(c *workloads.Child, iteration int64) {
	p, same := matrixAt(c, 2), true
	for i := 0; i < N*N; i++ {
		bits := *(*uint64)(unsafe.Pointer(&p[i]))
		if iteration < 0 {
			*c.Sum(sumProduct + i) = bits
		}
		same = same && bits == *c.Sum(sumProduct + i)
		p[i] = 0
	}
	if !same {
		*c.Sum(sumDrift)++
	}
}

// product is the portable path: blocks of 4×2 results in registers.
//
//go:nosplit
//go:norace
func product(p, a, b *matrix) {
	for i := 0; i < N*N; i += 4 * N {
		for j := 0; j < N; j += 2 {
			block(p, a, b, i, j)
		}
	}
}

// block computes the 4×2 results from the row that starts at i and column j.
// It goes by pointers: a failed bounds check could not panic in a child.
//
//go:nosplit
//go:norace
//go:nocheckptr
func block(p, a, b *matrix, i, j int) {
	type rows = [3*N + 2]float64
	var s00, s01, s10, s11, s20, s21, s30, s31 float64
	pa, pb := unsafe.Add(unsafe.Pointer(a), 8*i), unsafe.Add(unsafe.Pointer(b), 8*j)
	for k := 0; k < N; k++ {
		q, r := (*rows)(unsafe.Add(pa, 8*k)), (*rows)(unsafe.Add(pb, 8*N*k))
		b0, b1 := r[0], r[1]
		a0, a1 := q[0], q[N]
		s00, s01 = s00+a0*b0, s01+a0*b1
		s10, s11 = s10+a1*b0, s11+a1*b1
		a2, a3 := q[2*N], q[3*N]
		s20, s21 = s20+a2*b0, s21+a2*b1
		s30, s31 = s30+a3*b0, s31+a3*b1
	}
	q := (*rows)(unsafe.Add(unsafe.Pointer(p), 8*(i+j)))
	q[0], q[1] = s00, s01
	q[N], q[N+1] = s10, s11
	q[2*N], q[2*N+1] = s20, s21
	q[3*N], q[3*N+1] = s30, s31
}

// naive is the definition of the product, for verification.
func naive() matrix {
	var a, b, p matrix
	for i := range a {
		a[i], b[i] = element(0, i), element(1, i)
	}
	for i := range N {
		for j := range N {
			for k := range N {
				p[i*N+j] += a[i*N+k] * b[k*N+j]
			}
		}
	}
	return p
}

// verify holds every element of every thread to the naive product and returns
// the sum of the elements.
func verify(cfg Config, res *workloads.Result) (float64, error) {
	want, total := naive(), 0.0
	for t, s := range res.Sums {
		if s[sumDrift] != 0 {
			return 0, fmt.Errorf("cannot trust kernel %q: %d of %d iterations of thread %d gave another product than the first", Name, s[sumDrift], cfg.Iterations, t+1)
		}
		total = 0
		for i, w := range want {
			got := math.Float64frombits(s[sumProduct+i])
			if !(math.Abs(got-w) <= tolerance*w) {
				return 0, fmt.Errorf("cannot trust kernel %q: thread %d: element (%d, %d) is %v, want %v within %g", Name, t+1, i/N, i%N, got, w, tolerance)
			}
			total += got
		}
	}
	return total, nil
}
