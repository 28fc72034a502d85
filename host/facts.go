// Package host reads what this machine is and what its counters say, under one
// root, and changes nothing. Absent is not zero: what the kernel does not have
// is an absent value.
package host

// Facts is what stands in a manifest about the machine. Every field that could
// not be read is absent.
type Facts struct{}
