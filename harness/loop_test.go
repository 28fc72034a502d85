package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/cpulist"
	"goset/isolation"
	"goset/metric"
)

// fakeExecutor answers each job by a function and remembers the jobs.
type fakeExecutor struct {
	jobs   []Job
	answer func(ctx context.Context, n int, job Job) (Result, error)
}

func (f *fakeExecutor) Execute(ctx context.Context, job Job) (Result, error) {
	f.jobs = append(f.jobs, job)
	if f.answer == nil {
		return Result{Start: time.Unix(1700000000, 0).UTC(), Wall: time.Second}, nil
	}
	return f.answer(ctx, len(f.jobs)-1, job)
}

// fakeClock sleeps by moving on.
type fakeClock struct {
	now    time.Time
	slept  time.Duration
	cancel func() // called at the first sleep
}

func (c *fakeClock) Now() time.Time { return c.now }

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	if c.cancel != nil {
		c.cancel()
		return ctx.Err()
	}
	c.now = c.now.Add(d)
	c.slept += d
	return nil
}

// fakeChooser gives CPU 0, 1, 2, ...
type fakeChooser struct {
	n   int
	err error
}

func (c *fakeChooser) Choose(context.Context, isolation.Mode) (cpulist.Set, *Choice, error) {
	c.n++
	return cpulist.Of(c.n - 1), &Choice{Sample: time.Second, Ranking: []Ranked{{CPU: c.n - 1}}}, c.err
}

// fakeExtractor answers each result by a function.
type fakeExtractor func(Result) (Extracted, error)

func (f fakeExtractor) Extract(r Result) (Extracted, error) { return f(r) }

func noExtractor(Workload) (Extractor, error) {
	return fakeExtractor(func(r Result) (Extracted, error) {
		return Extracted{Values: map[string]float64{"wall": r.Wall.Seconds()}}, nil
	}), nil
}

// testExperiment has workloads of the command true, each in each of the modes.
func testExperiment(blocks int, workloads []string, modes ...isolation.Mode) (*Experiment, *Plan) {
	e := &Experiment{Name: "test", Text: []byte("title = \"test\"\n"), Plan: PlanSpec{Runs: blocks, Order: OrderInterleaved}}
	p := &Plan{Seed: 7}
	for _, w := range workloads {
		e.Workloads = append(e.Workloads, Workload{Name: w, Command: []string{"true"}})
	}
	for _, m := range modes {
		e.Modes = append(e.Modes, ModeSpec{Name: m.Name, Layers: m})
	}
	for _, w := range e.Workloads {
		for _, m := range modes {
			p.Treatments = append(p.Treatments, Treatment{Index: len(p.Treatments), Workload: w.Name, Mode: m.Name, Spec: w, Layers: m, Args: w.Command})
		}
	}
	for b := range blocks {
		for t := range p.Treatments {
			p.Runs = append(p.Runs, Run{Treatment: int32(t), Block: int32(b + 1), Position: int32(t + 1)})
		}
	}
	return e, p
}

func testSession(t *testing.T, blocks int, workloads []string, modes ...isolation.Mode) (Session, *fakeExecutor) {
	x := &fakeExecutor{}
	s := Session{
		Dir: filepath.Join(t.TempDir(), "results"), Executor: x, Chooser: &fakeChooser{}, Extractor: noExtractor,
		Allowed: cpulist.Of(1, 3, 5), Clock: &fakeClock{now: time.Unix(1700000000, 0).UTC()}, Provenance: Provenance{Tool: "v1"},
	}
	s.Experiment, s.Plan = testExperiment(blocks, workloads, modes...)
	return s, x
}

