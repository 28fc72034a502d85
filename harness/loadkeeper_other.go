//go:build !linux

package harness

import "syscall"

// dieWithParent asks for nothing: only Linux can be. The loops of a load end
// with their stdin.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func reapOrphans() error { return nil }

// family is a set of processes.
type family map[int]bool

// proc is a process and the parent that it was found under.
type proc struct{ pid, parent int }

// descendants finds none: here only process groups tell what belongs together.
func descendants(int) []proc { return nil }
