package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"goset/harness"
	"goset/internal/clitest"
	"goset/isolation"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// A session starts its helpers from the file that runs, which is this test.
	if len(os.Args) > 1 && slices.Contains([]string{guardWord, loadWord, sweepWord}, os.Args[1]) {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"goset-bench": func() {
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
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config")
			// What is built once need not be built for every script.
			out, err := exec.Command("go", "env", "GOCACHE").Output()
			e.Setenv("HOST_GOCACHE", strings.TrimSpace(string(out)))
			if err != nil {
				e.Setenv("HOST_GOCACHE", e.WorkDir+"/gocache")
			}
			// Scripts run side by side, and beside whoever uses this machine.
			lock := e.WorkDir + "/.lock"
			e.Setenv("GOSET_BENCH_LOCK", lock)
			e.Setenv("GOSET_BENCH_STATE", e.WorkDir+"/.state")
			if allowed, err := isolation.Allowed(); err == nil {
				e.Setenv("FIRST", strconv.Itoa(allowed.First()))
				e.Setenv("ALLOWED", allowed.String())
				e.Setenv("MORE", strconv.Itoa(allowed.Len()+1))
			}
			if err := os.WriteFile(lock, nil, 0o644); err != nil {
				return err
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "caches":
				return harness.CachesOf(hostFacts()).Known(), nil
			case "podman":
				return podmanWorks(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     clitest.Exits,
			"recompute": recompute,
			"waitfile":  waitFile,
			"waitgone":  waitGone,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// podmanWorks tries the engine: one that is there cannot always start anything.
func podmanWorks() bool {
	return exec.Command("podman", "run", "--rm", "--network=none", "--cpuset-cpus=0", "--cpus=1", "--memory=512m", "--rootfs", "/:O", "/bin/true").Run() == nil
}

// waitFile waits until a file is there: waitfile NAME.
func waitFile(ts *testscript.TestScript, neg bool, args []string) { waitFor(ts, neg, args, true) }

// waitGone waits until no file of a pattern is there: waitgone PATTERN.
func waitGone(ts *testscript.TestScript, neg bool, args []string) { waitFor(ts, neg, args, false) }

func waitFor(ts *testscript.TestScript, neg bool, args []string, there bool) {
	if neg || len(args) != 1 {
		ts.Fatalf("want one name")
	}
	pattern := ts.MkAbs(args[0])
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		found, err := filepath.Glob(pattern)
		ts.Check(err)
		if (len(found) > 0) == there {
			return
		}
	}
	ts.Fatalf("%s: there %t is not reached", args[0], there)
}
