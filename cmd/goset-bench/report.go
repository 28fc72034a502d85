package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/report"
)

func (a *app) reportCommand() *cobra.Command {
	var f tableFlags
	var format string
	var write bool
	var plots string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Print the tables of a result folder again",
		Long: `report computes the tables of a result folder anew from its records, on any
machine. With -write it also writes the folder's derived files anew: runs.csv,
iterations.csv.gz, summary.csv, summary.md, contrasts.csv, bench.txt and
report.html, a page that needs no network. -plots DIR writes every plot of that
page as SVG and PNG.`,
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
			r, err := f.read(cmd.Context(), results)
			if err != nil {
				return err
			}
			if plots != "" {
				return a.plots(cmd.Context(), r, plots)
			}
			if write {
				return a.write(cmd.Context(), r, args[0], true, style)
			}
			return a.print(cmd.Context(), r, format, style)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&format, "format", "text", formats)
	cmd.Flags().StringVar(&plots, "plots", "", "write every plot as SVG and PNG into this folder")
	cmd.Flags().BoolVar(&write, "write", false, "write the derived files of the folder anew")
	cmd.Flags().String("color", "auto", "auto, always or never")
	return cmd
}

// plots writes the plot files and says where they are.
func (a *app) plots(ctx context.Context, r *reading, dir string) error {
	page, err := r.page(ctx)
	if err != nil {
		return failed(err)
	}
	names, err := report.Plots(dir, page)
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(a.stdout, "plots: %d files in %s\n", len(names), dir)
	return nil
}
