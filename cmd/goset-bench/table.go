package main

import (
	"context"
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/pflag"

	"goset/harness"
	"goset/internal/cli"
	"goset/report"
)

// tableFlags choose what a table shows.
type tableFlags struct {
	metrics []string
	all     bool
	topk    int
}

func (f *tableFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.metrics, "metrics", nil, "metrics to show, as regular expressions of whole names")
	fs.BoolVar(&f.all, "all", false, "show every metric")
	fs.IntVar(&f.topk, "topk", 0, "show only the N metrics of each workload that vary most")
}

// tableStyle is how a table looks on this stdout.
type tableStyle struct {
	color bool
	width int
}

// style decides on colour: as -color says; "auto" is colour on a terminal
// unless NO_COLOR is set.
func (a *app) style(prefs *preferences) (tableStyle, error) {
	color, err := cli.Color(prefs.text("color", "auto"), a.stdout)
	if err != nil {
		return tableStyle{}, &exitError{exitUsage, err}
	}
	return tableStyle{color: color}, nil
}

// options turns a manifest and flags into the report's options.
func (f *tableFlags) options(m *harness.Manifest) (report.Options, error) {
	opt := report.OptionsOf(m)
	if e, _, err := recorded(m); err == nil {
		// Records do not say whose a factor is; the experiment does.
		opt.ModeFactors = report.ModeFactors(e.Modes)
	}
	opt.All, opt.TopK = f.all, f.topk
	if f.topk < 0 {
		return opt, usagef("cannot use -topk %d: want 1 or more", f.topk)
	}
	for _, name := range f.metrics {
		re, err := regexp.Compile("^(?:" + name + ")$")
		if err != nil {
			return opt, usagef("cannot use -metrics %q: %v", name, err)
		}
		opt.Metrics = append(opt.Metrics, re)
	}
	return opt, nil
}

// write puts the derived files into a result folder and the tables on stdout.
// Both come from one reading of the records.
func (a *app) write(ctx context.Context, results *harness.Results, dir string, flags *tableFlags, style tableStyle) error {
	opt, err := flags.options(results.Manifest)
	if err != nil {
		return err
	}
	data, err := report.Collect(ctx, results, opt.Treatments, 0)
	if err != nil {
		return failed(err)
	}
	if err := report.WriteData(ctx, dir, data, results, opt); err != nil {
		return failed(err)
	}
	if err := a.print(data, opt, "text", style); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "results: %s\n", dir)
	return nil
}

// print writes the tables in one ink.
func (a *app) print(data *report.Data, opt report.Options, format string, style tableStyle) error {
	tables, err := data.Tables(opt)
	if err != nil {
		return failed(err)
	}
	inks := map[string]func(io.Writer) error{
		"text": func(w io.Writer) error {
			return report.Text(w, tables, report.TextOptions{Color: style.color, Width: style.width})
		},
		"markdown": func(w io.Writer) error { return report.Markdown(w, tables, opt) },
		"csv":      func(w io.Writer) error { return report.SummaryCSV(w, tables) },
		"json":     func(w io.Writer) error { return report.JSON(w, tables) },
		"bench":    func(w io.Writer) error { return report.Bench(w, data, opt) },
	}
	ink, ok := inks[format]
	if !ok {
		return usagef("cannot print as %q: want text, markdown, csv, json or bench", format)
	}
	if err := ink(a.stdout); err != nil {
		return failed(fmt.Errorf("cannot print tables: %v", err))
	}
	return nil
}
