package main

import (
	"os"
	"testing"

	"goset/internal/cli"
)

// TestManPage holds the manual page to the flags that there are.
// UPDATE_MAN=1 writes it anew.
func TestManPage(t *testing.T) {
	const file = "../../docs/man/goset.1"
	a := &app{}
	got := cli.ManPage(a.root(),
		[2]string{"EXIT STATUS", "The exit status is the command's: 128+n when signal n ended it, 127 when it was not found, 126 when it could not be run.\nIt is 1 when goset itself failed and the command did not run."},
		[2]string{"ENVIRONMENT", "NO_COLOR turns colour off. SHELL is the shell of -shell. XDG_STATE_HOME is where the last audit is kept, ~/.local/state when it is not set."},
		[2]string{"SEE ALSO", "goset-bench(1), taskset(1), cpuset(7), proc_interrupts(5)"})
	if os.Getenv("UPDATE_MAN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the flags say: run UPDATE_MAN=1 go test ./cmd/goset -run ManPage", file)
	}
}
