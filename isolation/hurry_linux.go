package isolation

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mostNice is the highest priority of the ordinary scheduling class.
const mostNice = -20

// Hurry gives the calling thread, to which the caller has locked its goroutine,
// the highest ordinary priority, so that it runs at once when it is woken on a
// CPU that is busy. leave gives the old one back. Children that are made
// meanwhile inherit it. Without the privilege nothing changes, and the error
// says so.
func Hurry() (leave func() error, err error) {
	// The system call returns 20 minus the nice value, which is never negative.
	old, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot read the own priority: %w", err)
	}
	set := func(nice int) error {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, nice); err != nil {
			return fmt.Errorf("cannot set the own priority to %d: %w", nice, err)
		}
		return nil
	}
	if err := set(mostNice); err != nil {
		return nil, err
	}
	return func() error { return set(20 - old) }, nil
}
