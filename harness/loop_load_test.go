package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/cpulist"
)

// fakeLoader notes what is asked of it, in order.
type fakeLoader struct {
	log    []string
	tasks  []LoadTask
	err    error
	stop   error
	states []LoadState
}

func (f *fakeLoader) Start(_ context.Context, spec *LoadSpec, beside LoadTask) (RunningLoad, error) {
	f.log = append(f.log, "start "+spec.Spinners+strings.Join(spec.Command, " "))
	f.tasks = append(f.tasks, beside)
	if f.err != nil {
		return nil, f.err
	}
	return f, nil
}

func (f *fakeLoader) Begin() { f.log = append(f.log, "begin") }
func (f *fakeLoader) End()   { f.log = append(f.log, "end") }
func (f *fakeLoader) Stop() ([]LoadState, error) {
	f.log = append(f.log, "stop")
	return f.states, f.stop
}

// loadSession runs text with a fake loader.
func loadSession(t *testing.T, text string) (Session, *fakeExecutor, *fakeLoader) {
	t.Helper()
	s, x := textSession(t, text)
	n := uint64(12)
	l := &fakeLoader{states: []LoadState{{Kind: LoadSpinners, Asked: "all", Processes: 2, CPUs: "0-1", RanOn: "1", Window: 2 * time.Second, Time: 3 * time.Second, Least: 0.5, Wakeups: &n, Note: "n"}}}
	s.Loader, s.Env = l, []string{"PATH=/usr/bin:/bin"}
	return s, x, l
}

const oneLoad = "plan = { runs = 1, warmup = 0, order = \"interleaved\", idle = \"3s\" }\n[workload.w]\ncommand = [\"true\"]\n[mode.a]\n[mode.b]\ncpus = \"1\"\nfifo = 1\n[condition.idle]\n[condition.noisy]\nspinners = \"all\"\n"

