package main

import (
	"context"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/report"
)

func (a *app) reportCommand() *cobra.Command {
	var f tableFlags
	var format string
	var write bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Print the tables of a result folder again",
		Long: `report computes the tables of a result folder anew from its records, on any
machine. With -write it also writes the folder's derived files anew: runs.csv,
iterations.csv.gz, summary.csv, summary.md, contrasts.csv and bench.txt.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			prefs, err := readPreferences(cmd.Flags())
			if err != nil {
				return err
			}
			style, err := a.style(prefs)
			if err != nil {
				return err
			}
			results, err := harness.OpenResults(args[0])
			if err != nil {
				return &exitError{exitUsage, err}
			}
			if write {
				return a.write(cmd.Context(), results, args[0], &f, style)
			}
			return a.reprint(cmd.Context(), results, &f, format, style)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&format, "format", "text", "text, markdown, github, csv, contrasts, json or bench")
	cmd.Flags().BoolVar(&write, "write", false, "write the derived files of the folder anew")
	cmd.Flags().String("color", "auto", "auto, always or never")
	return cmd
}

func (a *app) reprint(ctx context.Context, results *harness.Results, f *tableFlags, format string, style tableStyle) error {
	opt, err := f.options(results.Manifest)
	if err != nil {
		return err
	}
	data, err := report.Collect(ctx, results, opt.Treatments, 0)
	if err != nil {
		return failed(err)
	}
	doc, err := data.Document(opt)
	if err != nil {
		return failed(err)
	}
	if err := a.print(data, doc, opt, format, style); err != nil {
		return err
	}
	return f.gate(doc)
}
