package main

import (
	"fmt"

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
