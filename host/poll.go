package host

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"goset/cpulist"
)

// PollOptions say what a [Poller] watches.
type PollOptions struct {
	// Task are the task's CPUs; Siblings the others of their cores.
	Task, Siblings cpulist.Set
	// Interval is how often Poll is meant to be called; 0: never, before and
	// after are all there is.
	Interval time.Duration
	// Proven are sources that an audit of this kernel found silent.
	Proven []string
}

// share bounds the cost of polling: one in share of the housekeeper's time for
// each of the two groups of files. Where reading takes longer, as on a machine
// with thousands of interrupts or for a task with thousands of threads, it is
// done more rarely.
const share = 1000

// Poller reads what the operating system does to a task and its CPUs: Begin
// before the task starts, Poll any number of times while it runs, End when it
// has ended. Counters are added up from reading to reading, so that wraps, rows
// that appear, CPUs that go and come and tasks that vanish leave the sums
// right. While the task runs, only sources are read that were shown to
// interrupt no other CPU. A Poller is not safe for concurrent use.
type Poller struct {
	fs     FS
	opt    PollOptions
	on     map[string]bool
	off    []Off
	failed []Unread
	cpus   []cpuWatch
	index  []int // by CPU number: place in cpus + 1

	interrupts  interruptWatch
	stat        *hotFile // nil: this machine does not have it
	statAt      time.Time
	queues      *hotFile
	pressure    *uint64
	temperature SpreadOf
	thermometer string
	tasks       taskWatch

	machine, task pace
	polls         int
	cost          time.Duration
}

// cpuWatch is what was added up about one CPU.
type cpuWatch struct {
	cpu                 int
	sibling             bool
	times, queue        sums
	elapsed             time.Duration // while it was in /proc/stat
	throttle, throttle0 *uint64
	frequency           *hotFile
	hz                  SpreadOf
}

// sums are the columns of one CPU's line: of /proc/stat its times in ticks, of
// /proc/schedstat what is read of its run queue.
type sums struct {
	last, sum [statColumns]uint64
	n         int // columns in the last reading; 0: it had no such line
	any       int // the columns of a difference; 0: there was none
	stale     bool
}

// The columns of /proc/stat that are read: user, nice, system, idle, iowait,
// irq, softirq, steal.
const (
	statColumns                 = 8
	idleColumn, ioColumn, steal = 3, 4, 7
)

// add adds the difference to the last reading. A column that went back, as idle
// can when a CPU comes online again, counts as 0. A CPU that was offline at one
// end has no difference.
func (s *sums) add(now [statColumns]uint64, n int) (counted bool) {
	if s.n == n && n > 0 && !s.stale {
		for i := range n {
			s.sum[i] += max(now[i], s.last[i]) - s.last[i]
		}
		s.any = n
		counted = true
	}
	s.last, s.n, s.stale = now, n, false
	return counted
}

// pace keeps the cost of a group of files in bounds.
type pace struct {
	due       time.Time
	last      time.Duration // cost of the last reading
	stretched bool
}

func (p *pace) ready(now time.Time) bool { return !now.Before(p.due) }

// spent sets when the group is read next. A tenth of the interval is given, so
// that a timer that comes a little early does not lose its turn. Of the last two
// costs the lower one counts: the other may have been a wait for the CPU.
func (p *pace) spent(now time.Time, took, interval time.Duration) {
	cost := took
	if p.last > 0 {
		cost = min(took, p.last)
	}
	p.last = took
	p.due = now.Add(interval - interval/10)
	if wait := share * cost; wait > interval {
		p.due = now.Add(wait)
		p.stretched = p.stretched || wait > 2*interval
	}
}

// NewPoller prepares to watch. The error is for CPUs that cannot be watched at
// all; a source that is not there is absent from the result.
func (f FS) NewPoller(opt PollOptions) (*Poller, error) {
	p := &Poller{fs: f, opt: opt, tasks: newTaskWatch(f)}
	p.on, p.off = f.Silent(opt.Proven)
	for _, set := range []cpulist.Set{opt.Task, opt.Siblings.Minus(opt.Task)} {
		for cpu := range set.All() {
			for len(p.index) <= cpu {
				p.index = append(p.index, 0)
			}
			p.cpus = append(p.cpus, cpuWatch{cpu: cpu, sibling: !opt.Task.Contains(cpu)})
			p.index[cpu] = len(p.cpus)
		}
	}
	file, err := f.OpenInterrupts()
	if err != nil && !Absent(err) {
		return nil, err
	}
	p.interrupts.file = file
	if p.stat, err = f.openHot(64<<10, "proc/stat"); err != nil {
		p.fail(SourceStat, err)
	}
	if p.queues, err = f.openHot(64<<10, "proc/schedstat"); err != nil {
		p.fail(SourceQueues, err)
	}
	p.thermometer = f.quietThermometer()
	if p.on[SourceFrequency] && opt.Interval > 0 {
		for i := range p.cpus {
			p.cpus[i].frequency, err = f.openHot(32, cpuDir(p.cpus[i].cpu)+"/cpufreq/scaling_cur_freq")
			p.fail(SourceFrequency, err)
		}
	}
	return p, nil
}

