package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"goset/harness"
	"goset/internal/cli"
	"goset/isolation"
	"goset/report"
)

// defaultResults is the folder below which result folders are made.
const defaultResults = "goset-results"

// runFlags are the flags of `run` that are no preference.
type runFlags struct {
	set    []string
	output string
	n      int
	modes  []string
	table  tableFlags
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT | run [flags] -- COMMAND [ARG...]",
		Short: "Run an experiment, or any command, and print its table",
		Long: `run reads an experiment (a file, or the name of a shipped one), expands it
into a randomized matrix, runs it and prints a table per workload and metric.
Records are written run by run into a result folder; an interrupted experiment
goes on with "goset-bench resume DIR".

After "--" stands any command: it is measured without a file, under the modes
that -modes names.

` + modesHelp,
		Example: `  goset-bench run quickstart
  goset-bench run published -set plan.idle=0s -set mode.goset.n=2
  goset-bench run -runs 10 -idle 5s -modes unpinned,taskset,goset -- ./task arg`,
		ValidArgsFunction: completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runExperiment(cmd, args, &f)
		},
	}
	addPlanFlags(cmd.Flags(), &f.set)
	addCommandFlags(cmd.Flags(), &f)
	addRunningFlags(cmd.Flags())
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "result folder; default: a new one below -results")
	f.table.add(cmd.Flags())
	f.table.addFormat(cmd.Flags())
	return cmd
}

// addPlanFlags are the flags that change an experiment's plan.
func addPlanFlags(fs *pflag.FlagSet, set *[]string) {
	fs.StringArrayVar(set, "set", nil, "override any key of the experiment, as plan.runs=3; may be given again")
	fs.Int("runs", 0, "runs per treatment (plan.runs)")
	fs.Int("warmup", 0, "discarded runs per treatment (plan.warmup)")
	fs.String("idle", "", "gap before every run, as 5s (plan.idle)")
	fs.String("order", "", "shuffled, interleaved or sequential (plan.order)")
	fs.Uint64("seed", 0, "seed of the order (plan.seed)")
	fs.String("timeout", "", "bound of one run, as 2m (plan.timeout)")
	fs.Int("retries", 0, "further attempts at a failed or void run (plan.retries)")
	fs.String("baseline", "", "the mode that others are compared with (plan.baseline)")
}

// addCommandFlags are the flags that describe `run -- COMMAND`.
func addCommandFlags(fs *pflag.FlagSet, f *runFlags) {
	fs.IntVarP(&f.n, "n", "n", 1, "CPUs that modes taskset and goset take; with -- COMMAND only")
	fs.StringSliceVar(&f.modes, "modes", []string{"unpinned", "taskset", "goset"}, "modes to compare; with -- COMMAND only")
}

// addRunningFlags are the preferences about how a session behaves.
func addRunningFlags(fs *pflag.FlagSet) {
	fs.String("results", defaultResults, "folder below which result folders are made")
	fs.Bool("best-effort", false, "run without the layers that cannot be held, and say so; never as another user or on other CPUs than are named")
	addUserFlag(fs)
	fs.String("wait", "0s", "how long to wait while another session has this machine, as 10m")
	fs.String("state", isolation.DefaultState, "folder of the journal that changes to the machine are undone from")
	fs.String("lock", isolation.DefaultLock, "existing file whose lock is taken; sessions in containers can share one")
	fs.Bool("watch", false, "on a terminal: show the table and a strip of the runs while they come")
	fs.Bool("quiet", false, "no progress; the table alone")
	fs.String("color", "auto", "auto, always or never")
}

// addUserFlag is the preference of taskUser.
func addUserFlag(fs *pflag.FlagSet) {
	fs.String("user", "", "user that runs the tasks of modes that name none, the commands of conditions, git and go; root keeps root (default: sudo's caller)")
}

// runExperiment is `run` from arguments to exit code.
func (a *app) runExperiment(cmd *cobra.Command, args []string, f *runFlags) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	if err := f.table.prefer(prefs); err != nil {
		return err
	}
	src, err := chooseSource(cmd, args, f)
	if err != nil {
		return err
	}
	return a.runSource(cmd, prefs, src, f)
}

// runSource runs a source to its end.
func (a *app) runSource(cmd *cobra.Command, prefs *preferences, src source, f *runFlags) error {
	return a.runTrial(cmd, prefs, src, &trial{set: f.set, output: f.output, table: &f.table})
}

// trial is how a source is run, and what comes of it.
type trial struct {
	set    []string // overrides of the experiment's keys
	output string   // result folder; "": a new one
	suffix string   // of a new folder's name
	table  *tableFlags
	// after reports on the folder instead of the tables; nil: the tables.
	after func(context.Context, *harness.Results, tableStyle) error
}

// runTrial takes the machine, refuses what cannot be run here, and runs the
// rest.
func (a *app) runTrial(cmd *cobra.Command, prefs *preferences, src source, t *trial) error {
	e, opt, err := src.load(prefs, t.set)
	if err != nil {
		return err
	}
	w, err := a.newWork(cmd.Context(), prefs)
	if err != nil {
		return err
	}
	defer w.close()
	w.after = t.after
	if e, opt, err = w.fitted(cmd.Context(), prefs, src, t.set, e, opt); err != nil {
		return err
	}
	plan, err := makePlan(e)
	if err != nil {
		return err
	}
	if err := w.admit(e); err != nil {
		return err
	}
	if err := w.warnFew(e, plan); err != nil {
		return err
	}
	if err := w.checkBounds(e, t.table); err != nil {
		return err
	}
	results := prefs.text("results", defaultResults)
	dir, err := resultFolder(t.output, results, e.Name+t.suffix, time.Now())
	if err != nil {
		return err
	}
	s := w.session(e, dir)
	if t.output == "" && results == defaultResults {
		s.Ignored = results
	}
	s.Plan, s.Provenance = plan, provenance(src, opt)
	return w.execute(cmd.Context(), t.table, func(ctx context.Context) (harness.Summary, error) {
		return harness.Execute(ctx, s)
	})
}

