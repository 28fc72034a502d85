package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"goset/cpulist"
	"goset/isolation"
	"goset/rank"
)

// Session is what Execute and Resume need. The experiment says what to run;
// everything that touches the machine comes in as an interface, so that whole
// experiments run in tests without one.
type Session struct {
	Experiment *Experiment
	Plan       *Plan
	Dir        string // the result folder
	// Ignored is a folder that Dir stands in and that, where it is not there
	// yet, is made with a .gitignore of all that is in it: results are nothing
	// that a repository should see as untracked. "": there is none.
	Ignored    string
	Provenance Provenance

	Executor Executor
	Chooser  Chooser // nil: modes with cpus = "quietest" are refused
	// Extractor makes the extractor of a workload; it is called once for each.
	Extractor func(Workload) (Extractor, error)

	// Loader starts the background load of conditions; nil: conditions that
	// have one are refused.
	Loader Loader

	// Builder builds Go benchmarks; nil: workloads of them are refused.
	Builder Builder
	golang  goRuns

	// Self is how a bundled kernel is started, without the kernel's name:
	// the path of goset-bench and "workload".
	Self []string
	// Env is the environment that children start from.
	Env []string
	// Allowed is the CPUs that "rotate" goes through.
	Allowed cpulist.Set
	// BestEffort makes every layer optional.
	BestEffort bool
	// User runs the children of modes that name no user; "": whoever runs
	// this.
	User string
	// OutputLimit is how many bytes of each stream of a run are kept; 0 means
	// what the experiment says, or defaultOutputLimit.
	OutputLimit int64

	// Stopper decides after whole blocks whether a plan with until may end;
	// nil: it never does.
	Stopper Stopper

	Events func(Event) // nil: none
	// Quiet, when set, is called between runs, after the record of one is
	// written and before the next is begun: the time for work that a child
	// must not feel, such as collecting garbage.
	Quiet func()
	Clock Clock // nil: the machine's
}

// defaultOutputLimit is how many bytes of each stream of a run are kept.
const defaultOutputLimit = 16 << 20

// ErrInterrupted says that the context ended the session before the plan did.
// Everything that had run is on disk, and Resume goes on from there.
var ErrInterrupted = errors.New("interrupted")

// Summary is how a session left its plan.
type Summary struct {
	Dir      string
	Total    int    // runs of the plan
	Measured Counts // runs that ended, without warm-up, over all sessions
	Warmup   Counts
	Warnings []string // of this session
	Stopped  *Stopped // the plan ended early, now or in an earlier session; nil: it did not
	Elapsed  time.Duration
}

// Failed is the number of runs whose last attempt failed, warm-up included.
func (s Summary) Failed() int { return s.Measured.Failed + s.Warmup.Failed }

// Void is the number of runs whose last attempt was void, warm-up included.
func (s Summary) Void() int { return s.Measured.Void + s.Warmup.Void }

// Done is true when no run is to come: every run of the plan has ended, or it
// was stopped early as it asked for.
func (s Summary) Done() bool { return s.Stopped != nil || s.Measured.Sum()+s.Warmup.Sum() == s.Total }

// Execute runs a plan into a new result folder. Before anything is written it
// checks that every command can be found. It returns when the plan is done,
// when the context ends (ErrInterrupted), or when records can no longer be
// written; failed and void runs are no error but counted in the summary.
func Execute(ctx context.Context, s Session) (Summary, error) {
	if err := s.buildGo(ctx, nil); err != nil {
		return Summary{}, err
	}
	l, err := newLoop(s)
	if err != nil {
		return Summary{}, err
	}
	m, err := newManifest(s.Experiment, s.Plan, s.Provenance, l.clock.Now())
	if err != nil {
		return Summary{}, err
	}
	m.Builds = s.golang.records()
	if s.Ignored != "" {
		if err := makeIgnored(s.Ignored); err != nil {
			return Summary{}, err
		}
	}
	l.store, err = createStore(s.Dir, m)
	if err != nil {
		return Summary{}, err
	}
	return l.run(ctx)
}

// loop is one session at work. One goroutine owns it.
type loop struct {
	Session
	clock      Clock
	store      *store
	extractors map[string]Extractor // by workload
	// perTreatment holds the extractors of Go benchmarks; nil for others.
	perTreatment []Extractor
	jobs         []Job      // by treatment, without CPUs
	doubts       [][]string // by treatment; see Treatment.Doubts
	cpus         cpuPlan
	known        known
	done         []runState // by run
	progress     Progress
	previous     int // treatment that ran before; -1: none
	warnings     []string
	lastSync     time.Time
	stopped      *Stopped
	late         bool   // it was said that ends may be noticed late
	record       Record // used again for every run
}

// runState is what records on file say about one run.
type runState struct {
	attempts uint16
	outcome  byte // a letter of Manifest.States
}

