package harness

import (
	"fmt"
	"slices"
	"time"

	"goset/cpulist"
)

// The bounds of what a load must get.
const (
	// leastShare is the part of its fair share (a CPU, or the CPUs over the
	// spinners and hogs where these are more) that each spinner and hog must
	// get before the run: a quarter. Half of it may go to other work on this
	// machine, and half again to an uneven spread over the CPUs; a process that
	// is asleep gets nothing.
	leastShare = 0.25
	// leastAwake is the part of the run that each must have been on a CPU or
	// waiting for one. That does not depend on what else runs: the rest is
	// sleep.
	leastAwake = 0.75
	// unsettled is what the kernel's figures may lack: up to a tick of running
	// and one turn of all that share a CPU of waiting, which count when they
	// end.
	unsettled = 30 * time.Millisecond
	// leastWakeups is the part of its turns that a timer must have had.
	leastWakeups = 0.5
	// judgeable is the shortest window of which a share in ticks can be told.
	judgeable = 100 * time.Millisecond
	// commandQuiet is how long a command may get no CPU time at all.
	commandQuiet = time.Second
)

// judge says whether a load was what it should have been.
type judge struct{ outranked bool }

// states sums up each kind between two samples. starting is true before the
// run, when the load must get its share; during the run it must be awake.
func (j *judge) states(spec *LoadSpec, placed []LoadProcess, before, after *loadSample, starting bool) []LoadState {
	window := after.at.Sub(before.at)
	var out []LoadState
	for i := range placed {
		p := &placed[i]
		at := slices.IndexFunc(out, func(s LoadState) bool { return s.Kind == p.Kind })
		if at < 0 {
			at = len(out)
			out = append(out, LoadState{Kind: p.Kind, Asked: spec.asked(p.Kind), Window: window, Least: 1e9})
		}
		s := &out[at]
		s.take(p, &before.procs[i], &after.procs[i])
		if s.Fault != "" {
			continue
		}
		c := loadCase{judge: j, process: p, before: &before.procs[i], after: &after.procs[i], window: after.procs[i].from.Sub(before.procs[i].to), starting: starting,
			fair: j.fair(placed), crowd: j.crowd(placed)}
		s.Fault = c.fault()
		if note := c.note(); s.Note == "" && s.Fault == "" {
			s.Note = note
		}
	}
	return out
}

// take adds what one process got.
func (s *LoadState) take(p *LoadProcess, before, after *procSample) {
	s.Processes++
	got := max(0, after.run-before.run)
	s.Time += got
	share := 0.0
	if d := after.to.Sub(before.to); d > 0 {
		share = float64(got) / float64(d)
	}
	s.Least = min(s.Least, share)
	s.CPUs = union(s.CPUs, after.allowed)
	s.RanOn = union(s.RanOn, after.on)
	if p.Kind == LoadInterrupts && before.wakeups != nil && after.wakeups != nil {
		n := *after.wakeups - min(*before.wakeups, *after.wakeups)
		if s.Wakeups != nil {
			n += *s.Wakeups
		}
		s.Wakeups = &n
	}
}

func union(list string, with cpulist.Set) string {
	set, err := parseCPUs(list)
	if err != nil {
		return list
	}
	return set.Union(with).String()
}

// fair is the share of a CPU that each spinner and hog would have with nothing
// else to run.
func (j *judge) fair(placed []LoadProcess) float64 { return min(1, 1/j.crowd(placed)) }

// crowd is how many spinners and hogs there are for each of their CPUs.
func (j *judge) crowd(placed []LoadProcess) float64 {
	var cpus cpulist.Set
	n := 0
	for i := range placed {
		if p := &placed[i]; p.Kind == LoadSpinners || p.Kind == LoadMemory {
			n++
			set, err := parseCPUs(p.CPUs)
			if err == nil {
				cpus = cpus.Union(set)
			}
		}
	}
	return max(1, float64(n)) / float64(cpusOr(cpus))
}

// loadCase is one process between two samples.
type loadCase struct {
	*judge
	process       *LoadProcess
	before, after *procSample
	// window is the time that lies between the two for sure.
	window      time.Duration
	starting    bool
	fair, crowd float64
}

// anyEnded is true when there is a process that will not come up any more.
func (j *judge) anyEnded(placed []LoadProcess, before, after *loadSample) bool {
	for i := range placed {
		c := loadCase{judge: j, process: &placed[i], before: &before.procs[i], after: &after.procs[i], starting: true}
		if c.ended() {
			return true
		}
	}
	return false
}

// ended is true for a process that will not come up any more.
func (c *loadCase) ended() bool {
	gone := !c.after.there && (c.after.told || c.starting && c.before.told)
	// The kernel keeps the first thread for who waits, without the loop's.
	return gone || c.process.Kind != LoadCommand && c.after.precise && c.before.precise && c.awake() < 0
}

