package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"goset/isolation"
)

// guardWord is the hidden command that undoes what goset left when it is gone.
// Nobody types it.
const guardWord = "__guard"

func (a *app) guardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardWord + " FOLDER JOURNAL",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return isolation.Guard(args[0], args[1], a.stdin, a.stdout, a.say)
		},
	}
}

// say tells a person one thing on stderr.
func (a *app) say(text string) { fmt.Fprintf(a.stderr, "goset: %s\n", text) }

// open takes the machine when a layer is going to change it. Two commands that
// are only pinned may run side by side, and take nothing.
func (t *task) open(ctx context.Context) error {
	if !changesMachine(t.mode) {
		return nil
	}
	o := isolation.Options{State: t.opt.state, Lock: t.opt.lock, Wait: t.opt.wait, Say: t.say, Tool: "goset"}
	if os.Geteuid() == 0 {
		// The file that runs, and not what stands at its path by now: an
		// upgrade leaves the journal to the version that wrote it.
		o.Guard = []string{"/proc/self/exe", guardWord}
	}
	s, err := isolation.Open(ctx, o)
	if err != nil {
		return err
	}
	t.session = s
	t.runner.Use(s)
	return nil
}

// closing undoes what is still changed, whatever happened before, and gives up
// the runner.
func (t *task) closing(err error) error {
	t.runner.Use(nil)
	var cerr error
	if t.session != nil {
		cerr = t.session.Close()
	}
	cerr = errors.Join(cerr, t.runner.Close())
	if t.ran && cerr != nil {
		t.say(cerr.Error())
		return err
	}
	return errors.Join(err, cerr)
}

// changesMachine is true for a mode with a layer that reaches beyond the
// command itself.
func changesMachine(m isolation.Mode) bool {
	return m.Cgroup != "" || m.Shield || m.Fence || m.Steer || m.Governor != "" || m.Frequency != "" ||
		m.Turbo != nil || m.SMT != nil || m.Memory != "" || m.CPUQuota != ""
}

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore",
		Short: "Undo what an ended goset left changed on this machine",
		Long: `restore replays the journals that ended sessions left behind, backwards: every
value that is still as the session set it gets its old one back; what somebody
else has changed since is reported and left.

It is only needed when goset and its guard were both killed. Then the next start
refuses, and names it.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.restore() },
	}
}

func (a *app) restore() error {
	healed, err := isolation.Restore(isolation.Options{State: a.opt.state, Say: a.say})
	if err != nil {
		return err
	}
	text := "nothing to restore"
	if healed > 0 {
		text = "restored this machine: " + plural(healed, "journal", "journals")
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}

// leftovers lists what earlier runs did not undo; nil where nobody may look.
func (a *app) leftovers() []string {
	found, err := isolation.Leftovers(a.opt.state)
	if err != nil {
		return nil
	}
	if found == nil {
		found = []string{}
	}
	return found
}
