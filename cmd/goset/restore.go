package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"goset/isolation"
)

func (a *app) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Undo what an ended goset left changed on this machine",
		Long: `restore replays the journals that ended sessions left behind, backwards: every
value that is still as the session set it gets its old one back; what somebody
else has changed since is reported and left.

It is only needed when goset and its guard were both killed. Then the next start
says so, and refuses to change more. Root's journals need root: sudo goset restore.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.restore() },
	}
	a.opt.addState(cmd.Flags())
	return cmd
}

func (a *app) restore() error {
	healed, err := isolation.Restore(isolation.Options{State: a.opt.state, Say: a.say, Tool: tool})
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