// records reads all records of a folder, each a copy.
func records(t *testing.T, dir string) []Record {
	t.Helper()
	r, err := OpenResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []Record
	err = r.Each(t.Context(), func(r *Record) error {
		c := *r
		c.Values = map[string]float64{}
		for k, v := range r.Values {
			c.Values[k] = v
		}
		c.Iterations, c.Counters = nil, nil
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func resumeOptions(s Session) ResumeOptions {
	return ResumeOptions{Load: func(*Manifest) (*Experiment, *Plan, error) { return s.Experiment, s.Plan, nil }}
}

func TestExecuteRunsThePlanInOrder(t *testing.T) {
	s, x := testSession(t, 2, []string{"a", "b"}, isolation.Mode{Name: "unpinned"})
	var events []string
	s.Events = func(e Event) { events = append(events, strings.TrimPrefix(reflect.TypeOf(e).String(), "harness.")) }
	sum, err := Execute(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Counts{Kept: 4}); sum.Measured != want || !sum.Done() || sum.Failed() != 0 {
		t.Errorf("summary %+v, want %+v and done", sum, want)
	}
	if len(x.jobs) != 4 {
		t.Errorf("%d jobs, want 4", len(x.jobs))
	}
	rs := records(t, s.Dir)
	for i, r := range rs {
		previous := i - 1
		if i > 0 {
			previous = (i - 1) % 2
		}
		if r.Run != i || r.Attempt != 1 || r.Treatment != i%2 || r.Previous != previous || r.Values["wall"] != 1 {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	m, err := ReadManifest(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if string(m.States) != "kkkk" || !slices.Equal(m.Runs, s.Plan.Runs) || m.Seed != 7 || m.Tool != "v1" {
		t.Errorf("manifest: states %q, runs %v, seed %d, tool %q", m.States, m.Runs, m.Seed, m.Tool)
	}
	want := "Started RunStarted RunEnded RunStarted RunEnded RunStarted RunEnded RunStarted RunEnded Finished"
	if got := strings.Join(events, " "); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(s.Dir, ExperimentFile)); err != nil || string(text) != string(s.Experiment.Text) {
		t.Errorf("experiment.toml is %q, %v", text, err)
	}
}

func TestExecuteOfAnEmptyPlan(t *testing.T) {
	s, x := testSession(t, 0, []string{"a"}, isolation.Mode{Name: "m"})
	sum, err := Execute(t.Context(), s)
	if err != nil || !sum.Done() || len(x.jobs) != 0 || len(records(t, s.Dir)) != 0 {
		t.Errorf("%+v, %v, %d jobs", sum, err, len(x.jobs))
	}
}

func TestOutcomes(t *testing.T) {
	layers := func(held bool) []isolation.LayerState {
		return []isolation.LayerState{{Layer: "cpus", Asked: "1", Achieved: "0-1", Held: held, Note: "moved"}}
	}
	tests := []struct {
		name    string
		result  Result
		err     error
		extract Extracted
		broken  error // of the extractor
		mode    isolation.Mode
		effort  bool
		outcome Outcome
		reason  string
		exit    int
		warning string
		wall    float64 // where the extractor is not asked or gave up
	}{
		{name: "kept", outcome: Kept},
		{name: "exit", result: Result{Exit: 3, Wall: 2 * time.Second}, outcome: Failed, reason: "exit status 3", exit: 3, wall: 2},
		{name: "extractor", result: Result{Wall: 2 * time.Second}, broken: errors.New("cannot read it"), outcome: Void, reason: "cannot read it", wall: 2},
		{name: "hangs", result: Result{Unkilled: []int{7}}, outcome: Kept, warning: "processes [7] of run 0 could not be ended and may disturb the runs that follow"},
		{name: "best effort", result: Result{Layers: layers(false)}, effort: true, mode: isolation.Mode{CPUs: "rotate"}, outcome: Kept, warning: `layer "cpus" did not hold: asked "1", achieved "0-1": moved`},
		{name: "best effort with named CPUs", result: Result{Layers: layers(false)}, effort: true, mode: isolation.Mode{CPUs: "1"}, outcome: Void, reason: `layer "cpus" did not hold: asked "1", achieved "0-1": moved`},
		{name: "signal", result: Result{Exit: 139, Signal: "SIGSEGV"}, outcome: Failed, reason: "ended by SIGSEGV", exit: 139},
		{name: "timeout", result: Result{Exit: 137, Signal: "SIGKILL", TimedOut: true}, outcome: Failed, reason: "timed out after 1m0s", exit: 137},
		{name: "missing", err: fmt.Errorf("cannot start: %w", fs.ErrNotExist), outcome: Failed, reason: "cannot start: file does not exist", exit: 127},
		{name: "refused", err: errors.New("cannot start: no"), outcome: Failed, reason: "cannot start: no", exit: 126},
		{name: "void", extract: Extracted{Void: "nothing matched"}, outcome: Void, reason: "nothing matched"},
		{name: "NaN", extract: Extracted{Values: map[string]float64{"p99": math.NaN()}}, outcome: Void, reason: `metric "p99" is NaN`},
		{name: "Inf iteration", extract: Extracted{Iterations: map[string][]float64{"t": {1, math.Inf(1)}}}, outcome: Void, reason: `iteration 2 of metric "t" is +Inf`},
		{name: "layer", result: Result{Layers: layers(false)}, outcome: Void, reason: `layer "cpus" did not hold: asked "1", achieved "0-1": moved`},
		{name: "layer held", result: Result{Layers: layers(true)}, outcome: Kept},
		{name: "optional layer", result: Result{Layers: layers(false)}, mode: isolation.Mode{Optional: []string{"cpus"}}, outcome: Kept, warning: `layer "cpus" did not hold: asked "1", achieved "0-1": moved`},
		{name: "left over", result: Result{Leftover: 2}, outcome: Kept, warning: "2 processes that it left behind were ended"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, x := testSession(t, 1, []string{"a"}, test.mode)
			s.BestEffort = test.effort
			s.Experiment.Plan.Timeout = time.Minute
			x.answer = func(context.Context, int, Job) (Result, error) { return test.result, test.err }
			s.Extractor = func(Workload) (Extractor, error) {
				return fakeExtractor(func(Result) (Extracted, error) { return test.extract, test.broken }), nil
			}
			if _, err := Execute(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			r := records(t, s.Dir)[0]
			if r.Outcome != test.outcome || r.Reason != test.reason || r.Exit != test.exit {
				t.Errorf("outcome %q, reason %q, exit %d; want %q, %q, %d", r.Outcome, r.Reason, r.Exit, test.outcome, test.reason, test.exit)
			}
			if got := strings.Join(r.Warnings, "\n"); got != test.warning {
				t.Errorf("warnings %q, want %q", got, test.warning)
			}
			if r.Values["wall"] != test.wall {
				t.Errorf("wall = %v, want %v", r.Values["wall"], test.wall)
			}
			for name, v := range r.Values {
				if name == "p99" {
					t.Errorf("%s = %v is in the values", name, v)
				}
			}
		})
	}
}

func TestRetries(t *testing.T) {
	s, x := testSession(t, 2, []string{"a"}, isolation.Mode{Name: "m", CPUs: "rotate"})
	s.Experiment.Plan.Retries = 2
	// Run 0 fails for good, run 1 at its first attempt only.
	x.answer = func(_ context.Context, n int, _ Job) (Result, error) {
		res := Result{}
		if n < 4 {
			res.Exit = 1
			res.Stdout = Stream{Head: fmt.Appendf(nil, "out %d", n), Total: 5}
		}
		return res, nil
	}
	var tails []string
	s.Events = func(e Event) {
		if e, ok := e.(RunEnded); ok {
			tails = append(tails, fmt.Sprintf("%s %v", e.Tail, e.Again))
		}
	}
	sum, err := Execute(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Counts{Kept: 1, Failed: 1}); sum.Measured != want {
		t.Errorf("counts %+v, want %+v", sum.Measured, want)
	}
	var got []string
	for _, r := range records(t, s.Dir) {
		got = append(got, fmt.Sprintf("%d/%d %s %s %v %s", r.Run, r.Attempt, r.Outcome, r.CPUs, r.Superseded, r.Output))
	}
	want := []string{
		"0/1 failed 1 true output/run-000000-1", "0/2 failed 1 true output/run-000000-2", "0/3 failed 1 false output/run-000000-3",
		"1/1 failed 3 true output/run-000001-1", "1/2 kept 3 false ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{"out 0 true", "out 1 true", "out 2 false", "out 3 true", " false"}; !slices.Equal(tails, want) {
		t.Errorf("tails %q, want %q", tails, want)
	}
	if text, err := os.ReadFile(filepath.Join(s.Dir, "output/run-000000-3.out")); err != nil || string(text) != "out 2" {
		t.Errorf("kept output is %q, %v", text, err)
	}
}

func TestOutputBeyondTheLimitIsSaid(t *testing.T) {
	s, x := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m"})
	s.OutputLimit = 4
	x.answer = func(context.Context, int, Job) (Result, error) {
		return Result{Exit: 1, Stderr: Stream{Head: []byte("head"), Tail: []byte("tail"), Total: 100}}, nil
	}
	if _, err := Execute(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "output/run-000000-1.err"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "head\n[goset-bench: 92 bytes not kept: the limit is 4 of 100]\ntail"; string(text) != want {
		t.Errorf("kept %q, want %q", text, want)
	}
	if r := records(t, s.Dir)[0]; len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "stderr was 100 bytes long") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestIdleBeforeEveryRun(t *testing.T) {
	s, _ := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m"})
	s.Experiment.Plan.Idle = 2500 * time.Millisecond
	clock := &fakeClock{now: time.Unix(1700000000, 0)}
	s.Clock = clock
	var gaps []time.Duration
	s.Events = func(e Event) {
		if e, ok := e.(Gap); ok {
			gaps = append(gaps, e.Left)
		}
	}
	if _, err := Execute(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if want := 3 * s.Experiment.Plan.Idle; clock.slept != want {
		t.Errorf("slept %v, want %v", clock.slept, want)
	}
	one := []time.Duration{2500 * time.Millisecond, 1500 * time.Millisecond, 500 * time.Millisecond}
	if want := slices.Concat(one, one, one); !slices.Equal(gaps, want) {
		t.Errorf("gaps %v, want %v", gaps, want)
	}
}

func TestInterrupt(t *testing.T) {
	t.Run("in a run", func(t *testing.T) {
		s, x := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m"})
		ctx, cancel := context.WithCancel(t.Context())
		x.answer = func(_ context.Context, n int, _ Job) (Result, error) {
			if n == 1 {
				cancel()
				return Result{Interrupted: true}, nil
			}
			return Result{}, nil
		}
		sum, err := Execute(ctx, s)
		if !errors.Is(err, ErrInterrupted) || sum.Done() || len(records(t, s.Dir)) != 1 {
			t.Fatalf("%v, %+v, %d records; want interrupted with 1", err, sum, len(records(t, s.Dir)))
		}
		x.answer = nil
		sum, err = Resume(t.Context(), s.Dir, s, resumeOptions(s))
		if err != nil || sum.Measured.Kept != 3 || len(x.jobs) != 4 {
			t.Errorf("resumed: %v, %+v, %d jobs; want 3 kept after 4 jobs", err, sum, len(x.jobs))
		}
	})
	t.Run("in a gap", func(t *testing.T) {
		s, x := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m"})
		s.Experiment.Plan.Idle = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		s.Clock = &fakeClock{cancel: cancel}
		if _, err := Execute(ctx, s); !errors.Is(err, ErrInterrupted) || len(x.jobs) != 0 {
			t.Errorf("%v after %d jobs, want interrupted after none", err, len(x.jobs))
		}
	})
	t.Run("right after a run", func(t *testing.T) {
		s, x := testSession(t, 3, []string{"a"}, isolation.Mode{Name: "m"})
		ctx, cancel := context.WithCancel(t.Context())
		x.answer = func(context.Context, int, Job) (Result, error) { cancel(); return Result{}, nil }
		if _, err := Execute(ctx, s); !errors.Is(err, ErrInterrupted) || len(records(t, s.Dir)) != 1 {
			t.Errorf("%v with %d records, want interrupted with the record of the run that had ended", err, len(records(t, s.Dir)))
		}
	})
}

func TestMissingCommandsAreAllNamedBeforeAnythingRuns(t *testing.T) {
	s, x := testSession(t, 1, []string{"a", "b", "c"}, isolation.Mode{Name: "m"}, isolation.Mode{Name: "n"})
	for i := range s.Plan.Treatments {
		switch tr := &s.Plan.Treatments[i]; tr.Workload {
		case "b":
			tr.Args = []string{"no-such-command-anywhere"}
		case "c":
			tr.Args = []string{"./no-such-file"}
		}
	}
	_, err := Execute(t.Context(), s)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`workload "b"`, `"no-such-command-anywhere"`, `workload "c"`, `no-such-file"`} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("%q is not said once in: %v", want, err)
		}
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) || len(x.jobs) != 0 {
		t.Errorf("the folder was made (%v) or %d jobs run", err, len(x.jobs))
	}
}

func TestFolderInUseIsRefused(t *testing.T) {
	s, x := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m"})
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "mine"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Execute(t.Context(), s); err == nil || !strings.Contains(err.Error(), "not empty") || len(x.jobs) != 0 {
		t.Errorf("%v, want a refusal", err)
	}
}

func TestTwoSessionsInOneFolder(t *testing.T) {
	s, x := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m"})
	x.answer = func(context.Context, int, Job) (Result, error) {
		var locked *LockedError
		if _, err := Resume(t.Context(), s.Dir, s, resumeOptions(s)); !errors.As(err, &locked) {
			t.Errorf("second session: %v, want it locked out", err)
		}
		return Result{}, nil
	}
	if _, err := Execute(t.Context(), s); err != nil || len(x.jobs) != 1 {
		t.Fatal(err)
	}
}

func TestKernelsAreStartedThroughSelf(t *testing.T) {
	s, x := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m"})
	tr := &s.Plan.Treatments[0]
	tr.Spec = Workload{Name: "a", Kernel: "jitter"}
	tr.Args, tr.Env = []string{"-steps=3"}, []string{"A=2"}
	s.Self, s.Env = []string{"true", "workload"}, []string{"A=1", "B=1"}
	if _, err := Execute(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	job := x.jobs[0]
	if want := []string{"true", "workload", "jitter", "-steps=3"}; !slices.Equal(job.Argv, want) {
		t.Errorf("argv %q, want %q", job.Argv, want)
	}
	if want := []string{"B=1", "A=2"}; !slices.Equal(job.Env, want) || !slices.Equal(job.Own, []string{"A=2"}) {
		t.Errorf("env %q, want %q; own %q", job.Env, want, job.Own)
	}
	s.Self = nil
	if _, err := newLoop(s); err == nil || !strings.Contains(err.Error(), `"jitter"`) {
		t.Errorf("without self: %v", err)
	}
}

// A kernel that measures the Go runtime keeps the timer slack that any process
// has: with a longer one its goroutines would be preempted late.
func TestTimerSlackOfKernels(t *testing.T) {
	for _, k := range Kernels() {
		s, x := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m"})
		s.Plan.Treatments[0].Spec = Workload{Name: "a", Kernel: k.Name}
		s.Self = []string{"true", "workload"}
		if _, err := Execute(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		want := KernelSlack
		if k.Name == "yield" {
			want = 0
		}
		if got := x.jobs[0].TimerSlack; got != want {
			t.Errorf("%s: timer slack %v, want %v", k.Name, got, want)
		}
	}
}

func TestWorkloadSides(t *testing.T) {
	for _, c := range []struct {
		w    Workload
		want []string
	}{
		{Workload{Command: []string{"x"}}, nil},
		{Workload{Kernel: "jitter"}, nil},
		{Workload{Kernel: "yield"}, []string{"yield"}},
		{Workload{Go: &GoSpec{}}, GoSides()},
	} {
		if got := c.w.Sides(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.w, got, c.want)
		}
	}
}

func TestShapeChangeIsSaidOnce(t *testing.T) {
	s, _ := testSession(t, 4, []string{"a"}, isolation.Mode{Name: "m"}, isolation.Mode{Name: "n"})
	shapes := []string{"x", "x", "y", "y", "x", "x", "y", "y"}
	n := 0
	s.Extractor = func(Workload) (Extractor, error) {
		return fakeExtractor(func(Result) (Extracted, error) { n++; return Extracted{Shape: shapes[n-1]}, nil }), nil
	}
	sum, err := Execute(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := `the output of workload "a" has another form in run 2 (mode "m") than in run 1 (mode "n"): numbers under one name may not be the same quantity`
	if !slices.Equal(sum.Warnings, []string{want}) {
		t.Errorf("warnings %q, want %q once", sum.Warnings, want)
	}
	if r := records(t, s.Dir)[2]; !slices.Equal(r.Warnings, []string{want}) {
		t.Errorf("record 2 warns %q", r.Warnings)
	}
}

func TestMetricsAreDescribedOnce(t *testing.T) {
	s, _ := testSession(t, 2, []string{"a", "b"}, isolation.Mode{Name: "m"})
	s.Extractor = func(w Workload) (Extractor, error) {
		return fakeExtractor(func(Result) (Extracted, error) {
			return Extracted{Values: map[string]float64{"v": 2}, Metrics: []metric.Metric{{Name: "v", Unit: w.Name}}}, nil
		}), nil
	}
	if _, err := Execute(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for i, r := range records(t, s.Dir) {
		var want []metric.Metric
		if i < 2 {
			want = []metric.Metric{{Name: "v", Unit: r.Workload}}
		}
		if !slices.Equal(r.Metrics, want) || r.Values["v"] != 2 {
			t.Errorf("record %d describes %v, want %v; v = %v", i, r.Metrics, want, r.Values["v"])
		}
	}
}

func TestQuietestIsChosenAsOftenAsAsked(t *testing.T) {
	tests := []struct {
		choose string
		want   string // the CPU of every run, and the run that it was chosen for
	}{
		{"", "0:0 1:1 2:2 3:3"}, {"run", "0:0 1:1 2:2 3:3"}, {"block", "0:0 0:0 1:2 1:2"}, {"experiment", "0:0 0:0 0:0 0:0"},
	}
	// What becomes of the run that chooses makes no difference to what stands
	// in the records of those that follow.
	for name, first := range map[string]Result{"kept": {}, "failed": {Exit: 1}, "void": {Layers: []isolation.LayerState{{Layer: "steer"}}}} {
		for _, test := range tests {
			s, x := testSession(t, 2, []string{"a", "b"}, isolation.Mode{Name: "m", CPUs: "quietest", Choose: test.choose})
			x.answer = func(_ context.Context, n int, _ Job) (Result, error) {
				if n == 0 {
					return first, nil
				}
				return Result{Wall: time.Second}, nil
			}
			if _, err := Execute(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			rs := records(t, s.Dir)
			if got := choicesOf(t, rs); got != test.want {
				t.Errorf("choose = %q, first run %s: %s, want %s", test.choose, name, got, test.want)
			}
			if string(rs[0].Outcome) != name {
				t.Errorf("the first run is %s, want %s", rs[0].Outcome, name)
			}
		}
	}
}

// choicesOf gives the CPU of every record and the run that its choice was made
// for, and holds the ranking against the CPU.
func choicesOf(t *testing.T, rs []Record) string {
	t.Helper()
	var got []string
	for i := range rs {
		c := rs[i].Choice
		if c == nil || c.Attempt != 1 || c.At.IsZero() || c.Sample != time.Second || len(c.Ranking) != 1 || fmt.Sprint(c.Ranking[0].CPU) != rs[i].CPUs {
			t.Fatalf("run %d on CPU %s keeps the choice %+v", rs[i].Run, rs[i].CPUs, c)
		}
		if c.Own(&rs[i]) != (c.Run == rs[i].Run) {
			t.Errorf("run %d: own choice %t", rs[i].Run, c.Own(&rs[i]))
		}
		got = append(got, fmt.Sprintf("%s:%d", rs[i].CPUs, c.Run))
	}
	return strings.Join(got, " ")
}

func TestChoiceOfAFurtherAttempt(t *testing.T) {
	for choose, want := range map[string][]int{"run": {1, 2}, "block": {1, 1}, "experiment": {1, 1}} {
		s, x := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m", CPUs: "quietest", Choose: choose})
		s.Experiment.Plan.Retries = 1
		x.answer = func(_ context.Context, n int, _ Job) (Result, error) { return Result{Exit: 1 - n}, nil }
		if _, err := Execute(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, r := range records(t, s.Dir) {
			got = append(got, r.Choice.Attempt)
		}
		if !slices.Equal(got, want) {
			t.Errorf("choose = %q: chosen by attempts %v, want %v", choose, got, want)
		}
	}
}

func TestCPUsThatCannotBeGiven(t *testing.T) {
	for _, m := range []isolation.Mode{{Name: "m", CPUs: "rotate", N: 4}, {Name: "m", CPUs: "5-2"}} {
		s, _ := testSession(t, 1, []string{"a"}, m)
		if _, err := Execute(t.Context(), s); err == nil || !strings.Contains(err.Error(), `mode "m"`) {
			t.Errorf("cpus = %q, n = %d: %v, want an error that names the mode", m.CPUs, m.N, err)
		}
	}
	s, _ := testSession(t, 1, []string{"a"}, isolation.Mode{Name: "m", CPUs: "quietest"})
	s.Chooser = &fakeChooser{err: errors.New("no interrupts here")}
	if sum, err := Execute(t.Context(), s); err != nil || sum.Failed() != 1 {
		t.Errorf("a choice that fails: %+v, %v, want one failed run", sum, err)
	}
}

// BenchmarkTrue runs a command of no length from start to end; what is not its
// wall time is the harness's.
func BenchmarkTrue(b *testing.B) {
	runner, err := NewRunner()
	if errors.Is(err, errors.ErrUnsupported) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := runner.Close(); err != nil {
			b.Error(err)
		}
	}()
	e, p := testExperiment(b.N, []string{"a"}, isolation.Mode{Name: "m"})
	var wall time.Duration
	s := Session{
		Experiment: e, Plan: p, Dir: filepath.Join(b.TempDir(), "results"), Extractor: NewExtractor,
		Executor: runner, Quiet: runner.Quiet, Env: os.Environ(),
		Events: func(e Event) {
			if e, ok := e.(RunEnded); ok {
				wall += time.Duration(e.Record.Values["wall"] * float64(time.Second))
			}
		},
	}
	sum, err := Execute(b.Context(), s)
	if err != nil || sum.Measured.Kept != b.N {
		b.Fatal(err, sum)
	}
	b.ReportMetric(float64(wall.Nanoseconds())/float64(b.N), "wall-ns/op")
}
