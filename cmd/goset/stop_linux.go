package main

import (
	"runtime"
	"syscall"
	"unsafe"
)

// stopSelf does what SIGTSTP does to a process that does not catch it. The
// kernel decides: it stops no process group that nobody could continue.
//
// signal.Reset would not do: the Go runtime keeps its handler for SIGTSTP and
// ignores the signal. So the kernel's own default is put in its place for the
// moment, and the signal is sent to this thread, which has it at once; one that
// is sent to the process may reach another thread later.
func stopSelf() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var byDefault, caught [4]uint64 // struct sigaction
	swap := func(to, old *[4]uint64) {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGTSTP),
			uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	}
	swap(&byDefault, &caught)
	// None of these can fail: the signal exists, and is a thread's own.
	_ = syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), syscall.SIGTSTP)
	swap(&caught, nil)
}
