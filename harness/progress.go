package harness

import "time"

// Event is what Execute tells while it works: Started, Gap, RunStarted,
// RunEnded, Warning, Finished. Events come one at a time on the goroutine of
// Execute and never while a child runs, so that a handler may render; the next
// run waits for it.
type Event interface{ event() }

// Started is the first event of a session.
type Started struct {
	Experiment *Experiment
	Plan       *Plan
	Dir        string
	Progress   *Progress
	// Stopped is how an earlier session ended the plan early; nil: it did not.
	Stopped *Stopped
}

// Gap comes at the start of the idle time before a run and then once a second
// until it ends. Left is how much of it is still to come.
type Gap struct {
	Left     time.Duration
	Progress *Progress
}

// RunStarted comes right before a child is started.
type RunStarted struct {
	Run       int // index into Plan.Runs
	Attempt   int
	Treatment *Treatment
	Progress  *Progress
}

// RunEnded comes when the record of a run has been written. The record is
// valid until the handler returns.
type RunEnded struct {
	Record *Record
	// Tail is the end of what a failed or void run wrote: of stderr, or of
	// stdout where that is empty.
	Tail     []byte
	Again    bool // a further attempt follows
	Progress *Progress
}

// Warning is a doubt that belongs to the session and not to one record.
type Warning struct{ Text string }

// Finished is the last event of a session, also of an interrupted one.
type Finished struct{ Summary Summary }

func (Started) event()    {}
func (Gap) event()        {}
func (RunStarted) event() {}
func (RunEnded) event()   {}
func (Warning) event()    {}
func (Finished) event()   {}

// Counts is how many runs have which outcome, by their last attempt.
type Counts struct{ Kept, Void, Failed int }

func (c *Counts) add(o Outcome) {
	switch o {
	case Kept:
		c.Kept++
	case Void:
		c.Void++
	case Failed:
		c.Failed++
	}
}

// Sum is the number of runs counted.
func (c Counts) Sum() int { return c.Kept + c.Void + c.Failed }

// Progress is how far a plan has got, over all sessions.
type Progress struct {
	Total    int    // runs of the plan, with warm-up
	Measured Counts // runs that ended, without warm-up
	Warmup   Counts

	estimate *Estimator
	gap      time.Duration // of the coming run's idle time, what is over
}

// Done is how many runs have ended.
func (p *Progress) Done() int { return p.Measured.Sum() + p.Warmup.Sum() }

// Left estimates the time until the last run has ended; see Estimator.
func (p *Progress) Left() (left time.Duration, ok bool) {
	if p.estimate == nil {
		return 0, false
	}
	left, ok = p.estimate.Left()
	return max(0, left-p.gap), ok
}

// Estimator estimates how long the rest of a plan takes: for each treatment,
// the mean of its own observed runs times its runs to come, and the idle time
// before each. A treatment without runs takes the author's estimate or the
// kernel's nominal duration, else the mean of its workload, else the mean of
// all. It is pure: time comes in as
// observations only.
type Estimator struct {
	idle       time.Duration
	treatments []treatmentTime
	workloads  []timeSum // by the index in treatmentTime
	all        timeSum
}

// treatmentTime is what is known about the duration of one treatment's runs.
type treatmentTime struct {
	timeSum
	toCome   int
	expect   time.Duration // negative: not known
	workload int
}

// timeSum is a mean in the making.
type timeSum struct {
	n   int
	sum time.Duration
}

func (s *timeSum) add(d time.Duration) { s.n++; s.sum += d }

func (s *timeSum) mean() time.Duration { return s.sum / time.Duration(s.n) }

// newEstimator knows a plan none of whose runs has ended.
func newEstimator(p *Plan, idle time.Duration) *Estimator {
	e := &Estimator{idle: idle, treatments: make([]treatmentTime, len(p.Treatments))}
	index := map[string]int{}
	for i := range p.Treatments {
		t := &p.Treatments[i]
		w, ok := index[t.Workload]
		if !ok {
			w = len(index)
			index[t.Workload] = w
		}
		e.treatments[i].workload = w
		e.treatments[i].expect = expected(t)
	}
	e.workloads = make([]timeSum, len(index))
	for _, r := range p.Runs {
		e.treatments[r.Treatment].toCome++
	}
	return e
}

// Observe takes in the duration of one attempt at a run of a treatment, from
// the choice of its CPUs to its end, without idle time.
func (e *Estimator) Observe(treatment int, d time.Duration) {
	t := &e.treatments[treatment]
	t.add(d)
	e.workloads[t.workload].add(d)
	e.all.add(d)
}

// Ended says that a run of a treatment is not to come any more.
func (e *Estimator) Ended(treatment int) {
	if t := &e.treatments[treatment]; t.toCome > 0 {
		t.toCome--
	}
}

// Left is the estimate, in time linear in the number of treatments. It is not
// ok while nothing is known about a treatment that is to come.
func (e *Estimator) Left() (left time.Duration, ok bool) {
	for i := range e.treatments {
		t := &e.treatments[i]
		if t.toCome == 0 {
			continue
		}
		each, known := e.each(t)
		if !known {
			return 0, false
		}
		left += time.Duration(t.toCome) * (each + e.idle)
	}
	return left, true
}

// each is the expected duration of one run.
func (e *Estimator) each(t *treatmentTime) (d time.Duration, ok bool) {
	switch {
	case t.n > 0:
		return t.mean(), true
	case t.expect >= 0:
		return t.expect, true
	case e.workloads[t.workload].n > 0:
		return e.workloads[t.workload].mean(), true
	case e.all.n > 0:
		return e.all.mean(), true
	}
	return 0, false
}
