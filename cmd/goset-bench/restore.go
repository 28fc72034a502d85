package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"goset/isolation"
)

func (a *app) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Undo what an ended session left changed on this machine",
		Long: `restore replays the journals that ended sessions left behind, backwards: every
value that is still as the session set it gets its old one back; what somebody
else has changed since is reported and left.

It is only needed when goset-bench and its guard were both killed. Then the next
start refuses, and names it. Journals of running sessions, and of an earlier
boot, are not replayed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.restore(cmd) },
	}
	cmd.Flags().String("state", isolation.DefaultState, "folder of the journals")
	return cmd
}

func (a *app) restore(cmd *cobra.Command) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	healed, err := isolation.Restore(isolation.Options{State: prefs.text("state", isolation.DefaultState), Say: a.say})
	if err != nil {
		return failed(err)
	}
	text := "nothing to restore"
	switch {
	case healed == 1:
		text = "restored this machine: 1 journal"
	case healed > 1:
		text = fmt.Sprintf("restored this machine: %d journals", healed)
	}
	if _, err := fmt.Fprintln(a.stdout, text); err != nil {
		return failed(err)
	}
	return nil
}
