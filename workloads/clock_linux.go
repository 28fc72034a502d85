package workloads

import (
	"syscall"
	"unsafe"
)

// clock reads CLOCK_MONOTONIC by the system call itself. The vDSO is faster by
// about 100 ns, but Go reaches it only through the runtime's own stack switch,
// which a forked child has no business in; an iteration lasts milliseconds.
type clock struct{ ts syscall.Timespec }

const clockMonotonic = 1 // uapi/linux/time.h

func (c *clock) init() {}

// now returns nanoseconds since an arbitrary instant.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *clock) now() int64 {
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&c.ts)), 0)
	return int64(c.ts.Sec)*1e9 + int64(c.ts.Nsec)
}
