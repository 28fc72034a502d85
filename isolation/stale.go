package isolation

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// StaleError says that a session ended without undoing what it changed.
type StaleError struct {
	Journals []string
	State    string
	Tool     string
}

func (e *StaleError) Error() string {
	return "cannot use this machine: " + e.Left()
}

// Left says what was left and how it is undone.
func (e *StaleError) Left() string {
	return fmt.Sprintf("an earlier session ended without undoing what it changed (%s); undo it with: %s", strings.Join(e.Journals, ", "), e.Undo())
}

// Undo is the command that undoes it.
func (e *StaleError) Undo() string {
	undo := "sudo " + cmp.Or(e.Tool, "goset-bench") + " restore"
	if e.State != DefaultState {
		undo += " -state " + e.State
	}
	return undo
}

// staleGrace is how long a guard that is about to undo what its session left is
// waited for by who only wants to know.
const staleGrace = 250 * time.Millisecond

// Stale looks for what sessions that are gone left changed, as Open does, and is
// no reason not to run what changes nothing. It takes no lock. nil: there is
// nothing, or this user may not look.
func Stale(o Options) *StaleError {
	o.State = cmp.Or(o.State, DefaultState)
	for deadline := time.Now().Add(staleGrace); ; time.Sleep(10 * time.Millisecond) {
		journals, err := Leftovers(o.State)
		if err != nil || len(journals) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return &StaleError{journals, o.State, o.Tool}
		}
	}
}
