package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

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
	format  string // of the commands that run; "": text
	gate    gateFlags
	effect  string // what to plan for; "": nothing was asked
}

func (f *tableFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.metrics, "metrics", nil, "metrics to show, as regular expressions of whole names")
	fs.BoolVar(&f.all, "all", false, "show every metric")
	fs.IntVar(&f.topk, "topk", 0, "show only the N metrics of each workload that vary most")
}

// addFormat is for the commands that run.
func (f *tableFlags) addFormat(fs *pflag.FlagSet) {
	fs.StringVar(&f.format, "format", "text", formats)
	f.gate.add(fs)
}

// tableStyle is how a table looks on this stdout.
type tableStyle struct {
	color bool
	width int // columns; 0: those of a text that is no terminal's
}

// widestTable bounds the columns: footnotes in longer lines are hard to read.
const widestTable = 140

// style takes the terminal's width and decides on colour: as -color says; "auto" is colour on a terminal
// unless NO_COLOR is set or the terminal is dumb.
func (a *app) style(prefs *preferences) (tableStyle, error) {
	s := tableStyle{width: min(cli.Width(a.stdout), widestTable)}
	var err error
	if s.color, err = cli.Color(prefs.text("color", "auto"), a.stdout); err != nil {
		return s, &exitError{exitUsage, err}
	}
	return s, nil
}

// options turns a manifest and flags into the report's options.
func (f *tableFlags) options(m *harness.Manifest) (report.Options, error) {
	opt := report.OptionsOf(m)
	if e, _, err := recorded(m); err == nil {
		// Records do not say whose a factor is; the experiment does.
		opt.ModeFactors = report.ModeFactors(e.Modes)
		opt.Sides = report.SidesOf(e.Workloads)
	}
	return opt, f.choose(&opt)
}

// choose puts the flags into options.
func (f *tableFlags) choose(opt *report.Options) error {
	opt.All, opt.TopK = f.all, f.topk
	var err error
	if opt.Metrics, err = f.check(); err != nil {
		return err
	}
	if f.effect != "" {
		if opt.Target, err = report.ParseTarget(f.effect); err != nil {
			return usagef("cannot use -effect: %v", err)
		}
	}
	opt.FailOn, err = f.gate.bounds()
	return err
}

func (f *tableFlags) addEffect(fs *pflag.FlagSet) {
	fs.StringVar(&f.effect, "effect", "", "say how many rounds (and sessions) it takes to find this, as 1% of the median, 'sd 20%', or '1%, sd 20%'")
}

// prefer fills in what a person prefers and checks all of it; commands that run
// do so before they run.
func (f *tableFlags) prefer(prefs *preferences) error {
	f.metrics = prefs.list("metrics", f.metrics)
	if _, err := f.gate.bounds(); err != nil {
		return err
	}
	if f.format != "" && !slices.Contains(formatNames(), f.format) {
		return badFormat(f.format)
	}
	_, err := f.check()
	return err
}

func (f *tableFlags) check() (metrics []*regexp.Regexp, err error) {
	if f.topk < 0 {
		return nil, usagef("cannot use -topk %d: want 1 or more", f.topk)
	}
	for _, name := range f.metrics {
		if _, err := regexp.Compile(name); err != nil {
			return nil, usagef("cannot use -metrics %q: %v", name, err)
		}
		re, err := regexp.Compile("^(?:" + name + ")$")
		if err != nil {
			return nil, usagef("cannot use -metrics %q: %v", name, err)
		}
		metrics = append(metrics, re)
	}
	return metrics, nil
}

// warn says which of -metrics is the name of no metric there is: the table
// would lack it in silence. It is no fault: who prefers a metric always has it
// in config.toml, for experiments without it too.
// Where none of them is a name, all would be lacking: the usual ones are shown.
func (f *tableFlags) warn(w io.Writer, data *report.Data, metrics []*regexp.Regexp) {
	names := data.MetricNames()
	if len(names) == 0 {
		return
	}
	for i, re := range metrics {
		if !slices.ContainsFunc(names, re.MatchString) {
			fmt.Fprintf(w, "goset-bench: warning: -metrics %q is the name of no metric here%s; there are %s; -all shows all\n", f.metrics[i], cli.Nearest(f.metrics[i], names), report.SomeNames(names))
		}
	}
}

