//go:build !amd64

package stream

import "unsafe"

// vector does nothing where there is no assembly.
func vector(path uint64, nonTemporal bool, op int, a, b, c unsafe.Pointer, n uint64) uint64 {
	return 0
}
