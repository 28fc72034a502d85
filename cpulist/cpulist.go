// Package cpulist is the word for a set of CPUs and for the two texts in which
// the kernel writes one: the list ("0-3,8") and the mask ("00000000,0000010f").
package cpulist

// Set is a set of CPU numbers. The zero Set is empty. Sets are values: no
// method changes its receiver.
type Set struct {
	words []uint64 // bit i of words[w] is CPU 64*w+i; no trailing zero word
}
