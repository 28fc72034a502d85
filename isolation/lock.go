package isolation

import (
	"fmt"
	"time"
)

// Holder is who has the machine lock.
type Holder struct {
	PID   int // 0: not to be seen from here
	Name  string
	Since time.Time // when the process was started; zero: not known
}

// String says pid, command and since when.
func (h Holder) String() string {
	if h.PID == 0 {
		return "a process that cannot be seen from here"
	}
	s := fmt.Sprintf("process %d", h.PID)
	if h.Name != "" {
		s += fmt.Sprintf(" (%s)", h.Name)
	}
	if !h.Since.IsZero() {
		s += ", running since " + h.Since.Format("15:04:05 on 2006-01-02")
	}
	return s
}

// LockedError says that somebody else has the machine.
type LockedError struct{ Holder Holder }

func (e *LockedError) Error() string {
	return fmt.Sprintf("cannot use this machine: %s has its lock (wait for it with -wait 10m)", e.Holder)
}
