//go:build amd64 || arm64

package workloads

import (
	"syscall"
	"unsafe"
)

// The gate of forked children is two words in shared memory, each on its own
// cache line: how many have arrived, and the generation.
const (
	gateArrived    = 0
	gateGeneration = 64
	gateBytes      = 4096

	// gateSpins is how often the generation is looked at before the child
	// sleeps: some tens of microseconds, longer than children that have a CPU
	// each differ, short against an iteration where they share one.
	gateSpins = 1000

	futexWait = 0 // uapi/linux/futex.h; not the private ones: two processes
	futexWake = 1
)

// passShared is the barrier between processes: the last to arrive opens it.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (g *gate) passShared() {
	arrived := (*uint32)(unsafe.Add(g.words, gateArrived))
	generation := (*uint32)(unsafe.Add(g.words, gateGeneration))
	mine := load32(generation)
	if add32(arrived, 1) == g.n {
		// Nobody else touches the count before the generation moves.
		add32(arrived, -g.n)
		add32(generation, 1)
		syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(generation)), futexWake, 1<<30, 0, 0, 0)
		return
	}
	if spin32(generation, mine, gateSpins) {
		return
	}
	for load32(generation) == mine {
		syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(generation)), futexWait, uintptr(mine), 0, 0, 0)
	}
}

// The race detector replaces sync/atomic by calls into its own runtime, which
// a forked child does not have: hence assembly.

// load32 reads *p with acquire order.
//
//go:noescape
func load32(p *uint32) uint32

// add32 adds d to *p in one step and returns the sum.
//
//go:noescape
func add32(p *uint32, d uint32) uint32

// spin32 looks at *p up to n times, n > 0; true once it is not old.
//
//go:noescape
func spin32(p *uint32, old, n uint32) bool
