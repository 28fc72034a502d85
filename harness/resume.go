package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/diff"
)

// ResumeOptions is what Resume needs beside a session, whose Experiment, Plan
// and Dir are left empty.
type ResumeOptions struct {
	// Load decodes the experiment that a manifest recorded and makes its plan
	// anew, with the manifest's seed.
	Load func(*Manifest) (*Experiment, *Plan, error)
	// Current gives the text as which the manifest's Source, with its
	// Overrides, would be run now. An error that is fs.ErrNotExist says that
	// the file is gone, which is no fault. Nil: Source is read as it is.
	Current func(*Manifest) ([]byte, error)
	// AsRecorded goes on with the recorded experiment though its file changed.
	AsRecorded bool
}

// ChangedError says that an experiment is not what it was when its runs began.
type ChangedError struct {
	Path string // the file that changed
	Diff string // unified, from the recorded text to the file's
}

// Error holds the diff.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("cannot resume: experiment %q is not what it was when the runs began (undo the change, go on as recorded with -as-recorded, or start a new run):\n%s", e.Path, e.Diff)
}

// Resume goes on with the plan of a result folder at its first missing run. No
// run that has a record is repeated, but for attempts that are still due. CPUs
// that were chosen for the whole experiment, or for a block that has runs left,
// are those of the records, however old; a warning says which and since when. A
// folder that another process works in is refused (*LockedError), as is an
// experiment that has changed (*ChangedError).
func Resume(ctx context.Context, dir string, s Session, o ResumeOptions) (Summary, error) {
	st, err := openStore(dir)
	if err != nil {
		return Summary{}, err
	}
	l, err := resumed(ctx, st, dir, s, o)
	if err != nil {
		return Summary{}, errors.Join(err, st.close())
	}
	return l.run(ctx)
}

// resumed makes the loop of a folder that is locked.
func resumed(ctx context.Context, st *store, dir string, s Session, o ResumeOptions) (*loop, error) {
	results, err := OpenResults(dir)
	if err != nil {
		return nil, err
	}
	m := results.Manifest
	if !o.AsRecorded {
		if err := unchanged(m, dir, o); err != nil {
			return nil, err
		}
	}
	s.Dir = dir
	s.Experiment, s.Plan, err = o.Load(m)
	if err != nil {
		return nil, fmt.Errorf("cannot resume %q: %w", dir, err)
	}
	if err := m.samePlan(s.Plan); err != nil {
		return nil, fmt.Errorf("cannot resume %q: %v (resume with goset-bench %s, which made it)", dir, err, m.Tool)
	}
	if err := s.buildGo(ctx, m.Builds); err != nil {
		return nil, err
	}
	l, err := newLoop(s)
	if err != nil {
		return nil, err
	}
	l.store, l.stopped = st, m.Stopped
	if err := l.recall(ctx, results); err != nil {
		return nil, err
	}
	if err := l.restore(m, results, o); err != nil {
		return nil, err
	}
	return l, nil
}

// unchanged compares the experiment's text on record with the copy in the
// folder and with the file that it came from, where that still is.
func unchanged(m *Manifest, dir string, o ResumeOptions) error {
	same := func(path string, text []byte, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot compare experiment %q with what was recorded: %v (go on as recorded with -as-recorded)", path, err)
		}
		if string(text) == m.Text {
			return nil
		}
		return &ChangedError{Path: path, Diff: string(diff.Diff("recorded", []byte(m.Text), path, text))}
	}
	path := filepath.Join(dir, ExperimentFile)
	text, err := os.ReadFile(path)
	if err := same(path, text, err); err != nil {
		return err
	}
	if m.Source == "" {
		return nil
	}
	current := o.Current
	if current == nil {
		current = func(m *Manifest) ([]byte, error) { return os.ReadFile(m.Source) }
	}
	text, err = current(m)
	return same(m.Source, text, err)
}

// samePlan says where a plan differs from the recorded one. Numbers of records
// mean nothing in another plan.
func (m *Manifest) samePlan(p *Plan) error {
	if p.Seed != m.Seed || len(p.Runs) != len(m.Runs) || len(p.Treatments) != len(m.Treatments) {
		return fmt.Errorf("the experiment makes a plan of %d runs of %d treatments with seed %d now, and the recorded one has %d of %d with seed %d",
			len(p.Runs), len(p.Treatments), p.Seed, len(m.Runs), len(m.Treatments), m.Seed)
	}
	for i := range p.Treatments {
		a, b := &p.Treatments[i], &m.Treatments[i]
		if a.Index != b.Index || a.Workload != b.Workload || a.Mode != b.Mode || a.Condition != b.Condition || !slices.Equal(a.Levels, b.Levels) {
			return fmt.Errorf("treatment %d of the experiment is %s now, and %s on record", i, a.label(), b.label())
		}
	}
	for i := range p.Runs {
		if p.Runs[i] != m.Runs[i] {
			return fmt.Errorf("run %d of the experiment's plan is %+v now, and %+v on record", i, p.Runs[i], m.Runs[i])
		}
	}
	return nil
}

