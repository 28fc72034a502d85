//go:build !linux

package main

import "syscall"

// raise sends a signal to this process.
func raise(sig syscall.Signal) {
	// It cannot fail: a process may always signal itself.
	_ = syscall.Kill(syscall.Getpid(), sig)
}
