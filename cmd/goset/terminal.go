//go:build unix

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// foreground reports whether this process is in the foreground of its
// terminal; false when it has none.
func foreground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	var group int32
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return e == 0 && int(group) == syscall.Getpgrp()
}
