package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"goset/harness"
	"goset/host"
	"goset/host/doctor"
	"goset/isolation"
	"goset/stats"
)

// The kernel's iterations under doctor: short enough that what comes between
// stands out, and long enough that reading the clock does not.
const (
	jitterSteps    = 60_000 // about 0.1 ms
	jitterTrial    = 50     // iterations that show how long one takes
	jitterMost     = 10_000_000
	jitterLine     = 128 // bytes that an iteration prints at most
	jitterOverhead = time.Minute
)

// measured runs the kernel for so long, unpinned: what a benchmark meets here.
// It takes the machine's lock, since it would disturb another session as that
// would disturb it. 0: not asked for.
func (a *app) measured(ctx context.Context, prefs *preferences, over time.Duration) (j *doctor.Jitter, err error) {
	if over == 0 {
		return nil, nil
	}
	opt, err := a.isolationOptions(prefs)
	if err != nil {
		return nil, err
	}
	session, err := isolation.Open(ctx, opt)
	if err != nil {
		return nil, failed(fmt.Errorf("cannot measure: %w", err))
	}
	runner, err := harness.NewRunner()
	if err != nil {
		return nil, failed(errors.Join(err, session.Close()))
	}
	runner.Use(session)
	defer func() {
		if closed := errors.Join(runner.Close(), session.Close()); closed != nil {
			j, err = nil, failed(errors.Join(err, closed))
		}
	}()
	trial, _, err := jitterRun(ctx, runner, jitterTrial, over)
	if err != nil {
		return nil, failed(err)
	}
	median, err := stats.Median(trial)
	if err != nil || !median.OK || median.V <= 0 {
		return nil, failed(fmt.Errorf("cannot measure: the kernel jitter gave no times"))
	}
	n := min(max(int(over.Seconds()/median.V), 1), jitterMost)
	before, statErr := host.Local.Stat()
	times, res, err := jitterRun(ctx, runner, n, over)
	if err != nil {
		return nil, failed(err)
	}
	if j, err = jitterOf(times, &res); err != nil {
		return nil, failed(err)
	}
	// Where there is no /proc, nobody knows of stolen time.
	if after, err := host.Local.Stat(); err == nil && statErr == nil {
		j.Steal = after.StealSince(before, res.Wall)
	}
	return j, nil
}

// jitterRun runs the kernel in a process of its own, as experiments do, and
// gives the times of its iterations in seconds.
func jitterRun(ctx context.Context, runner *harness.Runner, n int, over time.Duration) ([]float64, harness.Result, error) {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	res, err := runner.Execute(ctx, harness.Job{
		Argv:    []string{self, "workload", "jitter", "-steps", strconv.Itoa(jitterSteps), "-iterations", strconv.Itoa(n)},
		Env:     os.Environ(),
		Timeout: 2*over + jitterOverhead, OutputLimit: int64(n)*jitterLine + 1<<16,
	})
	switch {
	case err != nil:
		return nil, res, fmt.Errorf("cannot run the kernel jitter: %w", err)
	case res.Interrupted:
		return nil, res, context.Canceled
	case res.TimedOut:
		return nil, res, fmt.Errorf("cannot measure: the kernel jitter did not end within %s", 2*over+jitterOverhead)
	case res.Exit != 0:
		return nil, res, fmt.Errorf("cannot measure: the kernel jitter exited with %d: %.500s", res.Exit, res.Stderr.Head)
	}
	x, err := harness.NewExtractor(harness.Workload{Name: "jitter", Kernel: "jitter"})
	if err != nil {
		return nil, res, err
	}
	values, err := x.Extract(res)
	if err != nil {
		return nil, res, err
	}
	if values.Void != "" {
		return nil, res, fmt.Errorf("cannot measure: %s", values.Void)
	}
	return values.Iterations["time"], res, nil
}

// jitterOf sums up the times of iterations.
func jitterOf(times []float64, res *harness.Result) (*doctor.Jitter, error) {
	j := &doctor.Jitter{Over: res.Wall, Iterations: len(times), Involuntary: res.Involuntary}
	if len(times) == 0 {
		return nil, errors.New("cannot measure: the kernel jitter gave no times")
	}
	lost, err := stats.Lost(times)
	if err != nil {
		return nil, err
	}
	if !lost.OK {
		return nil, fmt.Errorf("cannot measure: %s", lost.Why)
	}
	j.Lost, j.Max = lost.V, slices.Max(times)
	for _, q := range []struct {
		p  float64
		to *float64
	}{{0.5, &j.Median}, {0.99, &j.P99}, {0.999, &j.P999}} {
		v, err := stats.Quantile(times, q.p, stats.DefaultQuantile)
		if err != nil {
			return nil, err
		}
		*q.to = v.V
	}
	for _, t := range times {
		if t >= 2*j.Median {
			j.Long++
		}
	}
	return j, nil
}
