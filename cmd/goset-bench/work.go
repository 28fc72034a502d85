package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"goset/cpulist"
	"goset/harness"
	"goset/host"
	"goset/isolation"
	"goset/rank"
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
	user       string             // who runs the tasks of modes that name nobody
	isolation  *isolation.Session // nil: the machine is free again
	progress   *progress
	table      tableStyle
	// after reports on the folder instead of the tables; nil: the tables.
	after func(context.Context, *harness.Results) error
}

// newWork takes the machine, so that what is learned of it from here on is not
// what another session made of it.
func (a *app) newWork(ctx context.Context, prefs *preferences) (*work, error) {
	bestEffort, err := prefs.on("best-effort")
	if err != nil {
		return nil, err
	}
	quiet, err := prefs.on("quiet")
	if err != nil {
		return nil, err
	}
	watching, err := prefs.on("watch")
	if err != nil {
		return nil, err
	}
	machine, err := a.isolationOptions(prefs)
	if err != nil {
		return nil, err
	}
	style, err := a.style(prefs)
	if err != nil {
		return nil, err
	}
	w := &work{app: a, bestEffort: bestEffort, user: taskUser(prefs), progress: newProgress(a.stderr, quiet), table: style}
	if watching {
		// The style is that of stdout, which may be a file while this is a terminal.
		color := style.color || prefs.text("color", "auto") == "auto" && os.Getenv("NO_COLOR") == ""
		w.progress.watch = newWatch(a.stderr, color)
	}
	if err := w.open(ctx, machine); err != nil {
		return nil, err
	}
	if err := w.prepare(); err != nil {
		return nil, failed(errors.Join(err, w.isolation.Close()))
	}
	return w, nil
}

// open takes the machine. That may be a long wait for another session, which a
// signal ends as it ends runs.
func (w *work) open(parent context.Context, machine isolation.Options) error {
	ctx, stop := signal.NotifyContext(parent, endings()...)
	defer stop()
	var err error
	if w.isolation, err = isolation.Open(ctx, machine); err != nil && ctx.Err() == nil {
		return failed(err)
	}
	if ctx.Err() == nil {
		return nil
	}
	interrupted := errors.New("interrupted before the first run")
	if err == nil {
		interrupted = errors.Join(interrupted, w.isolation.Close())
	}
	return &exitError{exitInterrupted, interrupted}
}

// endings are the signals that interrupt what is going on. A hangup that was
// ignored from the start stays so: that is what nohup asks for.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// prepare makes the runner of children.
func (w *work) prepare() error {
	// Where there is no affinity there is nothing to rotate through, and
	// isolation refuses the modes that would want it by name.
	allowed, err := isolation.Allowed()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	w.allowed = allowed
	if w.runner, err = harness.NewRunner(); err != nil {
		return err
	}
	w.runner.Use(w.isolation)
	return nil
}

func (w *work) close() {
	if w.builder != nil {
		if err := w.builder.Close(); err != nil {
			w.say(err.Error())
		}
	}
	if err := w.release(); err != nil {
		w.say(err.Error())
	}
	if err := w.runner.Close(); err != nil {
		fmt.Fprintf(w.stderr, "goset-bench: %v\n", err)
	}
}

// release undoes what is still changed on the machine and frees it for others.
func (w *work) release() error {
	s := w.isolation
	w.isolation = nil
	w.runner.Use(nil)
	return s.Close()
}

// admit refuses an experiment with a kernel that cannot run or a layer that
// cannot be held here, all of them by name, before anything runs.
func (w *work) admit(e *harness.Experiment) error {
	kernels, err := kernelFindings(e)
	if err != nil {
		return err
	}
	if len(kernels) > 0 {
		return failed(fmt.Errorf("cannot run experiment %q here:\n%w", e.Name, errors.Join(kernels...)))
	}
	findings, err := layerFindings(e, w.bestEffort, w.user)
	if err != nil {
		return err
	}
	for _, f := range findings.Warnings() {
		fmt.Fprintf(w.stderr, "goset-bench: warning: %v; going on without it\n", f)
	}
	if err := findings.Err(); err != nil {
		return failed(fmt.Errorf("cannot run experiment %q here:\n%w\nRun it without them: -best-effort, or %s", e.Name, err, withoutLayers(findings)))
	}
	if faults := loadFaults(e, w.allowed); len(faults) > 0 {
		return failed(fmt.Errorf("cannot run experiment %q here:\n%w", e.Name, errors.Join(faults...)))
	}
	w.isolation.Share(e.Plan.Sticky)
	return nil
}

// loadFaults asks of every treatment whether its background load has a place
// on these CPUs.
func loadFaults(e *harness.Experiment, allowed cpulist.Set) []error {
	treatments, err := e.Treatments()
	if err != nil {
		return nil // said by layerFindings
	}
	var faults []error
	for i := range treatments {
		err := treatments[i].LoadFits(allowed)
		if err != nil && !slices.ContainsFunc(faults, func(f error) bool { return f.Error() == err.Error() }) {
			faults = append(faults, err)
		}
	}
	return faults
}

// taskUser is who runs the tasks of modes that name nobody: root is not theirs
// to have when somebody else is known.
func taskUser(prefs *preferences) string {
	return prefs.text("user", isolation.SudoCaller(os.Getenv, os.Geteuid()))
}

