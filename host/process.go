package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"goset/cpulist"
)

// Process is what /proc says about one process or one thread. What the kernel
// does not have is absent.
type Process struct {
	PID   int
	Name  string // comm: at most 15 bytes
	State byte   // 'R', 'S', 'D', 'Z', ...
	// Parent is the process's parent, Threads the number of its threads.
	Parent, Threads int
	Flags           uint64 // PF_*, include/linux/sched.h
	User, System    time.Duration
	MinorFaults     uint64
	MajorFaults     uint64
	// Start is the time from boot to its start; PID and Start name a process
	// for good, a PID alone does not.
	Start time.Duration
	// CPU is the one it ran on last.
	CPU int
	// Nice is its nice value. Policy is SCHED_* of sched_setscheduler(2), nil
	// where the kernel does not print it, with the real-time Priority.
	Nice             int
	Policy, Priority *int

	// Allowed is the affinity as the kernel holds it.
	Allowed                *cpulist.Set
	Voluntary, Involuntary *uint64 // context switches of this thread alone
	// RunQueue is its time on a CPU, its waiting for one, and how often it was
	// put on one.
	RunQueue *RunQueue
}

// KernelThread reports PF_KTHREAD.
func (p *Process) KernelThread() bool { return p.Flags&0x200000 != 0 }

// Process reads /proc/PID/{stat,status,schedstat}; the error is fs.ErrNotExist
// when there is none. All counters are the main thread's but User, System and
// the faults, which are those of the whole process.
func (f FS) Process(pid int) (*Process, error) {
	return f.task("proc/" + strconv.Itoa(pid))
}

// Thread reads /proc/PID/task/TID/{stat,status,schedstat}.
func (f FS) Thread(pid, tid int) (*Process, error) {
	return f.task(fmt.Sprintf("proc/%d/task/%d", pid, tid))
}

// Threads are the numbers of a process's threads in ascending order; none when
// there is no such process. Numbers reach 4194304.
func (f FS) Threads(pid int) ([]int, error) {
	threads, err := f.numberNames("proc", strconv.Itoa(pid), "task")
	if absent(err) {
		return nil, nil
	}
	return threads, err
}

func (f FS) task(dir string) (*Process, error) {
	text, err := f.read(dir, "stat")
	if err != nil {
		return nil, err
	}
	p, err := parseProcessStat(string(text))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %v", f.Path(dir, "stat"), err)
	}
	if text, err = f.read(dir, "status"); err == nil {
		err = p.parseStatus(string(text))
	}
	if err != nil && !absent(err) {
		return nil, fmt.Errorf("cannot read %s: %v", f.Path(dir, "status"), err)
	}
	if text, err = f.read(dir, "schedstat"); err == nil {
		p.RunQueue, err = parseTaskSchedstat(string(text))
	}
	if err != nil && !absent(err) {
		return nil, fmt.Errorf("cannot read %s: %v", f.Path(dir, "schedstat"), err)
	}
	return p, nil
}

