package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"goset/harness"
)

// loadWord is the hidden command that background load is: alone the keeper of
// a load, with the kind of load and its rate one process of it. Nobody types it.
const loadWord = "__load"

// sweepWord is the hidden command that removes a folder of builds when who
// builds is gone. Nobody types it.
const sweepWord = "__sweep"

// selfArgv starts this program as a hidden command. As with the guard it is the
// file that runs and not what stands at its path by now, where the system can
// say that.
func selfArgv(word string) []string {
	if runtime.GOOS == "linux" {
		return []string{"/proc/self/exe", word}
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return []string{self, word}
}

// runHelper is a load, its keeper, or what sweeps up after builds, without the
// command tree: a condition may start a hundred of them before every run. done
// is false for other commands.
func (a *app) runHelper(args []string) (code int, done bool) {
	if len(args) == 0 {
		return 0, false
	}
	var err error
	switch args[0] {
	case loadWord:
		err = a.load(args[1:])
	case sweepWord:
		err = a.sweep(args[1:])
	default:
		return 0, false
	}
	if err == nil {
		return exitDone, true
	}
	fmt.Fprintf(a.stderr, "goset-bench: %v\n", err)
	return exitFailed, true
}

func (a *app) load(args []string) error {
	// It is what those that are started inherit, and what ends them.
	in, ok := a.stdin.(*os.File)
	switch {
	case !ok:
		return errors.New("cannot run a load: its stdin must be a pipe that ends with who started it")
	case len(args) == 0:
		return harness.KeepLoad(selfArgv(loadWord), in, a.stdout)
	case len(args) == 2:
		return harness.RunLoad(args[0], args[1], in)
	}
	return fmt.Errorf("cannot run a load: want its kind and its rate, got %d arguments", len(args))
}

func (a *app) sweep(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("cannot sweep up after builds: want their folder and its user, got %d arguments", len(args))
	}
	return harness.SweepBuilds(args[0], args[1], a.stdin)
}
