package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
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
	user       string             // see taskUser
	isolation  *isolation.Session // nil: the machine is free again
	progress   *progress
	table      tableStyle
	// after reports on the folder instead of the tables; nil: the tables.
	after func(context.Context, *harness.Results, tableStyle) error
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

// session is what Execute and Resume have in common.
func (w *work) session(e *harness.Experiment, dir string) harness.Session {
	s := harness.Session{
		Experiment: e, Dir: dir,
		Executor: w.runner, Chooser: harness.NewChooser(host.Local), Extractor: harness.NewExtractor,
		Self: kernelArgv(), Env: os.Environ(), Allowed: w.allowed,
		User:       w.user,
		BestEffort: w.bestEffort, Events: w.progress.event, Quiet: w.runner.Quiet,
	}
	if w.builder != nil {
		s.Builder = w.builder
	}
	if e.HasLoad() {
		s.Loader = &harness.Background{Keeper: selfArgv(loadWord), Allowed: w.allowed, Env: os.Environ(), Host: host.Local}
	}
	// Not a nil *Stopper in the interface.
	if stop := report.NewStopper(e); stop != nil {
		s.Stopper = stop
	}
	return s
}

// kernelArgv starts a bundled kernel, whose name follows.
func kernelArgv() []string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return []string{self, "workload"}
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
