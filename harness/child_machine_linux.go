package harness

import (
	"bytes"
	"strconv"
	"strings"
	"syscall"
	"time"

	"goset/cpulist"
	"goset/host"
)

// longRun is from when on a run is worth the reading of everything: two
// readings of /proc/stat and of the interrupts take 0.1 to 1 ms, a fortieth of
// it at most. Whether a run is that long is known from the last one of the
// same command.
const longRun = 20 * time.Millisecond

// shortRun is below what nothing of the child's own is read: the kernel's two
// texts on a process that has ended, and clearing them away, took 36 µs of the
// 97 between two runs of `true`.
const shortRun = time.Millisecond

// machine reads what the machine did during a run. It reads before the fork and
// after the child's end, when nothing that it does can be felt by the child.
type machine struct {
	lengths  map[string]time.Duration // of the last run, by command
	siblings map[string]cpulist.Set   // by CPU list: their siblings, without themselves

	command   string
	full      bool // of this run, everything is read
	stat      *host.Stat
	throttles *uint64
	task      map[string]float64 // what the kernel kept of the child itself
	after     *host.Stat
	frequency *float64
	throttled *uint64
}

func newMachine() machine {
	return machine{lengths: map[string]time.Duration{}, siblings: map[string]cpulist.Set{}}
}

// begin reads the counts before a run. It says whether the interrupts are
// wanted, too: of a pinned run they always are.
func (m *machine) begin(job Job, pinned bool) (interrupts bool) {
	m.command = strings.Join(job.Argv, "\x00")
	m.full = m.lengths[m.command] >= longRun
	m.stat, m.after, m.throttles, m.throttled, m.frequency, m.task = nil, nil, nil, nil, nil, nil
	if m.full {
		m.stat, _ = host.Local.Stat() // not to be had: absent
		m.throttles = throttlesOf(job.CPUs)
	}
	return pinned || m.full
}

// ended reads the counts after a run, while the child is still in /proc.
func (m *machine) ended(job Job, pid int, wall time.Duration) {
	m.lengths[m.command] = wall
	if wall >= shortRun {
		m.task = taskCounters(pid)
	}
	if m.full {
		m.after, _ = host.Local.Stat()
		m.throttled = throttlesOf(job.CPUs)
		m.frequency = frequencyOf(job.CPUs)
	}
}

// count adds the counters of a run whose own times are known to those of its
// interrupts.
func (m *machine) count(job Job, res *Result, irqs *interrupts) {
	add := func(name string, v float64) {
		if res.Counters == nil {
			res.Counters = map[string]float64{}
		}
		res.Counters[name] = v
	}
	for name, v := range m.task {
		add(name, v)
	}
	if m.stat != nil && m.after != nil {
		m.times(job, res, irqs, add)
	}
	if m.throttles != nil && m.throttled != nil && *m.throttled >= *m.throttles {
		add(CounterThrottles, float64(*m.throttled-*m.throttles))
	}
	if m.frequency != nil {
		add(CounterFrequency, *m.frequency)
	}
}

// times adds the differences of /proc/stat.
func (m *machine) times(job Job, res *Result, irqs *interrupts, add func(string, float64)) {
	busy, steal, soft, ok := m.since(job.CPUs)
	if !ok {
		return
	}
	add(CounterSoftirq, soft.Seconds())
	add(CounterForeign, max(0, busy-res.User-res.Sys).Seconds())
	if steal != nil {
		add(CounterSteal, steal.Seconds())
	}
	others := m.siblingsOf(job.CPUs)
	if others.Empty() {
		return
	}
	if busy, _, _, ok := m.since(others); ok {
		add(CounterSiblings, busy.Seconds())
	}
	if n, ok := irqs.on(others); ok {
		add(CounterSiblingInterrupts, n)
	}
}

// since sums up what the CPUs did between the two readings; no CPUs are all.
func (m *machine) since(cpus cpulist.Set) (busy time.Duration, steal *time.Duration, soft time.Duration, ok bool) {
	for cpu, was := range m.stat.CPUs {
		is, there := m.after.CPUs[cpu]
		if !cpus.Empty() && !cpus.Contains(cpu) || !there {
			continue
		}
		d := is.Since(was)
		busy += d.Busy()
		soft += d.SoftIRQ
		if d.Steal != nil {
			if steal == nil {
				steal = new(time.Duration)
			}
			*steal += *d.Steal
		}
		ok = true
	}
	return busy, steal, soft, ok
}

