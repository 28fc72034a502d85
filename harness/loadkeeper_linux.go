package harness

import (
	"fmt"
	"syscall"
)

// dieWithParent has the kernel end a process when the thread that starts it
// ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// reapOrphans makes this process the one that orphans of its children come to.
func reapOrphans() error {
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); e != 0 {
		return fmt.Errorf("cannot become the reaper of orphans: %w", e)
	}
	return nil
}
