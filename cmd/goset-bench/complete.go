package main

import (
	"github.com/spf13/cobra"

	"goset/experiments"
)

// completeExperiments offers the shipped names and the shell's TOML files.
func completeExperiments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return experiments.Names(), cobra.ShellCompDirectiveDefault
}
