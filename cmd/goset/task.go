package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goset/cpulist"
	"goset/harness"
	"goset/host"
	"goset/internal/cli"
	"goset/isolation"
	"goset/rank"
)

// task is one command from flags to exit status.
type task struct {
	*app
	argv   []string
	mode   isolation.Mode
	relay  *relay
	runner *harness.Runner
	// session is the task's time on the machine; nil: nothing is changed, and
	// leave ends what is a visit then.
	session *isolation.Session
	leave   func() error
	// stale is what earlier sessions left changed; nil: nothing is known.
	stale   *isolation.StaleError
	outputs outputs
	ran     bool // its exit status is goset's, but for 0 when something fails afterwards

	ranking   rank.Ranking
	selection rank.Selection
	siblings  cpulist.Set // the others of the task's cores
	findings  isolation.Findings
}

// task runs a command, or a shell.
func (a *app) task(cmd *cobra.Command, argv []string) (err error) {
	if err := errors.Join(a.opt.check(cmd.Flags()), a.opt.checkTask()); err != nil {
		return err
	}
	color, err := cli.Color(a.opt.color, a.stderr)
	if err != nil {
		return usageError{err}
	}
	t := &task{app: a, argv: argv, mode: a.opt.asked()}
	if a.opt.shell {
		t.argv = []string{shell()}
	}
	var ctx context.Context
	t.relay, ctx = startRelay(cmd.Context())
	// The relay is not stopped: the process ends with the task, and giving 60
	// signals back takes more than half a millisecond.
	if t.runner, err = harness.NewRunner(); err != nil {
		return err
	}
	defer func() { err = t.closing(err) }()
	// The runner turns the collector off for its short runs; a task may run for
	// days, and goset is off its CPUs.
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	if err := t.runner.Find(t.job()); err != nil {
		return startFailure(err)
	}
	if t.outputs, err = t.opt.openOutputs(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.outputs.close()) }()
	if err := t.open(ctx); err != nil {
		return t.or(t.ratherRefused(err))
	}
	if err := t.choose(ctx); err != nil {
		return t.or(t.blamed(err))
	}
	return t.execute(color)
}

// blamed adds to why a command cannot run what may have brought it about.
func (t *task) blamed(err error) error {
	if _, usage := errors.AsType[usageError](err); usage || t.stale == nil {
		return err
	}
	return fmt.Errorf("%w\nWhat an earlier session left changed may be why; undo it first: %s", err, t.stale.Undo())
}

// or is the end by a signal, or else the error.
func (t *task) or(err error) error {
	if ended := t.relay.ended(); ended != nil {
		return ended
	}
	return err
}

// shell is the shell that the person has.
func shell() string {
	if s := os.Getenv("SHELL"); s != "" {
		return s
	}
	return "/bin/sh"
}

// job is the task without what its choice adds.
func (t *task) job() harness.Job {
	return harness.Job{Argv: t.argv, Env: os.Environ(), Layers: t.mode, Foreground: true}
}

// startFailure gives a command that cannot be started the status that shells
// give it.
func startFailure(err error) error {
	if e, ok := errors.AsType[*harness.StartError](err); ok {
		return &exitError{code: e.ExitCode(), err: err}
	}
	return err
}

// admit refuses what cannot be held.
func (t *task) admit() error {
	if t.opt.bestEffort {
		t.mode = t.mode.BestEffort()
	}
	t.findings = check(t.opt.state, t.mode)
	if f := t.findings.Refused(); len(f) > 0 {
		return fmt.Errorf("cannot run %q here:\n%s%s", t.argv[0], refused(f), wayOut(t.findings))
	}
	return nil
}

// warn says what the command runs without.
func (t *task) warn() {
	for _, f := range t.findings.Warnings() {
		t.say(fmt.Sprintf("warning: %s; going on without it", refusedLayer(f)))
	}
}

// ratherRefused is the better answer to somebody who cannot have the machine
// now: that it would not do what was asked either.
func (t *task) ratherRefused(err error) error {
	if _, ok := errors.AsType[*isolation.LockedError](err); !ok {
		return err
	}
	return cmp.Or(t.admit(), err)
}

// choose refuses what cannot be held, and picks the CPUs. Nothing is changed.
func (t *task) choose(ctx context.Context) error {
	named := t.mode.CPUs
	if err := t.admit(); err != nil {
		return err
	}
	t.warn()
	if named != "" {
		return t.take(named)
	}
	return t.rank(ctx)
}

