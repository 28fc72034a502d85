// Package clitest is what the tests of the commands have in common: the manual
// page, made of the flags that there are, and exit codes in scripts.
package clitest

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

// CheckManPage holds the manual page in file to the flags of the command tree.
// UPDATE_MAN=1 writes it anew.
func CheckManPage(t *testing.T, file string, root *cobra.Command, sections ...[2]string) {
	t.Helper()
	got := manPage(root, sections...)
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
		t.Errorf("%s is not what the flags say: run UPDATE_MAN=1 go test ./cmd/%s -run ManPage", file, root.Name())
	}
}

// TakeHangups has the commands that the tests run get hangups, also where the
// tests do not: what nohup starts ignores them, and with it all that it starts.
func TakeHangups() {
	if signal.Ignored(syscall.SIGHUP) {
		// A signal that is caught is not ignored by who is started next.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}

// Exits is a command of scripts that runs another and holds it to an exit code:
// exits 3 goset -- ./task. testscript itself tells nought from the rest only.
func Exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ended := errors.AsType[*exec.ExitError](err)
		if !ended {
			ts.Fatalf("cannot run %q: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%q exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