// parseProcessStat reads proc_pid_stat(5). The name stands in parentheses and
// may hold any byte, so that it ends at the last one.
func parseProcessStat(text string) (*Process, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return nil, fmt.Errorf("%q has no name in parentheses", clip([]byte(text)))
	}
	fields := strings.Fields(text[end+1:])
	const cpuField = 39 // the highest that is read; fields count from 1, and 3 is fields[0]
	if len(fields) < cpuField-2 || len(fields[0]) != 1 {
		return nil, fmt.Errorf("%q has %d fields, want at least %d", clip([]byte(text)), len(fields)+2, cpuField)
	}
	var bad error
	number := func(field int) uint64 {
		n, err := strconv.ParseUint(fields[field-3], 10, 63)
		if err != nil && bad == nil {
			bad = fmt.Errorf("field %d: %q is not a count", field, fields[field-3])
		}
		return n
	}
	ticks := func(field int) time.Duration {
		n := number(field)
		if n > uint64(1<<63-1)/uint64(Tick) && bad == nil {
			bad = fmt.Errorf("field %d: %d is not a time in ticks", field, n)
		}
		return time.Duration(n) * Tick
	}
	var policy, priority *int
	const policyField = 41
	if len(fields) > policyField-3 {
		policy, priority = new(int(number(policyField))), new(int(number(40)))
	}
	nice, err := strconv.Atoi(fields[19-3])
	if err != nil {
		return nil, fmt.Errorf("field 19: %q is not a nice value", fields[19-3])
	}
	p := &Process{
		Nice: nice, Policy: policy, Priority: priority,
		Name: text[open+1 : end], State: fields[0][0],
		Parent: int(number(4)), Flags: number(9), MinorFaults: number(10), MajorFaults: number(12),
		User: ticks(14), System: ticks(15), Threads: int(number(20)), Start: ticks(22), CPU: int(number(cpuField)),
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	if err != nil {
		return nil, fmt.Errorf("%q is not a process number", clip([]byte(text[:open])))
	}
	p.PID = pid
	return p, bad
}

func (p *Process) parseStatus(text string) error {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		var to **uint64
		switch name {
		case "Cpus_allowed_list":
			set, err := cpulist.Parse(value)
			if err != nil {
				return err
			}
			p.Allowed = &set
			continue
		case "voluntary_ctxt_switches":
			to = &p.Voluntary
		case "nonvoluntary_ctxt_switches":
			to = &p.Involuntary
		default:
			continue
		}
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %q is not a count", name, value)
		}
		*to = &n
	}
	return nil
}

// parseTaskSchedstat reads "ran waited slices" in ns. Kernels without
// CONFIG_SCHED_INFO print three zeros, which for a task that is running says
// that there is nothing.
func parseTaskSchedstat(text string) (*RunQueue, error) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return nil, fmt.Errorf("%q is not three counts", clip([]byte(text)))
	}
	var n [3]uint64
	for i, field := range fields {
		var err error
		if n[i], err = strconv.ParseUint(field, 10, 63); err != nil {
			return nil, fmt.Errorf("%q is not a count", field)
		}
	}
	if n == [3]uint64{} {
		return nil, nil
	}
	return &RunQueue{Running: time.Duration(n[0]), Waiting: time.Duration(n[1]), Slices: n[2]}, nil
}

// pids are the processes that /proc shows, in ascending order.
func (f FS) pids() ([]int, error) { return f.numberNames("proc") }

// numberNames are the names of a folder that are numbers, in ascending order.
func (f FS) numberNames(folder ...string) ([]int, error) {
	dir, err := f.open(folder...)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	return numbers(names), nil
}

// numbers are those names that are numbers, in ascending order.
func numbers(names []string) []int {
	var found []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	return found
}

// ChildTime is the CPU time of a process's children that have ended and were
// waited for, and of theirs; the error is fs.ErrNotExist when there is no such
// process.
func (f FS) ChildTime(pid int) (time.Duration, error) {
	text, err := f.read("proc", strconv.Itoa(pid), "stat")
	if err != nil {
		return 0, err
	}
	d, err := parseChildTime(string(text))
	if err != nil {
		return 0, fmt.Errorf("cannot read %s: %v", f.Path("proc", strconv.Itoa(pid), "stat"), err)
	}
	return d, nil
}

// parseChildTime takes fields 16 and 17 of proc_pid_stat(5), in ticks.
func parseChildTime(text string) (time.Duration, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	var sum time.Duration
	for _, field := range []int{16, 17} {
		if field-3 >= len(fields) {
			return 0, fmt.Errorf("%q has no field %d", clip([]byte(text)), field)
		}
		n, err := strconv.ParseUint(fields[field-3], 10, 63)
		if err != nil || n > uint64(1<<62)/uint64(Tick) {
			return 0, fmt.Errorf("field %d: %q is not a time in ticks", field, fields[field-3])
		}
		sum += time.Duration(n) * Tick
	}
	return sum, nil
}