// Close closes the files that are held open.
func (p *Poller) Close() error {
	p.tasks.close()
	errs := []error{p.stat.close(), p.queues.close()}
	if p.interrupts.file != nil {
		errs = append(errs, p.interrupts.file.Close())
	}
	for i := range p.cpus {
		errs = append(errs, p.cpus[i].frequency.close())
	}
	return errors.Join(errs...)
}

// fail keeps the first failure of a source; what is absent is none.
func (p *Poller) fail(source string, err error) {
	if err == nil || Absent(err) || slices.ContainsFunc(p.failed, func(u Unread) bool { return u.What == source }) {
		return
	}
	p.failed = append(p.failed, Unread{What: source, Cause: cause(err)})
}

// Begin reads everything before the task starts: nothing is disturbed yet, so
// that all sources are read.
func (p *Poller) Begin() {
	p.fail(SourceInterrupts, p.interrupts.begin(p.fs, p.opt.Task))
	p.readMachine(nil)
	p.pressure = p.readPressure()
	for i := range p.cpus {
		c := &p.cpus[i]
		c.throttle0 = p.readThrottle(c.cpu)
	}
	p.readTemperature()
}

// Poll reads what may be read while the task runs. Its main process is pid.
func (p *Poller) Poll(pid int) {
	start := time.Now()
	if p.machine.ready(start) {
		if p.on[SourceInterrupts] {
			p.fail(SourceInterrupts, p.interrupts.add(p))
		}
		p.readMachine(p.on)
		p.machine.spent(start, time.Since(start), p.opt.Interval)
	}
	middle := time.Now()
	if p.task.ready(middle) {
		p.tasks.walk(pid, p.on)
		p.readFrequencies()
		if p.on[SourceTemperature] {
			p.readTemperature()
		}
		p.task.spent(middle, time.Since(middle), p.opt.Interval)
	}
	p.polls++
	p.cost += time.Since(start)
}

// End reads everything after the task has ended; its main process, not yet
// waited for, still stands in /proc.
func (p *Poller) End(pid int) *Telemetry {
	start := time.Now()
	p.fail(SourceInterrupts, p.interrupts.add(p))
	p.readMachine(nil)
	p.tasks.walk(pid, nil)
	for i := range p.cpus {
		p.cpus[i].throttle = p.readThrottle(p.cpus[i].cpu)
	}
	p.readTemperature()
	p.cost += time.Since(start)
	return p.sum()
}

// readMachine reads the times and run queues of the CPUs; on nil: all of it.
func (p *Poller) readMachine(on map[string]bool) {
	if p.stat != nil && (on == nil || on[SourceStat]) {
		now := time.Now()
		text, err := p.stat.read()
		if err == nil {
			err = p.addLines(text, 0, func(c *cpuWatch, v [statColumns]uint64, n int) {
				if c.times.add(v, n) {
					c.elapsed += now.Sub(p.statAt)
				}
			}, func(c *cpuWatch) *sums { return &c.times })
			p.statAt = now
		}
		p.fail(SourceStat, err)
	}
	if p.queues != nil && (on == nil || on[SourceQueues]) {
		text, err := p.queues.read()
		if err == nil {
			// The seventh to ninth number are running, waiting and slices.
			err = p.addLines(text, 6, func(c *cpuWatch, v [statColumns]uint64, n int) { c.queue.add(v, n) },
				func(c *cpuWatch) *sums { return &c.queue })
		}
		p.fail(SourceQueues, err)
	}
}

