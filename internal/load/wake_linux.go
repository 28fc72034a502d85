package load

import (
	"syscall"
	"time"
	"unsafe"
)

// What package syscall lacks.
const (
	clockMonotonic  = 1
	timerAbsolute   = 1
	prSetTimerSlack = 29
)

// Wake sleeps until a timer wakes it, perSecond times a second, each time for
// no longer than it takes to sleep again. It does not return. Turns that come
// late are not made up for.
//
// The sleep is the kernel's own: a timer of the Go runtime would wake two
// threads for one turn, and not to the microsecond.
func Wake(perSecond int) {
	// With the usual slack of 50 µs the kernel would fire timers of several
	// turns together. It cannot fail: the kernel takes any number.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 1, 0)
	period := time.Second / time.Duration(perSecond)
	next := monotonic()
	for {
		next += int64(period)
		if now := monotonic(); next < now {
			next = now + int64(period)
		}
		ts := syscall.NsecToTimespec(next)
		// Raw, or the runtime would wake a second thread to take over meanwhile.
		// Interrupted by a signal, it is a turn that came early.
		_, _, _ = syscall.RawSyscall6(syscall.SYS_CLOCK_NANOSLEEP, clockMonotonic, timerAbsolute, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	}
}

// monotonic is CLOCK_MONOTONIC in ns.
func monotonic() int64 {
	var ts syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}