// reading is a source read once: what all inks print.
type reading struct {
	src  report.Source
	opt  report.Options
	data *report.Data
	doc  *report.Document
}

// page reads the records once more, for what stands in no table.
func (r *reading) page(ctx context.Context) (*report.Page, error) {
	return report.NewPage(ctx, r.data, r.doc, r.src, r.opt)
}

// write puts the derived files, and the page where it is asked for, into a
// result folder and the tables on stdout: those also where the folder takes no
// more, because hours of runs are in them.
func (a *app) write(ctx context.Context, results *harness.Results, opt report.Options, flags *tableFlags, withPage bool, format string, style tableStyle) error {
	dir := results.Dir
	w, err := report.Write(ctx, dir, results, opt)
	if err != nil {
		return failed(err)
	}
	flags.warn(a.stderr, w.Data, opt.Metrics)
	r, unwritten := &reading{results, opt, w.Data, w.Document}, w.Unwritten
	if withPage && unwritten == nil {
		unwritten = r.writePage(ctx, dir)
	}
	if err := a.print(ctx, r, format, style); err != nil {
		return failed(errors.Join(err, unwritten))
	}
	if unwritten != nil {
		return failed(fmt.Errorf("%w\nEvery run is in its records; mend that, then: goset-bench report -write %s", unwritten, dir))
	}
	// What a program reads is not to end in a line for people.
	where := a.stdout
	if format != "text" {
		where = a.stderr
	}
	fmt.Fprintf(where, "results: %s\n", dir)
	if withPage {
		fmt.Fprintf(where, "page: %s\n", filepath.Join(dir, report.PageFile))
	}
	return flags.gate.judge(r.doc)
}

func (r *reading) writePage(ctx context.Context, dir string) error {
	page, err := r.page(ctx)
	if err != nil {
		return err
	}
	return report.WriteHTML(dir, page)
}

// formats are the inks that print knows, for messages and help.
const formats = "text, markdown, github, latex, csv, contrasts, json, bench or html"

func formatNames() []string {
	return strings.Split(strings.Replace(formats, " or ", ", ", 1), ", ")
}

func badFormat(format string) error { return usagef("cannot print as %q: want %s", format, formats) }

// print writes a report in one ink.
func (a *app) print(ctx context.Context, r *reading, format string, style tableStyle) error {
	inks := map[string]func(io.Writer) error{
		"text": func(w io.Writer) error {
			return report.TextDocument(w, r.doc, report.TextOptions{Color: style.color, Width: style.width})
		},
		"markdown":  func(w io.Writer) error { return report.MarkdownDocument(w, r.doc) },
		"github":    func(w io.Writer) error { return report.GitHub(w, r.doc) },
		"latex":     func(w io.Writer) error { return report.LaTeX(w, r.doc) },
		"csv":       func(w io.Writer) error { return report.SummaryCSV(w, r.doc.Tables) },
		"contrasts": func(w io.Writer) error { return report.ContrastsCSV(w, r.doc.Tables) },
		"json":      func(w io.Writer) error { return report.JSONDocument(w, r.doc) },
		"bench":     func(w io.Writer) error { return report.Bench(w, r.data, r.opt) },
		"html": func(w io.Writer) error {
			page, err := r.page(ctx)
			if err != nil {
				return err
			}
			return report.HTML(w, page)
		},
	}
	ink, ok := inks[format]
	if !ok {
		return badFormat(format)
	}
	if err := ink(a.stdout); err != nil {
		return failed(fmt.Errorf("cannot print tables: %v", err))
	}
	return nil
}
