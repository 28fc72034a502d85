package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/report"
)

func (a *app) compareCommand() *cobra.Command {
	var f tableFlags
	var failOn string
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare two result folders: two days, two machines, two builds",
		Long: `compare says what differs in the manifests of two result folders and in which
cells the new one differs from the old one, and how sure that is. The two share
no rounds, so whole samples are compared.

-fail-on "median>3%,sd>20%" makes exit code 3 when a cell is worse by more than
that and the change is sure, which is to say found after Holm's correction.`,
		Example: `  goset-bench compare results/monday results/tuesday
  goset-bench compare -fail-on "median>3%" before after`,
		ValidArgsFunction: completeResults,
		Args:              cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.compare(cmd, args, &f, failOn)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&failOn, "fail-on", "", "exit with 3 when a cell is surely worse than this, as \"median>3%,sd>20%\"")
	cmd.Flags().String("color", "auto", "auto, always or never")
	return cmd
}

func (a *app) compare(cmd *cobra.Command, dirs []string, f *tableFlags, failOn string) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	style, err := a.style(prefs)
	if err != nil {
		return err
	}
	var limits []report.Bound
	if failOn != "" {
		if limits, err = report.ParseLimits(failOn); err != nil {
			return usagef("cannot use -fail-on: %v", err)
		}
	}
	before, err := side(cmd.Context(), dirs[0], f)
	if err != nil {
		return err
	}
	after, err := side(cmd.Context(), dirs[1], f)
	if err != nil {
		return err
	}
	d, err := report.Compare(before, after)
	if err != nil {
		return failed(err)
	}
	if err := report.CompareText(a.stdout, d, report.TextOptions{Color: style.color, Width: style.width}); err != nil {
		return failed(fmt.Errorf("cannot print the comparison: %v", err))
	}
	if broken := d.Broken(limits); len(broken) > 0 {
		return &exitError{exitWorse, fmt.Errorf("worse than -fail-on %q allows:\n%s", failOn, strings.Join(broken, "\n"))}
	}
	return nil
}

// side reads one result folder.
func side(ctx context.Context, dir string, f *tableFlags) (report.Side, error) {
	results, err := harness.OpenResults(dir)
	if err != nil {
		return report.Side{}, &exitError{exitUsage, err}
	}
	opt, err := f.options(results.Manifest)
	if err != nil {
		return report.Side{}, err
	}
	data, err := report.Collect(ctx, results, opt.Treatments, 0)
	if err != nil {
		return report.Side{}, failed(err)
	}
	return report.Side{Name: dir, Data: data, Opts: opt}, nil
}