// label names a treatment in messages.
func (t *Treatment) label() string {
	s := t.Workload + "/" + t.Mode
	if t.Condition != "" {
		s += "/" + t.Condition
	}
	for _, l := range t.Levels {
		s += " " + l.Factor + "=" + l.Value
	}
	return fmt.Sprintf("%q", s)
}

// recall takes in the records of earlier sessions.
func (l *loop) recall(ctx context.Context, results *Results) error {
	last := -1
	err := results.Each(ctx, func(r *Record) error {
		state := &l.done[r.Run]
		// A gap is no fault: the line of an attempt may have been taken out.
		if r.Attempt <= int(state.attempts) {
			return fmt.Errorf("cannot resume %q: %s has attempt %d at run %d after attempt %d", l.Dir, RecordsFile, r.Attempt, r.Run, state.attempts)
		}
		state.attempts, state.outcome = uint16(r.Attempt), stateOf(r.Outcome)
		l.known.recall(r)
		if l.Stopper != nil {
			l.Stopper.Observe(r)
		}
		l.progress.estimate.Observe(r.Treatment, r.took())
		last = r.Run
		return l.cpus.recall(r)
	})
	if err != nil {
		return err
	}
	l.settle(last)
	return nil
}

// settle counts the runs that have ended. Only the one that was recorded last
// can have attempts due: attempts at a run are adjacent, which readers of the
// records rely on.
func (l *loop) settle(last int) {
	attempts := 1 + l.Experiment.Plan.Retries
	for i := range l.done {
		state := &l.done[i]
		if state.attempts == 0 || i == last && !state.ended(attempts) {
			continue
		}
		state.attempts = max(state.attempts, uint16(attempts))
		run := l.Plan.Runs[i]
		l.progress.count(outcomeOf(state.outcome), run.Block == 0)
		l.progress.estimate.Ended(int(run.Treatment))
	}
}

// took is how long a run on record took, as far as the record tells.
func (r *Record) took() time.Duration {
	d := time.Duration(r.Values["wall"] * float64(time.Second))
	if r.Choice != nil && r.Choice.Own(r) {
		d += r.Choice.Sample
	}
	return d
}

// restore makes the folder what it would be had the last session ended well,
// and enters the new one: half a record is cut off, the letters of the states
// are those of the records, the copy of the experiment is the recorded one.
func (l *loop) restore(m *Manifest, results *Results, o ResumeOptions) error {
	st := l.store
	if results.Torn > 0 {
		l.warnLater(fmt.Sprintf("cut %d bytes of a half-written record off %s: its run is repeated", results.Torn, RecordsFile))
	}
	st.size = results.Size
	// Also gives back what a killed session had set aside.
	if err := st.records.Truncate(st.size); err != nil {
		return fmt.Errorf("cannot cut %q to its last whole line: %v", st.records.Name(), err)
	}
	for i := range m.States {
		m.States[i] = StatePending
		if l.done[i].attempts > 0 {
			m.States[i] = l.done[i].outcome
		}
	}
	session := l.Provenance.session(l.clock.Now())
	session.Warnings = m.differences(l.Provenance)
	if len(session.Warnings) > 0 {
		session.Host = l.Provenance.Host
	}
	if l.stopped == nil {
		attempts := 1 + l.Experiment.Plan.Retries
		session.Warnings = append(session.Warnings, l.cpus.heldOver(func(run int) bool { return !l.done[run].ended(attempts) })...)
	}
	for _, text := range session.Warnings {
		l.warnLater(text)
	}
	m.Sessions = append(m.Sessions, session)
	if o.AsRecorded {
		if err := st.replace(ExperimentFile, []byte(m.Text)); err != nil {
			return err
		}
	}
	return st.writeManifest(m)
}

// warnLater keeps a warning for the start of the session's events.
func (l *loop) warnLater(text string) { l.warnings = append(l.warnings, text) }
