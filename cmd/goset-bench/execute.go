package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"goset/harness"
	"goset/report"
)

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
		err := w.after(ctx, results, w.table)
		fmt.Fprintf(w.stdout, "results: %s\n", sum.Dir)
		return err
	}
	opt, err := flags.options(results.Manifest)
	if err != nil {
		return err
	}
	_, missing := os.Stat(filepath.Join(sum.Dir, report.PageFile))
	return w.write(ctx, results, opt, flags, lasted >= pageAfter || missing == nil, cmp.Or(flags.format, "text"), w.table)
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
