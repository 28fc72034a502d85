package main

import (
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"goset/experiments"
	"goset/harness"
)

// completeExperiments offers the shipped names and the shell's TOML files.
func completeExperiments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return experiments.Names(), cobra.ShellCompDirectiveDefault
}

// completeResults offers the result folders where runs put them, and the
// shell's files.
func completeResults(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	manifests, err := filepath.Glob(filepath.Join(prefs.text("results", defaultResults), "*", "manifest.json"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var dirs []string
	for _, m := range manifests {
		dirs = append(dirs, filepath.Dir(m))
	}
	return dirs, cobra.ShellCompDirectiveDefault
}

// completeFlags gives the flags that take one of a few words these words, for a
// command and all below it.
func completeFlags(cmd *cobra.Command) error {
	words := map[string][]cobra.Completion{
		"order":   {"shuffled", "interleaved", "sequential"},
		"color":   {"auto", "always", "never"},
		"format":  formatNames(),
		"modes":   harness.KnownModes(),
		"runs-as": {"text", "csv"},
	}
	var err error
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if w, ok := words[f.Name]; ok && err == nil {
			err = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(w, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range cmd.Commands() {
		if err == nil {
			err = completeFlags(sub)
		}
	}
	return err
}
