package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"goset/isolation"
)

// guardWord is the hidden command that undoes what a session left when the
// session is gone. Nobody types it.
const guardWord = "__guard"

// guardArgv starts this program as a guard. It is the file that runs and not
// what stands at its path by now, so that an upgrade during a long experiment
// leaves the journal to the version that wrote it.
func guardArgv() []string { return []string{"/proc/self/exe", guardWord} }

func (a *app) guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardWord + " FOLDER JOURNAL",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := isolation.Guard(args[0], args[1], a.stdin, a.stdout, a.say); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

// say tells a person one thing on stderr.
func (a *app) say(text string) { fmt.Fprintf(a.stderr, "goset-bench: %s\n", text) }

// isolationOptions are the preferences about the machine: whose turn it is and
// where the journal lies.
func (a *app) isolationOptions(prefs *preferences) (isolation.Options, error) {
	o := isolation.Options{
		State: prefs.text("state", isolation.DefaultState), Lock: prefs.text("lock", isolation.DefaultLock), Say: a.say,
	}
	wait, err := prefs.duration("wait")
	if err != nil {
		return o, err
	}
	o.Wait = wait
	if os.Geteuid() == 0 {
		o.Guard = guardArgv()
	}
	return o, nil
}
