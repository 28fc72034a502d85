package host

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"goset/cpulist"
)

// Tick is the unit of the times in /proc/stat and /proc/PID/stat: USER_HZ is
// 100 on every architecture that Go runs on.
const Tick = time.Second / 100

// CPUTime is how long a CPU was in which state since boot, from one line of
// /proc/stat. Columns that the kernel does not print are absent.
//
// Where the scheduler tick does the accounting (most kernels), user, system,
// irq and softirq are samples; idle and iowait are measured when the tick is
// stopped in idle (kernel/time/tick-sched.c: get_cpu_idle_time_us).
type CPUTime struct {
	User, Nice, System, Idle time.Duration
	IOWait, IRQ, SoftIRQ     time.Duration
	Steal, Guest, GuestNice  *time.Duration
}

// Busy is the time that something ran on the CPU; guests are within User, and
// stolen time is not within Busy.
func (t CPUTime) Busy() time.Duration { return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ }

// Since is the difference of two readings. A column that went back, as idle
// and iowait can when a CPU comes online again, counts as 0.
func (t CPUTime) Since(before CPUTime) CPUTime {
	sub := func(a, b time.Duration) time.Duration { return max(a-b, 0) }
	subOptional := func(a, b *time.Duration) *time.Duration {
		if a == nil || b == nil {
			return nil
		}
		d := sub(*a, *b)
		return &d
	}
	return CPUTime{
		User: sub(t.User, before.User), Nice: sub(t.Nice, before.Nice), System: sub(t.System, before.System),
		Idle: sub(t.Idle, before.Idle), IOWait: sub(t.IOWait, before.IOWait),
		IRQ: sub(t.IRQ, before.IRQ), SoftIRQ: sub(t.SoftIRQ, before.SoftIRQ),
		Steal: subOptional(t.Steal, before.Steal), Guest: subOptional(t.Guest, before.Guest),
		GuestNice: subOptional(t.GuestNice, before.GuestNice),
	}
}

// Stat is /proc/stat: the times of every online CPU, and the counts of the
// whole machine that are used here.
type Stat struct {
	CPUs map[int]CPUTime
	// Switches and Forks count since boot; Boot is when that was; Running and
	// Blocked are numbers of threads.
	Switches, Forks  *uint64
	Boot             *time.Time
	Running, Blocked *uint64
}

// Stat reads /proc/stat.
func (f FS) Stat() (*Stat, error) {
	text, err := f.readBounded(maxBigFile, "proc", "stat")
	if err != nil {
		return nil, err
	}
	s, err := parseStat(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %v", f.Path("proc/stat"), err)
	}
	return s, nil
}

