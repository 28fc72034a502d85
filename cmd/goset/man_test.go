package main

import (
	"testing"

	"goset/internal/clitest"
)

func TestManPage(t *testing.T) {
	a := &app{}
	clitest.CheckManPage(t, "../../docs/man/goset.1", a.root(),
		[2]string{"EXIT STATUS", "The exit status is the command's: 128+n when signal n ended it, 127 when it was not found, 126 when it could not be run.\nIt is 1 when goset itself failed: the command did not run, or ended with 0 and what came after it (its report, undoing what was changed) did not succeed."},
		[2]string{"ENVIRONMENT", "NO_COLOR turns colour off. SHELL is the shell of -shell. XDG_STATE_HOME is where the last audit is kept, as goset/audit.json; ~/.local/state when it is not set."},
		[2]string{"SEE ALSO", "goset-bench(1), taskset(1), cpuset(7), proc_interrupts(5)"})
}
