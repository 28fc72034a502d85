package isolation

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// coreScheduling says why tasks cannot be given a core to themselves: ENODEV
// without SMT, EINVAL without CONFIG_SCHED_CORE (5.14). It changes nothing.
func coreScheduling() error {
	_, err := coreCookie(0)
	return err
}

// coreCookie reads the cookie of a thread; 0: it shares cores with anybody.
func coreCookie(pid int) (uint64, error) {
	var cookie uint64
	err := unix.Prctl(unix.PR_SCHED_CORE, unix.PR_SCHED_CORE_GET, uintptr(pid), unix.PR_SCHED_CORE_SCOPE_THREAD, uintptr(unsafe.Pointer(&cookie)))
	return cookie, err
}

// coreCall gives the child a cookie of its own, which its children inherit.
func coreCall() Call {
	return Call{
		Layer: "fence", What: "have a core to itself (core scheduling)", Nr: unix.SYS_PRCTL,
		Args: [5]uintptr{unix.PR_SCHED_CORE, unix.PR_SCHED_CORE_CREATE, 0, unix.PR_SCHED_CORE_SCOPE_THREAD, 0},
	}
}
