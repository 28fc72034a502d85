package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"goset/harness"
	"goset/report"
)

// tableFlags choose what a table shows.
type tableFlags struct {
	metrics []string
	all     bool
	topk    int
	failOn  []string
	strict  bool
	format  string
}

func (f *tableFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.metrics, "metrics", nil, "metrics to show, as regular expressions of whole names")
	fs.BoolVar(&f.all, "all", false, "show every metric")
	fs.StringArrayVar(&f.failOn, "fail-on", nil, "exit with 3 when a change is beyond this for sure, as 'ns/op>3%' or 'allocs/op>0'; may be given again")
	fs.BoolVar(&f.strict, "strict", false, "with -fail-on: exit with 4 when that cannot be told")
	fs.IntVar(&f.topk, "topk", 0, "show only the N metrics of each workload that vary most")
}

// addFormat is for the commands that run.
func (f *tableFlags) addFormat(fs *pflag.FlagSet) {
	fs.StringVar(&f.format, "format", "text", "how to print the tables; github: a Markdown summary")
}

// tableStyle is how a table looks on this stdout.
type tableStyle struct {
	color bool
	width int
}

// style decides on colour: as -color says; "auto" is colour on a terminal
// unless NO_COLOR is set.
func (a *app) style(prefs *preferences) (tableStyle, error) {
	s := tableStyle{}
	f, isFile := a.stdout.(*os.File)
	onTerminal := isFile && term.IsTerminal(int(f.Fd()))
	switch want := prefs.text("color", "auto"); want {
	case "auto":
		s.color = onTerminal && os.Getenv("NO_COLOR") == ""
	case "always":
		s.color = true
	case "never":
	default:
		return s, usagef("cannot use color = %q: want auto, always or never", want)
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
	opt.All, opt.TopK = f.all, f.topk
	if f.topk < 0 {
		return opt, usagef("cannot use -topk %d: want 1 or more", f.topk)
	}
	for _, text := range f.failOn {
		b, err := report.ParseBound(text)
		if err != nil {
			return opt, &exitError{exitUsage, err}
		}
		opt.FailOn = append(opt.FailOn, b)
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
	doc, err := data.Document(opt)
	if err != nil {
		return failed(err)
	}
	if err := report.WriteDocument(ctx, dir, data, doc, results, opt); err != nil {
		return failed(err)
	}
	format, where := flags.format, a.stderr
	if format == "" || format == "text" {
		format, where = "text", a.stdout
	}
	if err := a.print(data, doc, opt, format, style); err != nil {
		return err
	}
	fmt.Fprintf(where, "results: %s\n", dir)
	return flags.gate(doc)
}

// gateError is what -fail-on found.
type gateError struct{ text string }

func (e *gateError) Error() string { return e.text }

func isGate(err error) bool {
	var g *gateError
	return errors.As(err, &g)
}

// gate turns the judgement of the bounds into an exit code.
func (f *tableFlags) gate(doc *report.Document) error {
	broken, open := 0, 0
	for i := range doc.Gates {
		switch doc.Gates[i].Status {
		case report.GateFailed:
			broken++
		case report.GateUnresolved:
			open++
		}
	}
	switch {
	case broken > 0:
		return &exitError{exitBound, &gateError{fmt.Sprintf("%d of %d comparisons are beyond their bound", broken, len(doc.Gates))}}
	case open > 0 && f.strict:
		return &exitError{exitUnresolved, &gateError{fmt.Sprintf("%d of %d comparisons cannot be told from their bound: more runs, or a quieter machine", open, len(doc.Gates))}}
	}
	return nil
}

// print writes a report in one ink.
func (a *app) print(data *report.Data, doc *report.Document, opt report.Options, format string, style tableStyle) error {
	inks := map[string]func(io.Writer) error{
		"text": func(w io.Writer) error {
			return report.TextDocument(w, doc, report.TextOptions{Color: style.color, Width: style.width})
		},
		"markdown":  func(w io.Writer) error { return report.MarkdownDocument(w, doc) },
		"csv":       func(w io.Writer) error { return report.SummaryCSV(w, doc.Tables) },
		"contrasts": func(w io.Writer) error { return report.ContrastsCSV(w, doc.Tables) },
		"json":      func(w io.Writer) error { return report.JSONDocument(w, doc) },
		"bench":     func(w io.Writer) error { return report.Bench(w, data, opt) },
	}
	inks["github"] = func(w io.Writer) error { return report.GitHub(w, doc) }
	ink, ok := inks[format]
	if !ok {
		return usagef("cannot print as %q: want text, markdown, github, csv, contrasts, json or bench", format)
	}
	if err := ink(a.stdout); err != nil {
		return failed(fmt.Errorf("cannot print tables: %v", err))
	}
	return nil
}