// siblingsOf is the siblings of a run's CPUs, without themselves.
func (m *machine) siblingsOf(cpus cpulist.Set) cpulist.Set {
	if cpus.Empty() {
		return cpus
	}
	key := cpus.String()
	s, ok := m.siblings[key]
	if !ok {
		if all, err := host.Local.Siblings(cpus); err == nil {
			s = all.Minus(cpus)
		}
		m.siblings[key] = s
	}
	return s
}

// on is the interrupts of those CPUs between the two readings.
func (x *interrupts) on(cpus cpulist.Set) (float64, bool) {
	if !x.valid || !cpus.SubsetOf(x.diff.Set()) {
		return 0, false
	}
	var sum uint64
	for i := range x.diff.Rows {
		for cpu := range cpus.All() {
			n, _ := x.diff.Count(&x.diff.Rows[i], cpu)
			sum += n
		}
	}
	return float64(sum), true
}

// taskCounters reads what the kernel kept of the main thread of a child that
// has ended and is not reaped. The files are small and read without the help of
// package os: the run may have taken a tenth of a millisecond.
func taskCounters(pid int) map[string]float64 {
	var buf [4096]byte
	dir := "/proc/" + strconv.Itoa(pid)
	var out map[string]float64
	if delay, ok := parseDelay(readInto(dir+"/schedstat", buf[:])); ok {
		out = map[string]float64{CounterDelay: delay}
	}
	if n, ok := parseMigrations(readInto(dir+"/sched", buf[:])); ok {
		if out == nil {
			out = map[string]float64{}
		}
		out[CounterMigrations] = n
	}
	return out
}

// readInto reads the start of a file, nothing where there is none.
func readInto(path string, buf []byte) []byte {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// parseDelay takes the second number of /proc/PID/schedstat: ns of waiting in
// the run queue. A kernel that does not account for it prints three zeros.
func parseDelay(text []byte) (seconds float64, ok bool) {
	fields := bytes.Fields(text)
	if len(fields) != 3 || string(bytes.TrimSpace(text)) == "0 0 0" {
		return 0, false
	}
	ns, err := strconv.ParseUint(string(fields[1]), 10, 64)
	return float64(ns) / 1e9, err == nil
}

// parseMigrations finds se.nr_migrations in /proc/PID/sched, which kernels with
// CONFIG_SCHED_DEBUG have (kernel/sched/debug.c: proc_sched_show_task).
func parseMigrations(text []byte) (float64, bool) {
	_, rest, found := bytes.Cut(text, []byte("\nse.nr_migrations"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	_, number, colon := bytes.Cut(line, []byte(":"))
	if !found || !colon {
		return 0, false
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(number)), 10, 64)
	return float64(n), err == nil
}

// throttlesOf sums up the throttle events of the CPUs' cores and packages; nil
// where the kernel does not count them.
func throttlesOf(cpus cpulist.Set) *uint64 {
	var sum *uint64
	for cpu := range cpus.All() {
		for _, file := range []string{"core_throttle_count", "package_throttle_count"} {
			n, ok := cpuNumberFile(cpu, "thermal_throttle/"+file)
			if !ok {
				continue
			}
			if sum == nil {
				sum = new(uint64)
			}
			*sum += n
		}
	}
	return sum
}

// frequencyOf is the mean frequency of the CPUs in Hz; nil where one of them
// has none.
func frequencyOf(cpus cpulist.Set) *float64 {
	sum, n := 0.0, 0
	for cpu := range cpus.All() {
		kHz, ok := cpuNumberFile(cpu, "cpufreq/scaling_cur_freq")
		if !ok {
			return nil
		}
		sum += float64(kHz) * 1000
		n++
	}
	if n == 0 {
		return nil
	}
	mean := sum / float64(n)
	return &mean
}

func cpuNumberFile(cpu int, file string) (uint64, bool) {
	var buf [32]byte
	text := readInto("/sys/devices/system/cpu/cpu"+strconv.Itoa(cpu)+"/"+file, buf[:])
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}
