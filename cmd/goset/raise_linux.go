package main

import (
	"runtime"
	"syscall"
)

// raise sends a signal to the calling thread, which has it when raise returns:
// one that is sent to the process may reach another thread later.
func raise(sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// It cannot fail: a thread may always signal itself.
	_ = syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), sig)
}
