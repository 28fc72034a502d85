//go:build !amd64

package matmul

// vectorProduct computes nothing where there is no assembly.
func vectorProduct(p, a, b *matrix, path uint64) bool { return false }
