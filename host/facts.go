// Package host reads what this machine is and what its counters say, under one
// root, and changes nothing. Absent is not zero: what the kernel does not have
// is an absent value.
package host

// FS is the root under which /proc and /sys are read: "/" for this machine,
// a folder for another machine's files.
type FS string

// Facts is what stands in a manifest about the machine. Every field that could
// not be read is absent.
type Facts struct{}
