package main

import (
	"context"
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
}

func (f *tableFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.metrics, "metrics", nil, "metrics to show, as regular expressions of whole names")
	fs.BoolVar(&f.all, "all", false, "show every metric")
	fs.IntVar(&f.topk, "topk", 0, "show only the N metrics of each workload that vary most")
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
	s := tableStyle{}
	f, isFile := a.stdout.(*os.File)
	onTerminal := isFile && ansi(f)
	if isFile && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			s.width = min(width, widestTable)
		}
	}
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
	}
	opt.All, opt.TopK = f.all, f.topk
	var err error
	opt.Metrics, err = f.check()
	return opt, err
}

// prefer fills in what a person prefers and checks all of it; commands that run
// do so before they run.
func (f *tableFlags) prefer(prefs *preferences) error {
	f.metrics = prefs.list("metrics", f.metrics)
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