// parseStat reads the text of a /proc/stat.
func parseStat(text []byte) (*Stat, error) {
	s := &Stat{CPUs: map[int]CPUTime{}}
	for line := range bytes.Lines(text) {
		if err := s.line(strings.TrimRight(string(clipLong(line)), "\n")); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// clipLong keeps the start of a line: "intr" has a number for every interrupt
// that could exist, and nothing here reads them.
func clipLong(line []byte) []byte { return line[:min(len(line), 512)] }

func (s *Stat) line(line string) error {
	name, rest, ok := strings.Cut(line, " ")
	if !ok {
		return nil
	}
	if digits, isCPU := strings.CutPrefix(name, "cpu"); isCPU && digits != "" {
		cpu, err := cpuNumber(digits)
		if err != nil {
			return fmt.Errorf("line %q: %v", line, err)
		}
		t, err := parseCPUTime(strings.Fields(rest))
		if err != nil {
			return fmt.Errorf("line %q: %v", line, err)
		}
		s.CPUs[cpu] = t
		return nil
	}
	for _, c := range []struct {
		name string
		to   **uint64
	}{{"ctxt", &s.Switches}, {"processes", &s.Forks}, {"procs_running", &s.Running}, {"procs_blocked", &s.Blocked}} {
		if name == c.name {
			n, err := strconv.ParseUint(rest, 10, 64)
			if err != nil {
				return fmt.Errorf("line %q: %q is not a count", line, rest)
			}
			*c.to = &n
		}
	}
	if name == "btime" {
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return fmt.Errorf("line %q: %q is not a time", line, rest)
		}
		boot := time.Unix(n, 0)
		s.Boot = &boot
	}
	return nil
}

func parseCPUTime(fields []string) (CPUTime, error) {
	t := CPUTime{}
	if len(fields) < 4 {
		return t, fmt.Errorf("a CPU has at least 4 times, got %d", len(fields))
	}
	to := []*time.Duration{&t.User, &t.Nice, &t.System, &t.Idle, &t.IOWait, &t.IRQ, &t.SoftIRQ}
	for i, field := range fields {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil || n > uint64(1<<63-1)/uint64(Tick) {
			return t, fmt.Errorf("%q is not a time in ticks", field)
		}
		d := time.Duration(n) * Tick
		switch i {
		case 7:
			t.Steal = &d
		case 8:
			t.Guest = &d
		case 9:
			t.GuestNice = &d
		default:
			if i < len(to) {
				*to[i] = d
			}
		}
	}
	return t, nil
}

func cpuNumber(digits string) (int, error) {
	cpu, err := strconv.Atoi(digits)
	if err != nil || cpu < 0 || cpu > cpulist.MaxCPU || digits[0] == '+' {
		return 0, fmt.Errorf("%q is not a CPU number", digits)
	}
	return cpu, nil
}

// Softirqs reads /proc/softirqs, which has the form of /proc/interrupts. Its
// columns are the possible CPUs, online or not.
func (f FS) Softirqs() (*Interrupts, error) {
	text, err := f.readBounded(maxBigFile, "proc", "softirqs")
	if err != nil {
		return nil, err
	}
	x, err := ParseInterrupts(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %v", f.Path("proc/softirqs"), err)
	}
	return x, nil
}

// RunQueue is one CPU's line of /proc/schedstat.
type RunQueue struct {
	Running time.Duration // tasks on the CPU
	Waiting time.Duration // tasks ready and waiting for it
	Slices  uint64        // tasks that were put on it
}

// Schedstat is /proc/schedstat: the run queue of every online CPU. Kernels
// without CONFIG_SCHEDSTATS do not have the file.
type Schedstat struct {
	Version int
	CPUs    map[int]RunQueue
}

// Schedstat reads /proc/schedstat; the error is fs.ErrNotExist where the
// kernel has none.
func (f FS) Schedstat() (*Schedstat, error) {
	text, err := f.readBounded(maxBigFile, "proc", "schedstat")
	if err != nil {
		return nil, err
	}
	s, err := parseSchedstat(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %v", f.Path("proc/schedstat"), err)
	}
	return s, nil
}

// The versions of /proc/schedstat whose CPU line is known: nine numbers, of
// which the last three are read (kernel/sched/stats.c: show_schedstat). 15 is
// kernel 2.6.30 to 6.13, 16 is 6.14, 17 is newer.
const minSchedstat, maxSchedstat = 15, 17

// parseSchedstat reads the text of a /proc/schedstat.
func parseSchedstat(text []byte) (*Schedstat, error) {
	s := &Schedstat{CPUs: map[int]RunQueue{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxSmallFile)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && fields[0] == "version" {
			version, err := strconv.Atoi(fields[1])
			if err != nil || version < minSchedstat || version > maxSchedstat {
				return nil, fmt.Errorf("version %q is not one of %d to %d", fields[1], minSchedstat, maxSchedstat)
			}
			s.Version = version
		}
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		if err := s.cpu(fields); err != nil {
			return nil, fmt.Errorf("line %q: %v", lines.Text(), err)
		}
	}
	return s, lines.Err()
}

func (s *Schedstat) cpu(fields []string) error {
	if s.Version == 0 {
		return fmt.Errorf("the version must come first")
	}
	cpu, err := cpuNumber(strings.TrimPrefix(fields[0], "cpu"))
	if err != nil {
		return err
	}
	if len(fields) != 10 {
		return fmt.Errorf("a CPU has 9 numbers, got %d", len(fields)-1)
	}
	var n [3]uint64
	for i := range n {
		if n[i], err = strconv.ParseUint(fields[7+i], 10, 63); err != nil {
			return fmt.Errorf("%q is not a count", fields[7+i])
		}
	}
	s.CPUs[cpu] = RunQueue{Running: time.Duration(n[0]), Waiting: time.Duration(n[1]), Slices: n[2]}
	return nil
}
