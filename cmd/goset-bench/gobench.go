package main

import (
	"context"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"

	"goset/experiments"
	"goset/harness"
	"goset/isolation"
)

// goFlags are the flags of `go`.
type goFlags struct {
	run  runFlags
	opts harness.GoOptions
	mem  bool
}

func (a *app) goCommand() *cobra.Command {
	var f goFlags
	cmd := &cobra.Command{
		Use:   "go [flags] [PACKAGE...]",
		Short: "Compare Go benchmarks of refs, toolchains or modes",
		Long: `go builds the benchmarks of every ref once, runs the sides alternately in
randomized rounds, one process and one line per benchmark a run, and says
what changed and how sure that is. A ref is a commit, a branch or a tag; "."
is the working tree as it is. The checkout, its index, stash and branches are
not touched: refs are built elsewhere, and nothing is left of it.

Under sudo, git and go run as sudo's caller, as the benchmarks do; -user names
somebody else.

-fail-on "ns/op>3%" exits with 3 when a change is beyond the bound for sure;
where that cannot be told it says so and exits with 0, with -strict with 4.

` + modesHelp,
		Example: `  goset-bench go -ref main -ref . -bench MakeBuffer -runs 20 ./...
  goset-bench go -ref v1.2.0 -ref HEAD -fail-on 'ns/op>3%' -fail-on 'allocs/op>0' -format github
  goset-bench go -toolchain go1.25.4 -toolchain go1.26.0 ./parse`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.goBenchmarks(cmd, args, &f) },
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&f.opts.Refs, "ref", nil, "commit, branch or tag to build; \".\" is the working tree; the first one is what others are compared with")
	fs.StringVar(&f.opts.Bench, "bench", "", "benchmarks to run, as go test -bench; default: all")
	fs.StringVar(&f.opts.Benchtime, "benchtime", "", "time or iterations of each benchmark, as 1s or 100x")
	fs.IntSliceVar(&f.opts.CPU, "cpu", nil, "GOMAXPROCS of the benchmarks, each a factor")
	fs.BoolVar(&f.mem, "benchmem", true, "measure allocations")
	fs.StringVar(&f.opts.Tags, "tags", "", "build tags, as go build -tags")
	fs.StringVar(&f.opts.GCFlags, "gcflags", "", "flags of the compiler, as go build -gcflags")
	fs.StringVar(&f.opts.LDFlags, "ldflags", "", "flags of the linker, as go build -ldflags")
	fs.StringVar(&f.opts.Dir, "dir", "", "folder of the module")
	fs.StringArrayVar(&f.opts.Toolchains, "toolchain", nil, "toolchain to build with, as GOTOOLCHAIN")
	fs.BoolVar(&f.opts.RandLayout, "randlayout", false, "link a binary per round, each with another order of functions")
	fs.StringVar(&f.opts.Procs, "procs", "", "GOMAXPROCS of the process: a number, or same for the smallest of all modes")
	addPlanFlags(fs, &f.run.set)
	fs.IntVarP(&f.opts.N, "n", "n", 1, "CPUs that modes taskset and goset take")
	fs.StringSliceVar(&f.opts.Modes, "modes", []string{"unpinned"}, "modes to run under: unpinned, taskset, goset")
	addRunningFlags(fs)
	fs.StringVarP(&f.run.output, "output", "o", "", "result folder; default: a new one below -results")
	f.run.table.add(fs)
	f.run.table.addFormat(fs)
	return cmd
}

func (a *app) goBenchmarks(cmd *cobra.Command, args []string, f *goFlags) error {
	prefs, err := readPreferences(cmd.Flags())
	if err != nil {
		return err
	}
	if err := f.run.table.prefer(prefs); err != nil {
		return err
	}
	f.opts.Packages, f.opts.NoBenchmem = args, !f.mem
	if !cmd.Flags().Changed("n") {
		f.opts.N = 0
	}
	text, err := harness.GoText(f.opts)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return a.runSource(cmd, prefs, source{name: "go.toml", text: text}, &f.run)
}

// prepareGo makes the builder of an experiment's Go benchmarks, and gives the
// settings that replace package patterns by packages.
func (w *work) prepareGo(parent context.Context, e *harness.Experiment, expand bool) ([]string, error) {
	if !slices.ContainsFunc(e.Workloads, func(w harness.Workload) bool { return w.Go != nil }) {
		return nil, nil
	}
	user, err := w.buildUser(e)
	if err != nil {
		return nil, err
	}
	w.builder, err = harness.NewGoBuilder(harness.BuilderOptions{
		Env: os.Environ(), User: user, Sweeper: selfArgv(sweepWord), Bundled: experiments.Benchmarks(),
	})
	if err != nil {
		return nil, failed(err)
	}
	if !expand {
		return nil, nil
	}
	ctx, stop := signal.NotifyContext(parent, endings()...)
	defer stop()
	settings, err := harness.PackageSettings(e, func(t harness.GoTask, bench string) ([]string, error) {
		return w.builder.Packages(ctx, t, bench)
	})
	if err != nil {
		return nil, failed(err)
	}
	var set []string
	for _, s := range settings {
		set = append(set, s.Key+"="+s.Value)
	}
	return set, nil
}

// buildUser is whom git and go run as: the user of the tasks whose mode names
// nobody. A mode's own user has a right to run what was built, and need not have
// one to the files that it is built from. Where the tasks cannot run as that user
// nothing is run.
func (w *work) buildUser(e *harness.Experiment) (string, error) {
	if w.user == "" || len(isolation.Check(isolation.Mode{User: w.user})) == 0 {
		return w.user, nil
	}
	findings, err := layerFindings(e, w.bestEffort, w.user)
	if err != nil {
		return "", err
	}
	if err := refusal(e, findings); err != nil {
		return "", err
	}
	return w.user, nil // which no task runs as, and the builder refuses
}
