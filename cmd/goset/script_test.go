package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"goset/internal/clitest"
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
	clitest.TakeHangups()
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
			case "unshare":
				return exec.Command("unshare", "-m", "true").Run() == nil, nil
			case "cpus2":
				allowed, err := isolation.Allowed()
				return err == nil && allowed.Len() > 1, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": clitest.Exits},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
