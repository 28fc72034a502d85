package host

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
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
	stat        *Stat
	statAt      time.Time
	queues      *Schedstat
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
	times               CPUTime
	elapsed             time.Duration // while it was in /proc/stat
	inStat              bool
	waited              time.Duration
	inQueues            bool
	throttle, throttle0 *uint64
	frequency           *numberFile
	hz                  SpreadOf
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
	p.thermometer = f.quietThermometer()
	if p.on[SourceFrequency] && opt.Interval > 0 {
		for i := range p.cpus {
			p.cpus[i].frequency = f.openNumber(cpuDir(p.cpus[i].cpu) + "/cpufreq/scaling_cur_freq")
		}
	}
	return p, nil
}

// Close closes the files that are held open.
func (p *Poller) Close() error {
	var errs []error
	if p.interrupts.file != nil {
		errs = append(errs, p.interrupts.file.Close())
	}
	for i := range p.cpus {
		if f := p.cpus[i].frequency; f != nil {
			errs = append(errs, f.file.Close())
		}
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
	if on == nil || on[SourceStat] {
		now := time.Now()
		stat, err := p.fs.Stat()
		p.fail(SourceStat, err)
		if err == nil {
			p.addStat(stat, now)
		}
	}
	if on == nil || on[SourceQueues] {
		queues, err := p.fs.Schedstat()
		p.fail(SourceQueues, err)
		if err == nil {
			p.addQueues(queues)
		}
	}
}

func (p *Poller) addStat(stat *Stat, now time.Time) {
	if p.stat != nil {
		for i := range p.cpus {
			c := &p.cpus[i]
			was, ok1 := p.stat.CPUs[c.cpu]
			is, ok2 := stat.CPUs[c.cpu]
			if !ok1 || !ok2 {
				continue // offline at one end: what it did is not told
			}
			c.times.add(is.Since(was))
			c.elapsed += now.Sub(p.statAt)
			c.inStat = true
		}
	}
	p.stat, p.statAt = stat, now
}

// add sums up differences.
func (t *CPUTime) add(d CPUTime) {
	t.User, t.Nice, t.System, t.Idle = t.User+d.User, t.Nice+d.Nice, t.System+d.System, t.Idle+d.Idle
	t.IOWait, t.IRQ, t.SoftIRQ = t.IOWait+d.IOWait, t.IRQ+d.IRQ, t.SoftIRQ+d.SoftIRQ
	if d.Steal != nil {
		sum := *d.Steal
		if t.Steal != nil {
			sum += *t.Steal
		}
		t.Steal = &sum
	}
}

func (p *Poller) addQueues(queues *Schedstat) {
	if p.queues != nil {
		for i := range p.cpus {
			c := &p.cpus[i]
			was, ok1 := p.queues.CPUs[c.cpu]
			is, ok2 := queues.CPUs[c.cpu]
			if ok1 && ok2 {
				c.waited += max(is.Waiting-was.Waiting, 0)
				c.inQueues = true
			}
		}
	}
	p.queues = queues
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
		khz, err := c.frequency.read()
		if err == nil && khz > 0 {
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
	if c.inStat {
		// The tick, which accounts for busy time, misses what runs between two
		// ticks; idle time is measured, and what is left was not idle.
		left := c.elapsed - c.times.Idle - c.times.IOWait
		if c.times.Steal != nil {
			left -= *c.times.Steal
			t.Steal = new(c.times.Steal.Seconds())
		}
		t.Busy = new(min(max(c.times.Busy(), left, 0), c.elapsed).Seconds())
	}
	if c.inQueues {
		t.Waited = new(c.waited.Seconds())
	}
	if c.throttle0 != nil && c.throttle != nil {
		t.Throttled = new(grown(*c.throttle0, *c.throttle))
	}
	return t
}

// sumInterrupts splits the rows into steerable and fixed ones, and lists those
// that counted, the largest first.
func (p *Poller) sumInterrupts(t *Telemetry) {
	for i := range t.CPUs {
		if p.interrupts.seen[t.CPUs[i].CPU] {
			t.CPUs[i].Steerable, t.CPUs[i].Fixed = new(uint64), new(uint64)
		}
	}
	for i := range p.interrupts.rows {
		row := &p.interrupts.rows[i]
		out := RowTelemetry{Row: row.row.Key(), Device: row.row.Device()}
		var err error
		for j, n := range row.counts {
			if n == 0 {
				continue
			}
			if out.Steering == "" {
				if out.Steering, err = p.fs.Steering(&row.row); err != nil {
					p.fail("steering", err)
				}
			}
			if p.cpus[j].sibling {
				out.Siblings += n
			} else {
				out.Task += n
			}
			if to := t.CPUs[j].Fixed; out.Steering == Steerable {
				*t.CPUs[j].Steerable += n
			} else if to != nil {
				*to += n
			}
		}
		if out.Steering != "" {
			t.Rows = append(t.Rows, out)
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b RowTelemetry) int {
		return cmp.Or(-cmp.Compare(a.Task, b.Task), -cmp.Compare(a.Siblings, b.Siblings))
	})
}

// interruptWatch adds up /proc/interrupts on the watched CPUs.
type interruptWatch struct {
	file            *InterruptsFile
	last, now, diff Interrupts
	rows            []rowSum
	seen            map[int]bool
	homes           map[int]cpulist.Set // where numbered interrupts went before
}

// rowSum is one row's counts, by watched CPU.
type rowSum struct {
	row    InterruptRow // without counts
	counts []uint64
}

func (w *interruptWatch) begin(f FS, task cpulist.Set) error {
	w.seen = map[int]bool{}
	if w.file == nil {
		return nil
	}
	if err := w.file.Read(&w.last); err != nil {
		return err
	}
	w.homes = map[int]cpulist.Set{}
	for i := range w.last.Rows {
		if n := w.last.Rows[i].IRQ(); n >= 0 {
			if home, err := f.irqHome(n); err == nil && !home.Empty() {
				w.homes[n] = home
			}
		}
	}
	return nil
}

// irqHome is where an interrupt goes.
func (f FS) irqHome(n int) (cpulist.Set, error) {
	dir := "proc/irq/" + strconv.Itoa(n)
	home, err := f.cpus(dir, "effective_affinity_list")
	if absent(err) {
		home, err = f.cpus(dir, "smp_affinity_list")
	}
	return home, err
}

// add adds what was counted since the last reading. It allocates nothing while
// rows and columns stay the same.
func (w *interruptWatch) add(p *Poller) error {
	if w.file == nil {
		return nil
	}
	if err := w.file.Read(&w.now); err != nil {
		return err
	}
	w.diff.Sub(&w.now, &w.last)
	w.last, w.now = w.now, w.last
	for i := range p.cpus {
		if cpu := p.cpus[i].cpu; w.diff.has(cpu) && !w.seen[cpu] {
			w.seen[cpu] = true
		}
	}
	for i := range w.diff.Rows {
		row := &w.diff.Rows[i]
		if row.Global {
			continue
		}
		sum := w.rowSum(i, row, len(p.cpus))
		for j := range p.cpus {
			n, _ := w.diff.Count(row, p.cpus[j].cpu)
			sum.counts[j] += n
		}
	}
	return nil
}

// rowSum finds the sum of a row, which mostly stands at the same place. An
// interrupt that another device got is another row.
func (w *interruptWatch) rowSum(i int, row *InterruptRow, cpus int) *rowSum {
	same := func(s *rowSum) bool {
		return s.row.Label == row.Label && s.row.Occurrence == row.Occurrence && s.row.Text == row.Text
	}
	if i < len(w.rows) && same(&w.rows[i]) {
		return &w.rows[i]
	}
	for j := range w.rows {
		if same(&w.rows[j]) {
			return &w.rows[j]
		}
	}
	w.rows = append(w.rows, rowSum{
		row:    InterruptRow{Label: row.Label, Occurrence: row.Occurrence, Text: row.Text},
		counts: make([]uint64, cpus),
	})
	return &w.rows[len(w.rows)-1]
}

// drift finds the interrupts that moved onto the task's CPUs, or counted there
// though they belonged elsewhere; nil where the kernel does not say where
// interrupts go.
func (w *interruptWatch) drift(f FS, p *Poller) []Drift {
	if len(w.homes) == 0 {
		return nil
	}
	found := []Drift{}
	for i := range w.rows {
		row := &w.rows[i]
		irq := row.row.IRQ()
		from, known := w.homes[irq]
		if irq < 0 || !known || from.Intersects(p.opt.Task) {
			continue
		}
		d := Drift{IRQ: irq, Device: row.row.Device(), From: from}
		for j, n := range row.counts {
			if !p.cpus[j].sibling {
				d.Count += n
			}
		}
		to, err := f.irqHome(irq)
		if err == nil {
			d.To = to
		}
		if d.Count > 0 || to.Intersects(p.opt.Task) {
			found = append(found, d)
		}
	}
	return found
}
