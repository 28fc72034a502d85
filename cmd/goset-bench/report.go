package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/report"
)

// reportFlags are the flags of `report`.
type reportFlags struct {
	table  tableFlags
	format string
	write  bool
	rules  bool
	plots  string
	// cost is what a session costs beside what its folder tells.
	cost time.Duration
}

func (a *app) reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report DIR... | report FILE...",
		Short: "Print the tables of a result folder again, of several sessions, or of figures taken elsewhere",
		Long: `report computes the tables of a result folder anew from its records, on any
machine. With -write it also writes the folder's derived files anew: runs.csv,
iterations.csv.gz, summary.csv, summary.md, contrasts.csv, bench.txt and
report.html, a page that needs no network. -plots DIR writes every plot of that
page as SVG and PNG.

Of several folders of the same experiment it reports the comparisons over
sessions (reboots, days, machines): what each session says, and their mean with
an interval over the sessions, which is not narrowed by more rounds in one of
them. It says what varied between the sessions as far as the manifests know,
and, by Kalibera and Jones, how many rounds and sessions to take next time; five
sessions or more are advised. -session-cost adds what a session costs beside
what its folder tells, as a reboot. -format csv has a line for each session,
contrasts one for each comparison.

Of files it reads what other programs measured, and gives them the same
statistics: the Go benchmark format, the events of go test -json, hyperfine's
--export-json, Google Benchmark's JSON, criterion's sample.json, raw.csv and the
messages of cargo criterion, perf stat -x, and GNU time -v. The content says which
it is. Each file is a mode, the first one the baseline; a single hyperfine file has
a mode for each command, samples of criterion that of their folder ("base",
"new"). Each value is one of a run, a repetition or a sample: what a program says
of them together, as perf stat -r and criterion's estimates.json do, is refused. A
line that looks like a result and cannot be read is counted and shown.

-effect 1% says how many rounds it takes to find a change of the median by 1%,
-effect 'sd 20%' to find sds that differ by a factor of 1.2; of several folders,
how many rounds and sessions (those two unless asked).

-rules prints Hoefler and Belli's twelve rules for reporting measurements, each
with pass, fail or not applicable and the reason.`,
		ValidArgsFunction: completeResults,
		Args:              cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.report(cmd, args, &f)
		},
	}
	f.table.add(cmd.Flags())
	f.table.gate.add(cmd.Flags())
	f.table.addEffect(cmd.Flags())
	cmd.Flags().StringVar(&f.format, "format", "text", formats)
	cmd.Flags().StringVar(&f.plots, "plots", "", "write every plot as SVG and PNG into this folder")
	cmd.Flags().BoolVar(&f.write, "write", false, "write the derived files of the folder anew")
	cmd.Flags().BoolVar(&f.rules, "rules", false, "print the twelve rules of Hoefler and Belli, judged")
	cmd.Flags().DurationVar(&f.cost, "session-cost", 0, "of several folders: what a session costs beside its folder's time, as 2m for a reboot")
	cmd.Flags().String("baseline", "", "the mode or file that others are compared with")
	cmd.Flags().String("color", "auto", "auto, always or never")
	return cmd
}

func (a *app) report(cmd *cobra.Command, args []string, f *reportFlags) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	if err := f.table.prefer(prefs); err != nil {
		return err
	}
	style, err := a.style(prefs)
	if err != nil {
		return err
	}
	files, err := areFiles(args)
	if err != nil {
		return err
	}
	if files {
		return a.reportFiles(cmd, args, f, style)
	}
	if len(args) > 1 {
		return a.reportSessions(cmd, args, f, style)
	}
	if cmd.Flags().Changed("session-cost") {
		return usagef("cannot use -session-cost with one folder: it is for two sessions or more")
	}
	results, err := harness.OpenResults(args[0])
	if err != nil {
		return &exitError{exitUsage, err}
	}
	opt, err := f.table.options(results.Manifest)
	if err != nil {
		return err
	}
	if f.write {
		return a.write(cmd.Context(), results, opt, &f.table, true, "text", style)
	}
	return a.reprint(cmd, results, opt, f, style)
}

// areFiles tells files from folders, and refuses what is neither, or both.
func areFiles(args []string) (bool, error) {
	files := 0
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, usagef("cannot report on %q: there is no such file or folder; goset-bench list shows the results here", arg)
		case err != nil:
			return false, usagef("cannot report on %q: %v", arg, err)
		case !info.IsDir():
			files++
		}
	}
	if files > 0 && files < len(args) {
		return false, usagef("cannot report on folders and files at once: %s; give folders, or files", whichAre(args))
	}
	return files > 0, nil
}

// whichAre says what each argument is.
func whichAre(args []string) string {
	var texts []string
	for _, arg := range args {
		what := "folder"
		if info, err := os.Stat(arg); err == nil && !info.IsDir() {
			what = "file"
		}
		texts = append(texts, fmt.Sprintf("%q is a %s", arg, what))
	}
	return strings.Join(texts, ", ")
}

// reprint makes a document of any source and prints it, or its rules.
func (a *app) reprint(cmd *cobra.Command, src report.Source, opt report.Options, f *reportFlags, style tableStyle) error {
	data, err := report.Collect(cmd.Context(), src, opt.Treatments, 0)
	if err != nil {
		return failed(err)
	}
	f.table.warn(a.stderr, data, opt.Metrics)
	if cmd.Flags().Changed("metrics") && !data.HasMetric(opt.Metrics) {
		return usagef("cannot show -metrics %s: no metric here has such a name", strings.Join(f.table.metrics, ","))
	}
	if flag := cmd.Flags().Lookup("baseline"); flag.Changed {
		if opt.Baseline = flag.Value.String(); !data.HasMode(opt.Baseline) {
			return usagef("cannot compare with -baseline %q: no such mode (there are %s)", opt.Baseline, data.ModeNames())
		}
	}
	doc, err := data.Document(opt)
	if err != nil {
		return failed(err)
	}
	if f.rules {
		if err := report.RulesText(a.stdout, doc, report.TextOptions{Color: style.color, Width: style.width}); err != nil {
			return failed(fmt.Errorf("cannot print the rules: %v", err))
		}
		return nil
	}
	r := &reading{src, opt, data, doc}
	if f.plots != "" {
		return a.plots(cmd.Context(), r, f.plots)
	}
	if err := a.print(cmd.Context(), r, f.format, style); err != nil {
		return err
	}
	return f.table.gate.judge(doc)
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

// reportFiles reports on figures that were taken elsewhere.
func (a *app) reportFiles(cmd *cobra.Command, paths []string, f *reportFlags, style tableStyle) error {
	if f.write {
		return usagef("cannot use -write with files: it is for result folders")
	}
	if cmd.Flags().Changed("session-cost") {
		return usagef("cannot use -session-cost with files: it is for two result folders or more")
	}
	var x report.External
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return usagef("cannot read %q: %v", path, err)
		}
		if err := x.Add(path, text, len(paths)); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	opt := x.Options()
	if err := f.table.choose(&opt); err != nil {
		return err
	}
	return a.reprint(cmd, &x, opt, f, style)
}