// fitted is an experiment as it is run here: with packages for their patterns,
// and without treatments that take more CPUs than there are, where that is
// allowed.
func (w *work) fitted(ctx context.Context, prefs *preferences, src source, set []string, e *harness.Experiment, opt harness.LoadOptions) (*harness.Experiment, harness.LoadOptions, error) {
	packages, err := w.prepareGo(ctx, e, true)
	if err != nil {
		return nil, opt, err
	}
	set = slices.Concat(set, packages)
	if len(packages) > 0 {
		if e, opt, err = src.load(prefs, set); err != nil {
			return nil, opt, err
		}
	}
	left, said, err := leaveOut(e, w.bestEffort)
	if err != nil {
		return nil, opt, err
	}
	for _, text := range said {
		w.say("warning: " + text)
	}
	if len(left) > 0 {
		return src.load(prefs, set, left...)
	}
	return e, opt, nil
}

// warnFew says before the first run that no outcome of so many rounds could be
// resolved.
func (w *work) warnFew(e *harness.Experiment, p *harness.Plan) error {
	why, err := report.Planned(e, p)
	if err != nil {
		return failed(err)
	}
	if why != "" && !w.progress.quiet {
		w.say(fewRounds(why))
	}
	return nil
}

// chooseSource tells an experiment from a command behind "--".
func chooseSource(cmd *cobra.Command, args []string, f *runFlags) (source, error) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		if at > 0 {
			return source{}, usagef("cannot run both experiment %q and a command: give one of them", args[0])
		}
		if len(args) == 0 {
			return source{}, usagef("cannot run: no command after --")
		}
		if f.n < 1 {
			return source{}, usagef("cannot use -n %d: want 1 or more CPUs", f.n)
		}
		if len(f.modes) == 0 {
			return source{}, usagef("cannot use -modes \"\": want one or more of %s", strings.Join(harness.KnownModes(), ", "))
		}
		return commandSource(args, f)
	}
	for _, name := range []string{"n", "modes"} {
		if cmd.Flags().Changed(name) {
			return source{}, usagef("cannot use -%s with an experiment: it is for \"run -- COMMAND\"; use -set, as in -set mode.goset.n=2", name)
		}
	}
	if len(args) != 1 {
		return source{}, usagef("cannot run: want one experiment or -- COMMAND, got %d arguments", len(args))
	}
	return findSource(args[0])
}

// commandSource writes the experiment that measures one command.
func commandSource(argv []string, f *runFlags) (source, error) {
	text, err := harness.CommandText(argv, harness.CommandOptions{N: f.n, Modes: f.modes})
	if err != nil {
		return source{}, &exitError{exitUsage, err}
	}
	return source{name: filepath.Base(argv[0]) + ".toml", text: text}, nil
}

// makePlan expands an experiment; the seed is drawn where none was given.
func makePlan(e *harness.Experiment) (*harness.Plan, error) {
	var drawn [4]byte
	if _, err := rand.Read(drawn[:]); err != nil {
		return nil, failed(fmt.Errorf("cannot draw a seed: %v", err))
	}
	p, err := e.Expand(e.Plan.SeedOr(uint64(binary.LittleEndian.Uint32(drawn[:]))))
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return p, nil
}

// resultFolder names the folder of a run: what -o says, or the experiment and
// the second, with a number where that is taken.
func resultFolder(output, results, name string, now time.Time) (string, error) {
	if output != "" {
		return output, nil
	}
	base := filepath.Join(results, name+"-"+now.Format("20060102-150405"))
	dir := base
	for i := 2; ; i++ {
		if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
			return dir, nil
		} else if err != nil {
			return "", failed(fmt.Errorf("cannot make result folder: %v", err))
		}
		dir = fmt.Sprintf("%s-%d", base, i)
	}
}

// provenance is what the manifest says about this start.
func provenance(src source, opt harness.LoadOptions) harness.Provenance {
	p := harness.Provenance{Tool: cli.Version(), Source: src.path, Argv: os.Args, Host: hostFacts(), Settings: map[string]string{}}
	for _, s := range opt.Overrides {
		p.Overrides = append(p.Overrides, s.Key+"="+s.Value)
		p.Settings[s.Key] = s.Origin
	}
	for _, s := range opt.Defaults {
		p.Overrides = append(p.Overrides, s.Key+"?="+s.Value)
		p.Settings[s.Key] = s.Origin
	}
	return p
}

// recordedOptions reads back what provenance wrote: "key=value" for what won
// over the file and "key?=value" for what applied where the file was silent.
func recordedOptions(overrides []string) harness.LoadOptions {
	var opt harness.LoadOptions
	for _, o := range overrides {
		key, value, _ := strings.Cut(o, "=")
		if silent, ok := strings.CutSuffix(key, "?"); ok {
			opt.Defaults = append(opt.Defaults, harness.Setting{Key: silent, Value: value})
			continue
		}
		opt.Overrides = append(opt.Overrides, harness.Setting{Key: key, Value: value})
	}
	return opt
}
