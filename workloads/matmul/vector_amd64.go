package matmul

import "goset/workloads"

// vectorProduct computes p = a b on the path.
//
//go:nosplit
//go:norace
func vectorProduct(p, a, b *matrix, path uint64) bool {
	switch path {
	case workloads.CodeAVX512:
		productAVX512(p, a, b)
	case workloads.CodeAVX2:
		productAVX2(p, a, b)
	default:
		return false
	}
	return true
}

// productAVX512 computes p = a b with AVX-512F.
//
//go:noescape
func productAVX512(p, a, b *matrix)

// productAVX2 computes p = a b with AVX2 and FMA.
//
//go:noescape
func productAVX2(p, a, b *matrix)

// peakAVX512 does n rounds of 12 multiply-adds of 8 numbers, in registers.
func peakAVX512(n uint64)

// peakAVX2 does n rounds of 12 multiply-adds of 4 numbers, in registers.
func peakAVX2(n uint64)

// peakRounds runs the path's register loop and returns the floating-point
// operations of one round; 0 where the path has none.
func peakRounds(path string, n uint64) float64 {
	switch workloads.PathCode(path) {
	case workloads.CodeAVX512:
		peakAVX512(n)
		return 12 * 8 * 2
	case workloads.CodeAVX2:
		peakAVX2(n)
		return 12 * 4 * 2
	}
	return 0
}
