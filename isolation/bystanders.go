package isolation

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
)

// The flags of a task (include/linux/sched.h, field 9 of stat).
const (
	flagForkNoExec    = 0x00000040 // forked, and not past an exec
	flagKthread       = 0x00200000
	flagNoSetAffinity = 0x04000000
)

// task is one thread of the machine.
type task struct {
	tid    int
	pid    int // of its process
	parent int // pid of the process that its process comes from, or was left to
	start  uint64
	flags  uint64
	name   string
	cpus   cpulist.Set
}

// bound tells kernel threads that belong to a CPU and never leave it.
func (t task) bound() bool { return t.flags&flagNoSetAffinity != 0 }

// eachTask calls do for every thread of the machine. One that ends meanwhile is
// passed over.
func eachTask(k kernel, do func(task) error) error {
	pids, err := k.entries("/proc")
	if err != nil {
		return fmt.Errorf("cannot list processes: %w", err)
	}
	for _, name := range pids {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		tids, err := k.entries(path.Join("/proc", name, "task"))
		if isGone(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot list the threads of process %s: %w", name, err)
		}
		for _, tid := range tids {
			t, err := readTask(k, tid)
			if isGone(err) {
				continue
			}
			if err != nil {
				return err
			}
			t.pid = pid
			if err := do(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func readTask(k kernel, name string) (task, error) {
	tid, err := strconv.Atoi(name)
	if err != nil {
		return task{}, fmt.Errorf("cannot read thread %.20q: it is no number", name)
	}
	t := task{tid: tid}
	text, err := k.readFile(path.Join("/proc", name, "stat"))
	if err != nil {
		return t, err
	}
	stat, err := parseTaskStat(text)
	if err != nil {
		return t, fmt.Errorf("cannot read thread %d: %v", tid, err)
	}
	t.parent, t.flags, t.start = stat.parent, stat.flags, stat.start
	_, rest, _ := strings.Cut(text, "(")
	t.name, _, _ = cutLast(rest, ")")
	t.name = strings.ToValidUTF8(t.name, "?")
	t.cpus, err = k.affinity(tid)
	return t, err
}

// rememberBystanders puts into the journal which CPUs the pinned threads of the
// machine have: kernels before 6.2 overwrite that, for good, in everybody whom
// the making or removing of a cpuset touches. Later ones keep what a process
// asked for, but not what the kernel gave to threads of its own (irq/9-acpi), nor
// the mask that everybody has by default on a machine booted with isolcpus=.
func rememberBystanders(r *applied, sets cpusets) error {
	rel, err := kernelRelease(r.kernel)
	if err != nil {
		return err
	}
	kept, err := optionalFile(r.kernel, cpuFolder+"/isolated")
	if err != nil {
		return err
	}
	everybody := rel.before(6, 2) || kept != ""
	all, err := everyone(r.kernel)
	if err != nil {
		return err
	}
	self, err := r.kernel.self()
	if err != nil {
		return err
	}
	own := map[int]bool{}
	tids, err := r.kernel.entries(fmt.Sprintf("/proc/%d/task", self))
	if err != nil {
		return err
	}
	for _, name := range tids {
		if tid, err := strconv.Atoi(name); err == nil {
			own[tid] = true
		}
	}
	since, err := r.kernel.ticks()
	if err != nil {
		return err
	}
	return eachTask(r.kernel, func(t task) error {
		// The own threads are put back by who moved them; who has every CPU
		// has nothing to lose; who belongs to a CPU is not touched.
		if own[t.tid] || t.bound() || t.cpus.Equal(all) || t.cpus.Empty() || !everybody && t.flags&flagKthread == 0 {
			return nil
		}
		becomes, err := comesTo(r, sets, t, all)
		if err == nil {
			err = r.journal.rememberTask(KindBystander, t, becomes, since)
		}
		if isGone(err) {
			return nil
		}
		return err
	})
}

// comesTo lists what the kernel may make of a thread's CPUs: all of its cpuset,
// with the partition and without.
func comesTo(r *applied, sets cpusets, t task, all cpulist.Set) (string, error) {
	lists, err := housekeepers(r, all)
	if err != nil {
		return "", err
	}
	text, err := r.kernel.readFile(fmt.Sprintf("/proc/%d/cgroup", t.tid))
	if err != nil {
		return "", err
	}
	controller := ""
	if !sets.unified {
		controller = "cpuset"
	}
	if p, err := cgroupPath(text, controller); err == nil {
		// A cgroup without cpuset files has those of the next one above that
		// does.
		for dir := path.Join("/", p); ; dir = path.Dir(dir) {
			if set, err := readSet(r.kernel, sets.file(path.Join(sets.root, dir), "cpus.effective")); err == nil {
				lists = append(lists, set, set.Minus(r.fenced))
				break
			}
			if dir == "/" {
				break
			}
		}
	}
	var words []string
	for _, l := range lists {
		if !l.Empty() && !slices.Contains(words, l.String()) {
			words = append(words, l.String())
		}
	}
	return strings.Join(words, ";"), nil
}

// housekeepers lists what the kernel may take for the CPUs of everybody: all, or
// those that isolcpus= and nohz_full= leave, each with the partition and without.
// Kernels from 7 on hand them out anew whenever a partition comes or goes
// (kernel/sched/isolation.c: housekeeping_update).
func housekeepers(r *applied, all cpulist.Set) ([]cpulist.Set, error) {
	kept := []cpulist.Set{{}}
	for _, name := range []string{"isolated", "nohz_full"} {
		text, err := optionalFile(r.kernel, cpuFolder+"/"+name)
		if err != nil {
			return nil, err
		}
		set, err := cpulist.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s/%s: %v", cpuFolder, name, err)
		}
		for _, k := range kept {
			if more := k.Union(set); !more.Equal(k) {
				kept = append(kept, more)
			}
		}
	}
	var lists []cpulist.Set
	for _, k := range kept {
		lists = append(lists, all.Minus(k), all.Minus(k).Minus(r.fenced))
	}
	return lists, nil
}

// workqueueMask is where the kernel's unbound work runs; the mask that was asked
// for, without what partitions take away, stands beside it since 6.8.
const (
	workqueueMask      = "/sys/devices/virtual/workqueue/cpumask"
	workqueueRequested = "/sys/devices/virtual/workqueue/cpumask_requested"
)

// moveKernel moves unbound workqueues and movable kernel threads off the CPUs
// where the kernel does not do it by itself. It returns how many threads that
// could run there stay.
func moveKernel(r *applied, partition string) (unmoved int, err error) {
	// Isolated partitions take the workqueues along since 6.8, which is when
	// the second file came.
	if partition != cgroupIsolated || !exists(r.kernel, workqueueRequested) {
		if err := moveWorkqueues(r); err != nil {
			return 0, err
		}
	}
	if partition == cgroupIsolated || partition == cgroupRoot {
		return 0, nil
	}
	return moveThreads(r)
}

func moveWorkqueues(r *applied) error {
	mask, err := workersMask(r.kernel)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	rest := mask.Minus(r.fenced)
	if rest.Empty() || rest.Equal(mask) {
		return nil
	}
	return r.journal.Set(KindWorkqueues, workqueueMask, rest.Mask())
}

// workersMask is where unbound work may run.
func workersMask(k kernel) (cpulist.Set, error) {
	text, err := readWorkqueues(k, workqueueMask)
	if err != nil {
		return cpulist.Set{}, fmt.Errorf("cannot read the CPUs of workqueues: %w", err)
	}
	mask, err := cpulist.ParseMask(strings.TrimSpace(text))
	if err != nil {
		return mask, fmt.Errorf("cannot read the CPUs of workqueues: %v", err)
	}
	return mask, nil
}

// keptFromWorkers lists the online CPUs on which unbound work does not run.
func keptFromWorkers(k kernel) (cpulist.Set, error) {
	mask, err := workersMask(k)
	if isGone(err) {
		return cpulist.Set{}, nil
	}
	if err != nil {
		return cpulist.Set{}, err
	}
	online, err := everyone(k)
	return online.Minus(mask), err
}

// readWorkqueues reads the mask that was asked for. The other one, written
// back, would make what a partition takes away permanent.
func readWorkqueues(k kernel, object string) (string, error) {
	text, err := k.readFile(workqueueRequested)
	if isGone(err) {
		return k.readFile(object)
	}
	return text, err
}

// moveThreads moves kernel threads. Those that refuse are counted.
func moveThreads(r *applied) (unmoved int, err error) {
	all, err := everyone(r.kernel)
	if err != nil {
		return 0, err
	}
	rest := all.Minus(r.fenced)
	if rest.Empty() {
		return 0, nil
	}
	err = eachTask(r.kernel, func(t task) error {
		if t.flags&flagKthread == 0 || !t.cpus.Intersects(r.fenced) || t.bound() || t.cpus.Minus(r.fenced).Empty() {
			return nil
		}
		err := r.journal.SetAs(KindAffinity, taskObject(t.tid, t.start), t.cpus.Minus(r.fenced).String(), t.name)
		var refused *SetError
		if errors.As(err, &refused) {
			if !isGone(err) {
				unmoved++
			}
			return nil
		}
		return err
	})
	return unmoved, err
}
