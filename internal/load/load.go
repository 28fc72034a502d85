// Package load holds the loops of background load: what runs beside a
// measured task to disturb it in one way only. Each loop takes one CPU, or a
// known part of it, for as long as its process lives; none allocates, reads or
// writes after its start, and none measures anything.
package load

import "math/bits"

// step is how much a loop does between two looks at nothing: long enough that
// the loop's own bookkeeping is no part of what it does.
const step = 1 << 20

// Spin keeps one CPU busy with arithmetic in registers. It does not return.
func Spin() {
	for x := uint64(1); ; {
		x = spin(x, step)
	}
}

// spin goes n steps through a generator (xorshift64, Marsaglia 2003), each of
// which needs the one before: no part of it can be left out.
//
//go:noinline
func spin(x uint64, n int) uint64 {
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// HogBytes is the memory of one Hog: beyond the last-level cache that a core of
// the 2020s has for itself, so that what it copies comes from memory.
const HogBytes = 64 << 20

// Hog keeps copying one half of HogBytes to the other: one CPU's worth of
// memory traffic. It does not return.
func Hog() {
	half := make([]uint64, HogBytes/16)
	other := make([]uint64, HogBytes/16)
	touch(half)
	touch(other)
	for {
		copy(other, half)
		copy(half, other)
	}
}

// touch writes to every page: the zero page that all unwritten memory shares
// fits into a cache.
func touch(words []uint64) {
	for i := range words {
		words[i] = bits.Reverse64(uint64(i))
	}
}
