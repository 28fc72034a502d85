package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/internal/cli"
)

func (a *app) resumeCommand() *cobra.Command {
	var f tableFlags
	var asRecorded bool
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Go on with an experiment at its first missing run",
		Long: `resume reads a result folder and runs what is missing from its plan. No run
that has a record is repeated. An experiment that has changed since is refused
with a diff; -as-recorded goes on with the recorded one. The tables at the end
hold the runs of all sessions.`,
		ValidArgsFunction: completeResults,
		Args:              cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.resume(cmd, args[0], asRecorded, &f)
		},
	}
	cmd.Flags().BoolVar(&asRecorded, "as-recorded", false, "go on with the recorded experiment though its file has changed")
	addRunningFlags(cmd.Flags())
	f.add(cmd.Flags())
	f.addFormat(cmd.Flags())
	return cmd
}

func (a *app) resume(cmd *cobra.Command, dir string, asRecorded bool, f *tableFlags) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	if err := f.prefer(prefs); err != nil {
		return err
	}
	m, err := harness.ReadManifest(dir)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	w, err := a.newWork(cmd.Context(), prefs)
	if err != nil {
		return err
	}
	defer w.close()
	e, _, err := recorded(m)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := w.admit(e); err != nil {
		return err
	}
	if _, err := w.prepareGo(cmd.Context(), e, false); err != nil {
		return err
	}
	s := w.session(e, dir)
	s.Provenance = harness.Provenance{Tool: cli.Version(), Argv: os.Args, Host: hostFacts()}
	o := harness.ResumeOptions{Load: recorded, Current: current, AsRecorded: asRecorded}
	return w.execute(cmd.Context(), f, func(ctx context.Context) (harness.Summary, error) {
		return harness.Resume(ctx, dir, s, o)
	})
}

// recorded is the experiment and the plan that a manifest holds.
func recorded(m *harness.Manifest) (*harness.Experiment, *harness.Plan, error) {
	e, err := harness.Load(m.Name+".toml", []byte(m.Text), harness.LoadOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the recorded experiment:\n%v", err)
	}
	e.Dir = m.Dir
	p, err := e.Expand(m.Seed)
	return e, p, err
}

// current is the text as which the experiment's file would be run today, with
// the settings of the day when it was begun.
func current(m *harness.Manifest) ([]byte, error) {
	text, err := os.ReadFile(m.Source)
	if err != nil {
		return nil, err
	}
	e, err := harness.Load(m.Source, text, recordedOptions(m.Overrides))
	if err != nil {
		// A file that no longer loads has changed: the diff shows how.
		return text, nil
	}
	return e.Text, nil
}
