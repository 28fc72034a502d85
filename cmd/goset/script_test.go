package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"goset/isolation"
)

func TestMain(m *testing.M) {
	// A session starts its guard from the file that runs, which is this test.
	if len(os.Args) > 1 && os.Args[1] == guardWord {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"goset": func() {
			os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// TestScripts runs whole commands: exit code, stdout, stderr, files left.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
			if allowed, err := isolation.Allowed(); err == nil {
				e.Setenv("FIRST", strconv.Itoa(allowed.First()))
				e.Setenv("LAST", strconv.Itoa(allowed.Last()))
				e.Setenv("ALL", allowed.String())
				e.Setenv("COUNT", strconv.Itoa(allowed.Len()))
				e.Setenv("MORE", strconv.Itoa(allowed.Len()+1))
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "cpus2":
				allowed, err := isolation.Allowed()
				return err == nil && allowed.Len() > 1, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// exits runs a command and holds it to an exit code: exits 3 goset -- ./task.
// testscript itself tells nought from the rest only.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := err.(*exec.ExitError); ok {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("cannot run %q: %v", args[1:], err)
	}
	if got != want {
		ts.Fatalf("%q exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