// withoutLayers are the settings that leave out every refused layer. optional
// replaces the list of the mode, so that what was optional before stays in it.
func withoutLayers(findings isolation.Findings) string {
	var modes, settings []string
	for _, f := range findings.Refused() {
		if !slices.Contains(modes, f.Mode) {
			modes = append(modes, f.Mode)
		}
	}
	for _, mode := range modes {
		var layers []string
		for _, f := range findings {
			if layer := strconv.Quote(f.Layer); f.Mode == mode && !slices.Contains(layers, layer) {
				layers = append(layers, layer)
			}
		}
		settings = append(settings, fmt.Sprintf("-set mode.%s.optional='[%s]'", mode, strings.Join(layers, ", ")))
	}
	return strings.Join(settings, " ")
}

// layerFindings asks isolation about every mode that the treatments use, and
// drops what another treatment of the same mode has said already.
func layerFindings(e *harness.Experiment, bestEffort bool, user string) (isolation.Findings, error) {
	treatments, err := e.Treatments()
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	var all isolation.Findings
	for _, t := range treatments {
		layers := t.Layers
		if layers.User == "" {
			layers.User = user
		}
		if bestEffort {
			layers = layers.BestEffort()
		}
		found := isolation.Check(layers)
		if !slices.ContainsFunc(found, func(f *isolation.Unsupported) bool { return f.Layer == "cpus" }) {
			found = append(found, choiceFinding(layers)...)
		}
		for _, f := range found {
			if !slices.ContainsFunc(all, func(g *isolation.Unsupported) bool { return g.Error() == f.Error() }) {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// choiceFinding asks whether the quietest CPUs can be found here, of a mode
// whose CPUs can be had at all.
func choiceFinding(layers isolation.Mode) isolation.Findings {
	if layers.CPUs != "quietest" {
		return nil
	}
	err := harness.NewChooser(host.Local).Check(layers)
	var refused *rank.Refused
	if err == nil || errors.As(err, &refused) || errors.Is(err, host.ErrUnsupported) {
		return nil
	}
	return isolation.Findings{{
		Mode: layers.Name, Layer: "cpus", Reason: err.Error(), Optional: slices.Contains(layers.Optional, "cpus"),
		Hint: `cpus = "quietest" ranks them by /proc/interrupts; name them, or take "rotate"`,
	}}
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
		User:       w.user,
		BestEffort: w.bestEffort, Events: w.progress.event, Quiet: w.runner.Quiet,
	}
	if w.builder != nil {
		s.Builder = w.builder
	}
	if e.HasLoad() {
		s.Loader = &harness.Background{Keeper: loadArgv(), Allowed: w.allowed, Env: os.Environ(), Host: host.Local}
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
	ctx, stop := signal.NotifyContext(parent, endings()...)
	defer stop()
	// A closed pipe is an error of the write and must not kill the harness in
	// the middle of a run. Notify and not Ignore: a child would inherit that.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	start := time.Now()
	sum, err := session(ctx)
	lasted := time.Since(start)
	w.progress.end()
	interrupted := errors.Is(err, harness.ErrInterrupted)
	// While signals are still caught: nothing that comes after needs the
	// machine.
	if rerr := w.release(); rerr != nil {
		return failed(errors.Join(rerr, err))
	}
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
	return outcome(verdict(sum, interrupted), w.finish(parent, sum, flags, lasted))
}

// outcome is the exit code of the runs before that of the tables, and the
// message of both: tables that could not be written do not hide how to go on.
func outcome(runs *exitError, tables error) error {
	switch {
	case runs == nil:
		return tables
	case tables == nil || isGate(tables):
		return runs
	}
	return &exitError{runs.code, errors.Join(tables, runs)}
}

// pageAfter is how long a session has to last for its page to be written
// unasked: the page takes about a tenth of a second, which would be felt after
// a second of very short runs.
const pageAfter = 5 * time.Second

// finish writes the derived files and prints the tables. A page that is there
// already is written anew: it would tell of fewer runs than the folder has.
func (w *work) finish(ctx context.Context, sum harness.Summary, flags *tableFlags, lasted time.Duration) error {
	results, err := harness.OpenResults(sum.Dir)
	if err != nil {
		return failed(err)
	}
	if w.after != nil {
		err := w.after(ctx, results)
		fmt.Fprintf(w.stdout, "results: %s\n", sum.Dir)
		return err
	}
	opt, err := flags.options(results.Manifest)
	if err != nil {
		return err
	}
	r, err := read(ctx, results, opt)
	if err != nil {
		return err
	}
	flags.warn(w.stderr, r.data, opt.Metrics)
	_, err = os.Stat(filepath.Join(sum.Dir, report.PageFile))
	format := cmp.Or(flags.format, "text")
	if err := w.write(ctx, r, sum.Dir, lasted >= pageAfter || err == nil, format, w.table); err != nil {
		return err
	}
	return flags.gate.judge(r.doc)
}

// verdict turns a summary into the exit code.
func verdict(sum harness.Summary, interrupted bool) *exitError {
	switch {
	case interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %d runs; go on with: goset-bench resume %s",
			sum.Measured.Sum()+sum.Warmup.Sum(), sum.Total, sum.Dir)}
	case sum.Failed() > 0:
		return &exitError{exitFailed, fmt.Errorf("%d of %d runs failed; the reasons are below the tables and in %s", sum.Failed(), sum.Total, sum.Dir)}
	case sum.Void() > 0:
		return &exitError{exitFailed, fmt.Errorf("%d of %d runs are void; the reasons are below the tables and in %s", sum.Void(), sum.Total, sum.Dir)}
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