// check asks about the layers of a mode. Where the CPUs are yet to be chosen,
// the ranking says better whether they can be had.
func check(state string, m isolation.Mode) isolation.Findings {
	if m.CPUs != "" {
		return isolation.CheckIn(state, m)
	}
	m.CPUs = "quietest"
	return slices.DeleteFunc(isolation.CheckIn(state, m), func(u *isolation.Unsupported) bool { return u.Layer == "cpus" })
}

// take takes CPUs that were named. What they counted since boot is for the
// report.
func (t *task) take(list string) error {
	set, err := cpulist.Parse(list)
	if err != nil {
		return usageError{fmt.Errorf("cannot use -cpus: %w", err)}
	}
	mode := t.mode
	mode.N, mode.Include, mode.Exclude, mode.NUMA = 1, "", "", ""
	if t.ranking, err = harness.NewChooser(host.Local).RankSinceBoot(mode); err != nil {
		return err
	}
	t.selection = rank.Selection{Task: set.CPUs(), Set: set}
	t.place()
	t.selection.Housekeeper = t.ranking.Next(set.Union(t.siblings))
	for i := range t.ranking.Places {
		if p := &t.ranking.Places[i]; set.Contains(p.ID) {
			p.Reason = "named"
		}
	}
	return nil
}

// rank takes the quietest CPUs.
func (t *task) rank(ctx context.Context) error {
	var err error
	if t.mode.Sample > 0 {
		// What cannot be had is refused before the machine is watched for it.
		if err := harness.NewChooser(host.Local).Check(t.mode); err != nil {
			return err
		}
	}
	if t.ranking, err = rankCPUs(ctx, host.Local, t.mode); err != nil {
		return err
	}
	if t.selection, err = t.ranking.Take(t.mode.N); err != nil {
		return err
	}
	t.place()
	return nil
}

// rankCPUs watches the machine, or asks its counters since boot.
func rankCPUs(ctx context.Context, root host.FS, mode isolation.Mode) (rank.Ranking, error) {
	chooser := harness.NewChooser(root)
	if mode.Sample == 0 {
		return chooser.RankSinceBoot(mode)
	}
	return chooser.Rank(ctx, mode)
}

// place finds the siblings of the chosen CPUs.
func (t *task) place() {
	set := t.selection.Set
	t.mode.CPUs = set.String()
	for _, p := range t.ranking.Places {
		if set.Contains(p.ID) {
			t.siblings = t.siblings.Union(p.Siblings)
		}
	}
	t.siblings = t.siblings.Minus(set)
}

// execute runs the task, and reports.
func (t *task) execute(color bool) error {
	watch, err := t.newWatch()
	if err != nil {
		return err
	}
	defer watch.close()
	job := t.job()
	job.CPUs, job.Started, job.Ended = t.selection.Set, watch.started, watch.ended
	job.Starting, job.Tick, job.Every = watch.poller.Begin, watch.poller.Poll, t.opt.interval
	job.Forwarded = forwarded
	// One CPU is all that the housekeeper has: more than one processor of the
	// Go runtime would look for work there.
	runtime.GOMAXPROCS(1)
	if !t.relay.toTask(t.runner) {
		return t.relay.ended()
	}
	// The task is ended by signals, which are passed on, and by nothing else.
	res, err := t.runner.Execute(context.Background(), job)
	if res.Start.IsZero() {
		return startFailure(worded(err))
	}
	t.ran = true
	unreported := t.report(res, watch, color)
	for _, problem := range []error{err, watch.failed, unreported} {
		if problem != nil {
			t.say(problem.Error())
		}
	}
	if res.Exit == 0 && (err != nil || unreported != nil) {
		return &exitError{code: exitFailed} // said above
	}
	if res.Exit != 0 {
		return &exitError{code: res.Exit}
	}
	return nil
}

// report makes the report, and says what was not held to who does not see it.
func (t *task) report(res harness.Result, w *watch, color bool) error {
	if t.opt.quiet || t.opt.report != "" {
		t.sayUnheld(res.Layers)
	}
	if t.opt.quiet && t.opt.json == "" {
		return nil
	}
	return t.write(t.newReport(res, w), color)
}

// sayUnheld says what was not held, but for what warn has said.
func (t *task) sayUnheld(layers []isolation.LayerState) {
	said := t.findings.Warnings().Layers()
	for _, s := range layers {
		if !s.Held && !(s.Optional && slices.Contains(said, s.Layer)) {
			t.say("warning: " + unheld(s))
		}
	}
}

// writeTo writes a file, or stdout for "-".
func writeTo(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		return write(stdout)
	}
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}