// The load comes after the gap, goes round the run, and is gone before the
// record is written; a run without one has none.
func TestLoadGoesRoundTheRun(t *testing.T) {
	s, x, l := loadSession(t, oneLoad)
	clock := s.Clock.(*fakeClock)
	x.answer = func(_ context.Context, n int, job Job) (Result, error) {
		if (job.Starting == nil) != (n < 2) || n >= 2 && job.Ended == nil {
			t.Errorf("run %d: hooks of a load: %v", n, job.Starting != nil)
		}
		if job.Starting != nil {
			// As an executor does: the priority is the thread's.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			job.Starting()
			job.Started(1)
			l.log = append(l.log, fmt.Sprintf("run after %v", clock.slept))
			job.Ended(1)
		}
		return Result{Start: time.Unix(1700000000, 0).UTC(), Wall: time.Second, Counters: map[string]float64{"migrations": 4}}, nil
	}
	sum, err := Execute(t.Context(), s)
	if err != nil || sum.Measured.Kept != 4 {
		t.Fatalf("%+v, %v", sum, err)
	}
	want := []string{"start all", "begin", "begin", "run after 9s", "end", "end", "stop", "start all", "begin", "begin", "run after 12s", "end", "end", "stop"}
	if !slices.Equal(l.log, want) {
		t.Errorf("%q, want %q", l.log, want)
	}
	if len(l.tasks) != 2 || !l.tasks[0].CPUs.Empty() || l.tasks[0].Outranks || !l.tasks[1].CPUs.Equal(cpulist.Of(1)) || !l.tasks[1].Outranks {
		t.Errorf("tasks %+v", l.tasks)
	}
	rs, err := OpenResults(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	err = rs.Each(t.Context(), func(r *Record) error {
		switch {
		case r.Condition == "idle" && (r.Load != nil || len(r.Counters) != 1):
			t.Errorf("idle: %+v", r)
		case r.Condition == "noisy":
			if len(r.Load) != 1 || r.Load[0].Time != 3*time.Second || r.Load[0].RanOn != "1" || *r.Load[0].Wakeups != 12 || r.Counters[CounterLoad] != 1.5 || r.Counters["migrations"] != 4 {
				t.Errorf("noisy: %+v", r)
			}
			if !slices.Contains(r.Warnings, `load of condition "noisy": n`) {
				t.Errorf("warnings %q", r.Warnings)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBadLoadMakesTheRunVoid(t *testing.T) {
	s, _, l := loadSession(t, oneLoad)
	l.states[0].Fault = "a spinner was stopped"
	l.stop = errors.New("cannot end the load: x")
	sum, err := Execute(t.Context(), s)
	if err != nil || sum.Measured != (Counts{Kept: 2, Void: 2}) {
		t.Fatalf("%+v, %v", sum, err)
	}
	for _, r := range records(t, s.Dir) {
		if r.Condition != "noisy" {
			continue
		}
		if r.Outcome != Void || r.Reason != `load of condition "noisy": a spinner was stopped` || len(r.Load) != 1 || !slices.Contains(r.Warnings, "cannot end the load: x") {
			t.Errorf("%+v", r)
		}
	}
	if !slices.Contains(sum.Warnings, "cannot end the load: x") {
		t.Errorf("session warnings %q", sum.Warnings)
	}
}

// That the end may be noticed late is said once.
func TestLateEndsAreSaidOnce(t *testing.T) {
	l := &loop{}
	for range 2 {
		l.stopLoad(hurried{&fakeLoader{}, &hurry{err: errors.New("no priority")}}, &Result{}, &Record{})
	}
	l.stopLoad(hurried{&fakeLoader{}, &hurry{}}, &Result{}, &Record{})
	if len(l.warnings) != 1 || !strings.Contains(l.warnings[0], "may be noticed late") || !strings.Contains(l.warnings[0], "no priority") {
		t.Errorf("%q", l.warnings)
	}
}

// A load that does not come up is the reason of a failed run, which never ran.
func TestLoadThatDoesNotComeUp(t *testing.T) {
	s, x, l := loadSession(t, oneLoad)
	l.err = errors.New("no CPU is left")
	sum, err := Execute(t.Context(), s)
	if err != nil || sum.Measured != (Counts{Kept: 2, Failed: 2}) || len(x.jobs) != 2 {
		t.Fatalf("%+v, %v, %d jobs", sum, err, len(x.jobs))
	}
	for _, r := range records(t, s.Dir) {
		if r.Condition == "noisy" && (r.Outcome != Failed || r.Reason != `cannot start the load of condition "noisy": no CPU is left`) {
			t.Errorf("%+v", r)
		}
	}
}

// An end of the session while a load comes up leaves no record of the run.
func TestInterruptedWhileALoadComesUp(t *testing.T) {
	s, _, l := loadSession(t, oneLoad)
	ctx, cancel := context.WithCancel(t.Context())
	l.err = context.Canceled
	s.Loader = cancelling{l, cancel}
	sum, err := Execute(ctx, s)
	if !errors.Is(err, ErrInterrupted) || sum.Measured.Sum() != 2 {
		t.Errorf("%+v, %v", sum, err)
	}
}

type cancelling struct {
	*fakeLoader
	cancel func()
}

func (c cancelling) Start(ctx context.Context, spec *LoadSpec, beside LoadTask) (RunningLoad, error) {
	c.cancel()
	return c.fakeLoader.Start(ctx, spec, beside)
}

// What cannot be started is refused before anything runs.
func TestLoadsAreCheckedFirst(t *testing.T) {
	s, _, _ := loadSession(t, oneLoad)
	s.Loader = nil
	if _, err := Execute(t.Context(), s); err == nil || !strings.Contains(err.Error(), `cannot run condition "noisy": nothing is known that could start its load`) {
		t.Error(err)
	}
	s, x, _ := loadSession(t, oneLoad+"command = [\"no-such-command\"]\n[condition.other]\ncommand = [\"./missing\"]\n")
	_, err := Execute(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), `cannot run condition "noisy": cannot start "no-such-command": not found in PATH`) ||
		!strings.Contains(err.Error(), `cannot run condition "other": cannot start "`) || len(x.jobs) != 0 {
		t.Errorf("%v", err)
	}
}

// Bringing up a load takes its time in the plan's estimate.
func TestEstimateCountsLoads(t *testing.T) {
	s, _, _ := loadSession(t, strings.Replace(oneLoad, "command = [\"true\"]", "command = [\"true\"]\nexpect = \"1s\"", 1))
	if got, want := s.Experiment.Estimate(s.Plan).Total, 4*4*time.Second+2*loadSettle; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