// newLoop makes ready all that can be made ready without touching the machine
// or the disk, and refuses what cannot run.
func newLoop(s Session) (*loop, error) {
	l := &loop{
		Session: s, clock: s.Clock,
		extractors: map[string]Extractor{},
		known:      newKnown(),
		done:       make([]runState, len(s.Plan.Runs)),
		previous:   -1,
		progress:   Progress{Total: len(s.Plan.Runs), estimate: newEstimator(s.Plan, s.Experiment.Plan.Idle)},
	}
	if l.clock == nil {
		l.clock = machineClock{}
	}
	l.cpus = newCPUPlan(s, l.clock.Now)
	if l.OutputLimit == 0 {
		l.OutputLimit = s.Experiment.Plan.Output
	}
	if l.OutputLimit == 0 {
		l.OutputLimit = defaultOutputLimit
	}
	var errs []error
	if err := l.goProcs(); err != nil {
		return nil, err
	}
	errs = append(errs, l.goExtractors())
	for _, w := range s.Experiment.Workloads {
		if w.Go != nil {
			continue
		}
		x, err := s.Extractor(w)
		if err != nil {
			errs = append(errs, err)
		}
		l.extractors[w.Name] = x
	}
	jobs, err := l.makeJobs()
	l.jobs = jobs
	caches := CachesOf(s.Provenance.Host)
	for i := range s.Plan.Treatments {
		l.doubts = append(l.doubts, s.Plan.Treatments[i].Doubts(caches, s.Allowed.Len()))
	}
	errs = append(errs, err, l.cpus.check(), l.checkLoads())
	return l, errors.Join(errs...)
}

// run goes through the plan and closes the folder, whatever happens.
func (l *loop) run(ctx context.Context) (Summary, error) {
	start := l.clock.Now()
	l.lastSync = start
	l.emit(Started{Experiment: l.Experiment, Plan: l.Plan, Dir: l.Dir, Progress: &l.progress, Stopped: l.stopped})
	for _, text := range l.warnings {
		l.emit(Warning{text})
	}
	err := l.all(ctx)
	err = errors.Join(err, l.store.close())
	sum := Summary{
		Dir: l.Dir, Total: len(l.Plan.Runs), Measured: l.progress.Measured, Warmup: l.progress.Warmup,
		Warnings: l.warnings, Stopped: l.stopped, Elapsed: l.clock.Now().Sub(start),
	}
	l.emit(Finished{sum})
	return sum, err
}

// all runs what has not run, in the order of the plan.
func (l *loop) all(ctx context.Context) error {
	attempts := 1 + l.Experiment.Plan.Retries
	for i := range l.Plan.Runs {
		if l.stopped != nil {
			return nil
		}
		run := &l.Plan.Runs[i]
		t := &l.Plan.Treatments[run.Treatment]
		// The rotation goes by the place in the plan, so runs that are on file
		// already take their turn too.
		turn := l.cpus.turn(t)
		state := &l.done[i]
		if state.ended(attempts) {
			continue
		}
		if enough, err := l.enough(i); err != nil || enough {
			return err
		}
		for !state.ended(attempts) {
			if err := l.gap(ctx); err != nil {
				return err
			}
			if err := l.attempt(ctx, i, turn); err != nil {
				return err
			}
		}
	}
	return nil
}

// ended is true when no further attempt at a run is due.
func (s runState) ended(attempts int) bool {
	return s.outcome == StateKept || int(s.attempts) >= attempts
}

// gap lets the machine settle before a run. What would disturb a child is done
// here: syncing, and what Quiet and the handler of events do.
func (l *loop) gap(ctx context.Context) error {
	idle := l.Experiment.Plan.Idle
	now := l.clock.Now()
	until := now.Add(idle)
	l.progress.gap = 0
	if idle > 0 || now.Sub(l.lastSync) >= time.Second {
		if err := l.store.sync(); err != nil {
			return err
		}
		l.lastSync = l.clock.Now()
	}
	if l.Quiet != nil {
		l.Quiet()
	}
	if err := errors.Join(l.store.present(), l.store.reserve()); err != nil {
		return err
	}
	for idle > 0 {
		left := until.Sub(l.clock.Now())
		if left <= 0 {
			break
		}
		l.progress.gap = idle - left
		l.emit(Gap{Left: left, Progress: &l.progress})
		if l.clock.Sleep(ctx, min(left, time.Second)) != nil {
			break
		}
	}
	l.progress.gap = idle
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return nil
}

