//go:build !linux

package main

import "syscall"

// stopSelf stops this process.
func stopSelf() {
	// It cannot fail: a process may always signal itself.
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
}
