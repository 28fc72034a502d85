package stream

import (
	"unsafe"

	"goset/workloads"
)

// vector does as many of the n elements as make whole rounds of the path's
// registers and returns how many.
//
//go:nosplit
//go:norace
//go:nocheckptr
func vector(path uint64, nonTemporal bool, op int, a, b, c unsafe.Pointer, n uint64) uint64 {
	switch {
	case path == workloads.CodeAVX512 && n >= 32:
		n &^= 31
		if nonTemporal {
			vectorAVX512NT(op, a, b, c, n)
		} else {
			vectorAVX512(op, a, b, c, n)
		}
		return n
	case path == workloads.CodeAVX2 && n >= 16:
		n &^= 15
		if nonTemporal {
			vectorAVX2NT(op, a, b, c, n)
		} else {
			vectorAVX2(op, a, b, c, n)
		}
		return n
	}
	return 0
}

//go:nosplit
//go:norace
//go:nocheckptr
func vectorAVX512(op int, a, b, c unsafe.Pointer, n uint64) {
	switch op {
	case opCopy:
		copyAVX512(c, a, n)
	case opScale:
		scaleAVX512(b, c, n)
	case opAdd:
		addAVX512(c, a, b, n)
	case opTriad:
		triadAVX512(a, b, c, n)
	}
}

//go:nosplit
//go:norace
//go:nocheckptr
func vectorAVX512NT(op int, a, b, c unsafe.Pointer, n uint64) {
	switch op {
	case opCopy:
		copyAVX512NT(c, a, n)
	case opScale:
		scaleAVX512NT(b, c, n)
	case opAdd:
		addAVX512NT(c, a, b, n)
	case opTriad:
		triadAVX512NT(a, b, c, n)
	}
}

//go:nosplit
//go:norace
//go:nocheckptr
func vectorAVX2(op int, a, b, c unsafe.Pointer, n uint64) {
	switch op {
	case opCopy:
		copyAVX2(c, a, n)
	case opScale:
		scaleAVX2(b, c, n)
	case opAdd:
		addAVX2(c, a, b, n)
	case opTriad:
		triadAVX2(a, b, c, n)
	}
}

//go:nosplit
//go:norace
//go:nocheckptr
func vectorAVX2NT(op int, a, b, c unsafe.Pointer, n uint64) {
	switch op {
	case opCopy:
		copyAVX2NT(c, a, n)
	case opScale:
		scaleAVX2NT(b, c, n)
	case opAdd:
		addAVX2NT(c, a, b, n)
	case opTriad:
		triadAVX2NT(a, b, c, n)
	}
}

// The loops: copy is to = from, scale to = 3 from, add to = from + plus, triad
// to = from + 3 plus. NT ones store past the caches.

//go:noescape
func copyAVX512(to, from unsafe.Pointer, n uint64)

//go:noescape
func scaleAVX512(to, from unsafe.Pointer, n uint64)

//go:noescape
func addAVX512(to, from, plus unsafe.Pointer, n uint64)

//go:noescape
func triadAVX512(to, from, plus unsafe.Pointer, n uint64)

//go:noescape
func copyAVX512NT(to, from unsafe.Pointer, n uint64)

//go:noescape
func scaleAVX512NT(to, from unsafe.Pointer, n uint64)

//go:noescape
func addAVX512NT(to, from, plus unsafe.Pointer, n uint64)

//go:noescape
func triadAVX512NT(to, from, plus unsafe.Pointer, n uint64)

//go:noescape
func copyAVX2(to, from unsafe.Pointer, n uint64)

//go:noescape
func scaleAVX2(to, from unsafe.Pointer, n uint64)

//go:noescape
func addAVX2(to, from, plus unsafe.Pointer, n uint64)

//go:noescape
func triadAVX2(to, from, plus unsafe.Pointer, n uint64)

//go:noescape
func copyAVX2NT(to, from unsafe.Pointer, n uint64)

//go:noescape
func scaleAVX2NT(to, from unsafe.Pointer, n uint64)

//go:noescape
func addAVX2NT(to, from, plus unsafe.Pointer, n uint64)

//go:noescape
func triadAVX2NT(to, from, plus unsafe.Pointer, n uint64)