// attempt runs a run once and writes down what came of it.
func (l *loop) attempt(ctx context.Context, i, turn int) error {
	run := &l.Plan.Runs[i]
	t := &l.Plan.Treatments[run.Treatment]
	state := &l.done[i]
	r := l.begin(i, int(state.attempts)+1)
	l.emit(RunStarted{Run: i, Attempt: r.Attempt, Treatment: t, Progress: &l.progress})
	from := l.clock.Now()
	res, err := l.execute(ctx, t, turn, run, r)
	if errors.Is(err, ErrInterrupted) {
		return err
	}
	l.previous = t.Index
	l.judge(t, &res, err, r)
	tail := l.keepBad(&res, r)
	l.progress.estimate.Observe(t.Index, l.clock.Now().Sub(from))
	if err := l.store.append(r); err != nil {
		return err
	}
	if err := l.store.setState(i, stateOf(r.Outcome)); err != nil {
		return err
	}
	if l.Stopper != nil {
		l.Stopper.Observe(r)
	}
	state.attempts, state.outcome = uint16(r.Attempt), stateOf(r.Outcome)
	again := !state.ended(1 + l.Experiment.Plan.Retries)
	if !again {
		l.progress.estimate.Ended(t.Index)
		l.progress.count(r.Outcome, r.Warmup)
	}
	l.emit(RunEnded{Record: r, Tail: tail, Again: again, Progress: &l.progress})
	return nil
}

// count takes in the outcome of a run's last attempt.
func (p *Progress) count(o Outcome, warmup bool) {
	p.gap = 0
	if warmup {
		p.Warmup.add(o)
		return
	}
	p.Measured.add(o)
}

// begin fills in what is known of a run before it starts.
func (l *loop) begin(i, attempt int) *Record {
	run := &l.Plan.Runs[i]
	t := &l.Plan.Treatments[run.Treatment]
	// Only the map of values is the loop's own; the others were given to it.
	l.record.Iterations, l.record.Counters = nil, nil
	l.record.reset()
	r := &l.record
	r.Run, r.Attempt, r.Block, r.Position = i, attempt, int(run.Block), int(run.Position)
	r.Treatment, r.Previous = t.Index, l.previous
	r.Workload, r.Mode, r.Condition, r.Levels = t.Workload, t.Mode, t.Condition, t.Levels
	r.Warmup = run.Block == 0
	if t.Spec.Go != nil {
		r.Procs = t.Spec.Go.cpuOr(l.golang.procs[t.Index])
	}
	r.Start = l.clock.Now().UTC()
	return r
}

// execute chooses the CPUs of a run, brings up its load and runs it. ErrInterrupted says that the
// run does not count; other errors are why it could not start.
func (l *loop) execute(ctx context.Context, t *Treatment, turn int, run *Run, r *Record) (Result, error) {
	job := l.jobs[t.Index]
	cpus, choice, err := l.cpus.choose(ctx, t, turn, r)
	if ctx.Err() != nil {
		return Result{}, ErrInterrupted
	}
	var waived []isolation.LayerState
	var included *rank.IncludeError
	if err != nil && job.Layers.LetsGo("cpus") && !errors.As(err, &included) {
		waived = []isolation.LayerState{{Layer: "cpus", Asked: t.Layers.CPUs, Optional: true, Note: err.Error()}}
	} else if err != nil {
		return Result{}, err
	}
	r.Choice = choice
	if !cpus.Empty() {
		r.CPUs = cpus.String()
	}
	job, err = l.withBinary(t, run.Block, job)
	if err != nil {
		return Result{}, err
	}
	job.CPUs = cpus
	load, err := l.startLoad(ctx, t, &job, cpus)
	if err != nil && ctx.Err() != nil {
		return Result{}, ErrInterrupted
	}
	if err != nil {
		return Result{}, err
	}
	res, err := l.Executor.Execute(ctx, job)
	l.stopLoad(load, &res, r)
	if res.Interrupted || err != nil && ctx.Err() != nil {
		return Result{}, ErrInterrupted
	}
	res.Layers = append(waived, res.Layers...)
	return res, err
}

// keepBad keeps the output of a run that did not go well, and gives its end
// for the terminal.
func (l *loop) keepBad(res *Result, r *Record) []byte {
	if r.Outcome == Kept {
		return nil
	}
	output, err := l.store.keepOutput(r.Run, r.Attempt, res)
	if err != nil {
		// The record matters more than the output: it is written without.
		r.Warnings = append(r.Warnings, err.Error())
	}
	r.Output = output
	for _, s := range []struct {
		name   string
		stream *Stream
	}{{"stdout", &res.Stdout}, {"stderr", &res.Stderr}} {
		if s.stream.Cut() && output != "" {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s was %d bytes long; of it the first %d and the last %d are kept (the limit)",
				s.name, s.stream.Total, len(s.stream.Head), len(s.stream.Tail)))
		}
	}
	if res.Stderr.Total > 0 {
		return res.Stderr.end()
	}
	return res.Stdout.end()
}

// tailLimit is how many bytes of a bad run's output an event shows.
const tailLimit = 2048

// end is the last bytes of a stream.
func (s *Stream) end() []byte {
	b := s.Head
	if s.Cut() && len(s.Tail) > 0 {
		b = s.Tail
	}
	return b[max(0, len(b)-tailLimit):]
}

func (l *loop) emit(e Event) {
	if l.Events != nil {
		l.Events(e)
	}
}

// warn tells and keeps a doubt about the session.
func (l *loop) warn(text string) {
	l.warnings = append(l.warnings, text)
	l.emit(Warning{text})
}
