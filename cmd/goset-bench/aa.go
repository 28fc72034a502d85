package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/report"
)

// aaRuns is the number of rounds of a self-check: at 30 its false-positive
// rates and its noise floor mean something.
const aaRuns = "30"

// aaFlags are the flags of `aa` that are no preference.
type aaFlags struct {
	set    []string
	output string
	splits int
	table  tableFlags
}

func (a *app) aaCommand() *cobra.Command {
	var f aaFlags
	cmd := &cobra.Command{
		Use:   "aa EXPERIMENT|DIR",
		Short: "Compare the baseline with itself: the noise floor of this machine",
		Long: `aa runs only the baseline mode of an experiment, twice in every round, and
compares it with itself. It reports the noise floor, how often the tests find a
difference where none is (over random splits), and the smallest effect that so
many rounds can show. Of a result folder that has a control (plan.control) it
reports the same without running anything.

The exit code is 1 when a difference is found between the baseline and itself:
then something other than the mode moves the runs.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(filepath.Join(args[0], harness.ManifestFile)); err == nil {
				return a.aaFolder(cmd, args[0], &f)
			}
			return a.aaRun(cmd, args[0], &f)
		},
	}
	addPlanFlags(cmd.Flags(), &f.set)
	addRunningFlags(cmd.Flags())
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "result folder; default: a new one below -results")
	cmd.Flags().IntVar(&f.splits, "splits", 0, "random splits for the false-positive rate; 0: 200")
	f.table.add(cmd.Flags())
	f.table.addEffect(cmd.Flags())
	return cmd
}

// aaRun runs the baseline alone, and reports.
func (a *app) aaRun(cmd *cobra.Command, name string, f *aaFlags) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	if err := f.table.choose(&report.Options{}); err != nil {
		return err
	}
	src, err := findSource(name)
	if err != nil {
		return err
	}
	e, _, err := src.load(prefs, f.set)
	if err != nil {
		return err
	}
	set := append([]string{}, f.set...)
	if !prefs.above.IsSet("runs") {
		set = append(set, "plan.runs="+aaRuns)
	}
	set = append(set, "plan.control=true", "plan.skip="+otherModes(e))
	return a.runTrial(cmd, prefs, src, &trial{set: set, output: f.output, suffix: "-aa", table: &f.table, after: func(ctx context.Context, results *harness.Results, style tableStyle) error {
		opt, err := f.table.options(results.Manifest)
		if err != nil {
			return err
		}
		if err := report.WriteAll(ctx, results.Dir, results, opt); err != nil {
			return failed(err)
		}
		return a.aaReport(ctx, results, f, style)
	}})
}

// otherModes is the plan.skip that leaves only the baseline of what the
// experiment itself does not skip.
func otherModes(e *harness.Experiment) string {
	var entries []string
	for _, skip := range e.Plan.Skip {
		var keys []string
		for _, k := range slices.Sorted(maps.Keys(skip)) {
			keys = append(keys, fmt.Sprintf("%q = %q", k, skip[k]))
		}
		entries = append(entries, "{ "+strings.Join(keys, ", ")+" }")
	}
	for _, m := range e.Modes {
		if m.Name != e.Plan.Baseline {
			entries = append(entries, fmt.Sprintf("{ mode = %q }", m.Name))
		}
	}
	return "[" + strings.Join(entries, ", ") + "]"
}

// aaFolder reports on the control of a result folder.
func (a *app) aaFolder(cmd *cobra.Command, dir string, f *aaFlags) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	style, err := a.style(prefs)
	if err != nil {
		return err
	}
	results, err := harness.OpenResults(dir)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return a.aaReport(cmd.Context(), results, f, style)
}

func (a *app) aaReport(ctx context.Context, results *harness.Results, f *aaFlags, style tableStyle) error {
	if f.splits < 0 {
		return usagef("cannot use -splits %d: want 0 or more", f.splits)
	}
	opt, err := f.table.options(results.Manifest)
	if err != nil {
		return err
	}
	data, err := report.Collect(ctx, results, opt.Treatments, 0)
	if err != nil {
		return failed(err)
	}
	floors, err := data.NoiseFloors(opt, f.splits)
	if err != nil {
		return failed(err)
	}
	if len(floors) == 0 {
		return usagef("cannot report on %q: it has no control; run it with -set plan.control=true, or run goset-bench aa EXPERIMENT", results.Dir)
	}
	if err := report.NoiseText(a.stdout, floors, report.TextOptions{Color: style.color, Width: style.width}); err != nil {
		return failed(fmt.Errorf("cannot print the noise floor: %v", err))
	}
	for i := range floors {
		if floors[i].Failed {
			return failed(errors.New("the self-check failed: the baseline differs from itself"))
		}
	}
	return nil
}