// addLines finds the lines "cpuN ..." of the watched CPUs and hands on their
// numbers from the given one on. A CPU without a line is offline.
func (p *Poller) addLines(text []byte, skip int, add func(*cpuWatch, [statColumns]uint64, int), of func(*cpuWatch) *sums) error {
	for i := range p.cpus {
		of(&p.cpus[i]).stale = true
	}
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		digits, ok := bytes.CutPrefix(line, []byte("cpu"))
		end := bytes.IndexByte(digits, ' ')
		if !ok || end <= 0 {
			continue
		}
		cpu, ok := parseCount(digits[:end])
		if !ok || cpu >= uint64(len(p.index)) || p.index[cpu] == 0 {
			continue
		}
		var v [statColumns + 6]uint64
		n, _, err := parseCounts(digits, end, v[:skip+statColumns])
		if err != nil || n <= skip {
			return fmt.Errorf("line %q has no counts", clip(line))
		}
		c := &p.cpus[p.index[cpu]-1]
		// Its line is here: it is only stale when it was not there before.
		of(c).stale = of(c).n == 0
		add(c, [statColumns]uint64(v[skip:skip+statColumns]), n-skip)
	}
	for i := range p.cpus {
		if s := of(&p.cpus[i]); s.stale {
			s.n = 0
		}
	}
	return nil
}

// readThrottle reads how often the core was throttled since boot; nil where
// the machine does not count it.
func (p *Poller) readThrottle(cpu int) *uint64 {
	n, err := p.fs.number(cpuDir(cpu), "thermal_throttle", "core_throttle_count")
	p.fail(SourceThrottle, err)
	if err != nil || n < 0 {
		return nil
	}
	u := uint64(n)
	return &u
}

// readTemperature adds a reading in thousandths of a degree.
func (p *Poller) readTemperature() {
	if p.thermometer == "" {
		return
	}
	n, err := p.fs.number(p.thermometer)
	p.fail(SourceTemperature, err)
	if err == nil {
		p.temperature.add(float64(n) / 1000)
	}
}

func (p *Poller) readFrequencies() {
	for i := range p.cpus {
		c := &p.cpus[i]
		if c.frequency == nil {
			continue
		}
		text, err := c.frequency.read()
		p.fail(SourceFrequency, err)
		if khz, ok := parseCount(bytes.TrimSpace(text)); err == nil && ok && khz > 0 {
			c.hz.add(1000 * float64(khz))
		}
	}
}

// readPressure reads for how long, in µs since boot, some task waited for a CPU.
func (p *Poller) readPressure() *uint64 {
	total, err := p.fs.cpuPressure()
	p.fail(SourcePressure, err)
	if err != nil {
		return nil
	}
	return &total
}

// sum makes the result.
func (p *Poller) sum() *Telemetry {
	t := &Telemetry{
		Polls: p.polls, Interval: p.opt.Interval.Seconds(), Stretched: p.machine.stretched || p.task.stretched,
		Task: p.tasks.sum(), Temp: p.temperature.orNil(), Off: p.off, Cost: p.cost,
	}
	for i := range p.cpus {
		t.CPUs = append(t.CPUs, p.cpus[i].sum())
	}
	if before, after := p.pressure, p.readPressure(); before != nil && after != nil {
		t.Pressure = new(time.Duration(grown(*before, *after) * 1000).Seconds())
	}
	p.sumInterrupts(t)
	t.Drift = p.interrupts.drift(p.fs, p)
	t.Failed = p.failed
	return t
}

// grown is by how much a counter of 64 bits went up; one that went down was
// started anew.
func grown(before, after uint64) uint64 {
	if after < before {
		return after
	}
	return after - before
}

func (c *cpuWatch) sum() CPUTelemetry {
	t := CPUTelemetry{CPU: c.cpu, Sibling: c.sibling, Frequency: c.hz.orNil()}
	if c.times.any > idleColumn {
		// The tick, which accounts for busy time, misses what runs between two
		// ticks; idle time is measured, and what is left was not idle.
		var busy, idle time.Duration
		for i, n := range c.times.sum[:c.times.any] {
			switch i {
			case idleColumn, ioColumn:
				idle += time.Duration(n) * Tick
			case steal:
				idle += time.Duration(n) * Tick
				t.Steal = new((time.Duration(n) * Tick).Seconds())
			default:
				busy += time.Duration(n) * Tick
			}
		}
		t.Busy = new(min(max(busy, c.elapsed-idle, 0), c.elapsed).Seconds())
	}
	if c.queue.any > 1 {
		t.Waited = new(time.Duration(c.queue.sum[1]).Seconds())
	}
	if c.throttle0 != nil && c.throttle != nil {
		t.Throttled = new(grown(*c.throttle0, *c.throttle))
	}
	return t
}
