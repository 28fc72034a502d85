package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"goset/cpulist"
	"goset/isolation"
)

// checkLoads refuses loads that nothing here could start; their commands are
// checked with those of the workloads.
func (l *loop) checkLoads() error {
	var errs []error
	seen := map[string]bool{}
	for i := range l.Plan.Treatments {
		t := &l.Plan.Treatments[i]
		if t.Load.None() || seen[t.Condition] {
			continue
		}
		seen[t.Condition] = true
		if l.Loader == nil {
			errs = append(errs, fmt.Errorf("cannot run condition %q: nothing is known that could start its load", t.Condition))
		}
	}
	return errors.Join(errs...)
}

// loadArgv is a load's command with its program's path; relative ones start at
// the experiment's folder.
func (l *loop) loadArgv(t *Treatment) ([]string, error) {
	argv := slices.Clone(t.Load.Command)
	if name := argv[0]; strings.Contains(name, "/") && !filepath.IsAbs(name) {
		abs, err := filepath.Abs(filepath.Join(l.Experiment.Dir, name))
		if err != nil {
			return nil, err
		}
		argv[0] = abs
	}
	return argv, nil
}

// startLoad brings up the load of a run; nil: it has none.
func (l *loop) startLoad(ctx context.Context, t *Treatment, job *Job, cpus cpulist.Set) (RunningLoad, error) {
	if t.Load.None() {
		return nil, nil
	}
	spec := t.Load
	if len(spec.Command) > 0 {
		argv, err := l.loadArgv(t)
		if err != nil {
			return nil, err
		}
		spec.Command = argv
	}
	m := &t.Layers
	load, err := l.Loader.Start(ctx, &spec, LoadTask{
		CPUs: cpus, Fence: m.Fence, Dir: l.Experiment.Dir, User: l.User,
		Outranks: m.FIFO > 0 || m.Nice != nil && *m.Nice < 0,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot start the load of condition %q: %w", t.Condition, err)
	}
	// Until the executor knows better: it calls when the layers are in force,
	// and when the task has ended and they are still.
	load.Begin()
	h := &hurry{}
	job.Starting = load.Begin
	job.Started = func(int) { h.begin() }
	job.Ended = func(int) { h.end(); load.End() }
	return hurried{load, h}, nil
}

// hurry lets the thread that waits for a task beside a load notice its end at
// once: on a CPU that spinners share, a thread that is woken waits for up to a
// turn of theirs, and those 3 ms would be a part of the task's wall time. It is
// begun after the task was made, which would inherit it, by the thread that
// waits.
type hurry struct {
	leave func() error
	err   error
}

func (h *hurry) begin() { h.leave, h.err = isolation.Hurry() }

func (h *hurry) end() {
	if h.leave != nil {
		h.err = h.leave()
	}
}

// hurried is a load with how the waiting for its task went.
type hurried struct {
	RunningLoad
	*hurry
}

// stopLoad ends the load of a run and puts into its record what that got.
func (l *loop) stopLoad(load RunningLoad, res *Result, r *Record) {
	if load == nil {
		return
	}
	load.End()
	states, err := load.Stop()
	if err != nil {
		// What could not be ended may disturb the runs that follow.
		r.Warnings = append(r.Warnings, err.Error())
		l.warn(err.Error())
	}
	if h, ok := load.(hurried); ok && h.err != nil && !l.late {
		l.late = true
		l.warn(fmt.Sprintf("the end of a task beside a load may be noticed late, by some ms that count as its wall time: %v", h.err))
	}
	r.Load = states
	if len(states) == 0 {
		return
	}
	// The counters may be the executor's own.
	if res.Counters = maps.Clone(res.Counters); res.Counters == nil {
		res.Counters = map[string]float64{}
	}
	for _, s := range states {
		if s.Window > 0 {
			res.Counters[CounterLoad] += float64(s.Time) / float64(s.Window)
		}
	}
}

// loads makes a run void whose load was not what it should have been.
func (r *Record) loads() {
	for _, s := range r.Load {
		if s.Note != "" {
			r.Warnings = append(r.Warnings, fmt.Sprintf("load of condition %q: %s", r.Condition, s.Note))
		}
		if s.Fault != "" {
			r.voids(fmt.Sprintf("load of condition %q: %s", r.Condition, s.Fault))
		}
	}
}
