package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"goset/cpulist"
	"goset/harness"
	"goset/host"
	"goset/isolation"
	"goset/report"
)

// work is what running, as against reading, needs: the runner of children, the
// chooser of CPUs and a terminal for progress.
type work struct {
	*app
	runner     *harness.Runner
	builder    *harness.GoBuilder // nil: no Go benchmarks
	allowed    cpulist.Set
	bestEffort bool
	progress   *progress
	table      tableStyle
}

func (a *app) newWork(prefs *preferences) (*work, error) {
	bestEffort, err := prefs.on("best-effort")
	if err != nil {
		return nil, err
	}
	quiet, err := prefs.on("quiet")
	if err != nil {
		return nil, err
	}
	style, err := a.style(prefs)
	if err != nil {
		return nil, err
	}
	// Where there is no affinity there is nothing to rotate through, and
	// isolation refuses the modes that would want it by name.
	allowed, err := isolation.Allowed()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, failed(err)
	}
	runner, err := harness.NewRunner()
	if err != nil {
		return nil, failed(err)
	}
	return &work{app: a, runner: runner, allowed: allowed, bestEffort: bestEffort,
		progress: newProgress(a.stderr, quiet), table: style}, nil
}

func (w *work) close() {
	if w.builder != nil {
		if err := w.builder.Close(); err != nil {
			fmt.Fprintf(w.stderr, "goset-bench: %v\n", err)
		}
	}
	if err := w.runner.Close(); err != nil {
		fmt.Fprintf(w.stderr, "goset-bench: %v\n", err)
	}
}

// admit refuses an experiment with a layer that cannot be held, all of them by
// name, before anything runs.
func (w *work) admit(e *harness.Experiment) error {
	findings, err := layerFindings(e, w.bestEffort)
	if err != nil {
		return err
	}
	for _, f := range findings.Warnings() {
		fmt.Fprintf(w.stderr, "goset-bench: warning: %v; going on without it\n", f)
	}
	if err := findings.Err(); err != nil {
		return failed(fmt.Errorf("cannot run experiment %q here:\n%w\nRun it without them: -best-effort, or -set %s", e.Name, err, withoutLayer(findings)))
	}
	return nil
}

// withoutLayer is the setting that would leave out the first refused layer.
func withoutLayer(findings isolation.Findings) string {
	f := findings.Refused()[0]
	return fmt.Sprintf("mode.%s.optional='[%q]'", f.Mode, f.Layer)
}

// layerFindings asks isolation about every mode that the treatments use, and
// drops what another treatment of the same mode has said already.
func layerFindings(e *harness.Experiment, bestEffort bool) (isolation.Findings, error) {
	treatments, err := e.Treatments()
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	var all isolation.Findings
	for _, t := range treatments {
		layers := t.Layers
		if bestEffort {
			layers = layers.BestEffort()
		}
		for _, f := range isolation.Check(layers) {
			if !slices.ContainsFunc(all, func(g *isolation.Unsupported) bool { return g.Error() == f.Error() }) {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// session is what Execute and Resume have in common.
func (w *work) session(e *harness.Experiment, dir string) harness.Session {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	s := harness.Session{
		Experiment: e, Dir: dir,
		Executor: w.runner, Chooser: harness.NewChooser(host.Local), Extractor: harness.NewExtractor,
		Self: []string{self, "workload"}, Env: os.Environ(), Allowed: w.allowed,
		BestEffort: w.bestEffort, Events: w.progress.event, Quiet: w.runner.Quiet,
	}
	if w.builder != nil {
		s.Builder = w.builder
	}
	// Not a nil *Stopper in the interface.
	if stop := report.NewStopper(e); stop != nil {
		s.Stopper = stop
	}
	return s
}

// execute runs a session under signals, then writes the derived files and
// prints the table, also of an experiment that was interrupted.
func (w *work) execute(parent context.Context, flags *tableFlags, session func(context.Context) (harness.Summary, error)) error {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	// A closed pipe is an error of the write and must not kill the harness in
	// the middle of a run. Notify and not Ignore: a child would inherit that.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	sum, err := session(ctx)
	w.progress.end()
	interrupted := errors.Is(err, harness.ErrInterrupted)
	var changed *harness.ChangedError
	switch {
	case errors.As(err, &changed):
		return &exitError{exitUsage, err}
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, err}
	case err != nil && !interrupted:
		return failed(err)
	}
	// A second Ctrl-C ends the writing of tables as it would end any program.
	stop()
	finished := w.finish(parent, sum, flags)
	if finished != nil && !isGate(finished) {
		return finished
	}
	if err := verdict(sum, interrupted); err != nil {
		return err
	}
	return finished
}

// finish writes the derived files and prints the tables.
func (w *work) finish(ctx context.Context, sum harness.Summary, flags *tableFlags) error {
	results, err := harness.OpenResults(sum.Dir)
	if err != nil {
		return failed(err)
	}
	return w.write(ctx, results, sum.Dir, flags, w.table)
}

// verdict turns a summary into the exit code.
func verdict(sum harness.Summary, interrupted bool) error {
	switch {
	case interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %d runs; go on with: goset-bench resume %s",
			sum.Measured.Sum()+sum.Warmup.Sum(), sum.Total, sum.Dir)}
	case sum.Failed() > 0:
		return failed(fmt.Errorf("%d of %d runs failed; their output is in %s", sum.Failed(), sum.Total, sum.Dir))
	case sum.Void() > 0:
		return failed(fmt.Errorf("%d of %d runs are void; the reasons are below the tables and in %s", sum.Void(), sum.Total, sum.Dir))
	}
	return nil
}

// hostFacts describes the machine for the manifest. What could not be read is
// absent from the facts or named in them.
func hostFacts() json.RawMessage {
	text, err := json.Marshal(host.ReadFacts(host.Local))
	if err != nil {
		return nil
	}
	return text
}