// fault says why the process is not the load that it should be; "": it is.
func (c *loadCase) fault() string {
	switch {
	case c.ended():
		return fmt.Sprintf("a %s has ended", c.process.noun())
	case c.after.state == 'T' || c.after.state == 't':
		return fmt.Sprintf("a %s was stopped", c.process.noun())
	}
	if text := c.strayed(); text != "" {
		return text
	}
	switch c.process.Kind {
	case LoadInterrupts:
		return c.unwoken()
	case LoadCommand:
		return c.quiet()
	}
	if c.after.told && c.after.state != 'R' && !c.starting {
		return fmt.Sprintf("a %s was asleep", c.process.noun())
	}
	if c.starting || !c.after.precise || !c.before.precise {
		return c.starved()
	}
	return c.slept()
}

// strayed compares where it may run with where it should.
func (c *loadCase) strayed() string {
	given, err := parseCPUs(c.process.CPUs)
	if err != nil || given.Empty() || c.after.allowed.Empty() {
		return ""
	}
	for _, seen := range []cpulist.Set{c.after.allowed, c.after.on} {
		if !seen.SubsetOf(given) {
			return fmt.Sprintf("a %s strayed: it was to run on %s, and was on %s", c.process.noun(), cpusNamed(given), cpusNamed(seen))
		}
	}
	return ""
}

// share is the CPU time of the window as a share of it.
func (c *loadCase) share() float64 {
	if c.window <= 0 {
		return 0
	}
	return float64(c.after.run-c.before.run) / float64(c.window)
}

// starved holds a spinner or hog to its share.
func (c *loadCase) starved() string {
	// Where nothing is told, nothing can be asked before the end.
	if c.starting && !c.after.told || c.window < judgeable && !c.starting || c.outranked && !c.starting {
		return ""
	}
	if share := c.share(); share < leastShare*c.fair {
		return fmt.Sprintf("a %s got %.3f of a CPU, less than a quarter of the %.3f that are its share", c.process.noun(), share, c.fair)
	}
	return ""
}

// awake is how long the process was on a CPU or waited for one.
func (c *loadCase) awake() time.Duration {
	return c.after.run - c.before.run + c.after.wait - c.before.wait
}

// slept holds a spinner or hog to being on a CPU or waiting for one.
func (c *loadCase) slept() string {
	if c.outranked {
		return "" // its waiting counts when it ends, which may be after the run
	}
	// A wait counts when it ends: beside work of a higher priority one may last
	// longer than the run. What did not give up its CPU has waited.
	if b, a := c.before.sleeps, c.after.sleeps; b != nil && a != nil && *a <= *b {
		return ""
	}
	awake := c.awake()
	slack := unsettled + time.Duration(c.crowd*float64(unsettled))
	if asleep := c.window - awake; asleep > slack && float64(awake) < leastAwake*float64(c.window) {
		return fmt.Sprintf("a %s slept: in %v it was on a CPU or waiting for one for %v", c.process.noun(), c.window.Round(time.Millisecond), awake.Round(time.Millisecond))
	}
	return ""
}

// unwoken holds a timer to its turns. One that waits for a CPU that is busy has
// been woken and is late: only the time that it slept counts.
func (c *loadCase) unwoken() string {
	slept := c.window - unsettled
	if c.after.precise && c.before.precise {
		slept -= c.awake()
	}
	want := float64(c.process.Rate) * slept.Seconds()
	if c.after.state == 'R' {
		return "" // it is late now, and for how long counts when its wait ends
	}
	if c.before.wakeups == nil || c.after.wakeups == nil || want < 10 || c.outranked && !c.starting {
		return ""
	}
	if got := float64(*c.after.wakeups) - float64(*c.before.wakeups); got < leastWakeups*want {
		return fmt.Sprintf("a timer woke %.0f times in %v of sleep instead of %.0f", max(0, got), slept.Round(time.Millisecond), want)
	}
	return ""
}

// quiet holds a command to doing something.
func (c *loadCase) quiet() string {
	if c.window >= commandQuiet && c.after.run <= c.before.run && c.after.state != 'R' && !c.starting {
		return fmt.Sprintf("the %s got no CPU time in %v", c.process.noun(), c.window.Round(time.Millisecond))
	}
	return ""
}

// note says of a load that the task is preferred to that it got little.
func (c *loadCase) note() string {
	heavy := c.process.Kind == LoadSpinners || c.process.Kind == LoadMemory
	if heavy && c.outranked && !c.starting && c.window >= judgeable && c.share() < leastShare*c.fair {
		return "the scheduler prefers the task, and the load got little"
	}
	return ""
}
