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

// shieldLayer keeps others off the CPUs of a cpuset of version 1, which by
// itself only holds the task: every process of the cpuset around it moves to a
// second one with the other CPUs, and the kernel stops balancing load between
// the two.
type shieldLayer struct {
	machineLayer
	sets          cpusets
	rest          string // the cgroup of everybody else
	cpus          cpulist.Set
	moved, stayed int
	count         int
	fault         string
}

func newShieldLayer(r *applied) layer {
	if !r.mode.Shield {
		return nil
	}
	return &shieldLayer{}
}

func (l *shieldLayer) key() string { return "shield" }

func (l *shieldLayer) probe(r *applied) *Unsupported {
	if r.mode.Cgroup == "" || r.unpinned() {
		return &Unsupported{Reason: "a shield stands around the cpuset of the task, and the mode asks for none", Hint: "add cpus and cgroup = true"}
	}
	if !r.hasCpuset() {
		return noCpusetToShield()
	}
	sets, err := findCpusets(r.kernel)
	if u := (*Unsupported)(nil); errors.As(err, &u) {
		return &Unsupported{Reason: u.Reason, Hint: `leave "shield" out`}
	}
	if sets.unified {
		return &Unsupported{Reason: "cpusets are of version 2 here, where a partition keeps others off by itself", Hint: `leave "shield" out: cgroup = true does it`}
	}
	l.sets = sets
	return nil
}

// noCpusetToShield is said when the task has no cpuset after all. The task would
// be moved out of the way with everybody else.
func noCpusetToShield() *Unsupported {
	return &Unsupported{Reason: "a shield stands around the cpuset of the task, which cannot be had", Hint: `leave "shield" out, too`}
}

func (l *shieldLayer) enforce(r *applied) error {
	if r.cgroup == "" {
		return noCpusetToShield()
	}
	if err := l.move(r); err != nil {
		return err
	}
	r.shielded = true
	return nil
}

// move moves everybody else out of the way.
func (l *shieldLayer) move(r *applied) error {
	all, err := readSet(r.kernel, l.sets.file(l.sets.root, "cpus"))
	if err != nil {
		return err
	}
	mems, err := r.kernel.readFile(l.sets.file(l.sets.root, "mems"))
	if err != nil {
		return err
	}
	if l.cpus = all.Minus(r.fenced); l.cpus.Empty() {
		return &Unsupported{Reason: "no CPU would be left for the rest of the machine", Hint: "lower n"}
	}
	id, err := newID()
	if err != nil {
		return err
	}
	l.rest = path.Join(l.sets.root, id)
	return firstError(
		func() error { return rememberBystanders(r, l.sets) },
		func() error { return r.journal.SetAs(KindShelter, l.rest, valuePresent, "of everybody else") },
		func() error { return r.journal.Set(KindAttribute, l.sets.file(l.rest, "mems"), mems) },
		func() error { return r.journal.Set(KindAttribute, l.sets.file(l.rest, "cpus"), l.cpus.String()) },
		func() error { return l.moveAll(r) },
		func() error { return r.journal.Set(KindNumber, l.sets.file(l.sets.root, "sched_load_balance"), "0") },
	)
}

// moveWalks bounds how often moveAll looks for processes that were born
// meanwhile.
const moveWalks = 8

// moveAll moves every process until a walk finds none to move. Kernel threads
// that belong to a CPU refuse.
func (l *shieldLayer) moveAll(r *applied) error {
	below := strings.TrimPrefix(l.rest, l.sets.mount)
	tried := map[string]bool{}
	for range moveWalks {
		pids, err := l.outside(r)
		if err != nil {
			return err
		}
		moved := 0
		for _, pid := range pids {
			start, err := startOf(r.kernel, pid)
			if err != nil {
				continue // it has ended
			}
			object := l.sets.mount + "#" + taskObject(pid, start)
			if tried[object] {
				continue
			}
			tried[object] = true
			switch err := r.journal.Set(KindMember, object, below); {
			case err == nil:
				moved++
			case !isRefusal(err):
				return err
			case !isGone(err):
				l.stayed++
			}
		}
		l.moved += moved
		if moved == 0 {
			return nil
		}
	}
	return fmt.Errorf("processes appear in %s faster than they can be moved", l.sets.root)
}

// outside lists the processes that are in the cpuset around the task's.
func (l *shieldLayer) outside(r *applied) ([]int, error) {
	text, err := r.kernel.readFile(path.Join(l.sets.root, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, word := range strings.Fields(text) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %q is no process", l.sets.root, word)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

func (l *shieldLayer) check(r *applied, _ moment) {
	l.count++
	if fault := l.look(r); fault != "" && l.fault == "" {
		l.fault = fault
	}
}

func (l *shieldLayer) look(r *applied) string {
	cpus, err := readSet(r.kernel, l.sets.file(l.rest, "cpus"))
	if err != nil || !cpus.Equal(l.cpus) {
		return fmt.Sprintf("the CPUs of everybody else became %v, %v", cpus, err)
	}
	pids, err := l.outside(r)
	if err != nil {
		return err.Error()
	}
	strays := slices.DeleteFunc(pids, func(pid int) bool { return isKernelThread(r.kernel, pid) || ended(r.kernel, pid) })
	if len(strays) > 0 {
		return fmt.Sprintf("processes %v are outside and may use the task's CPUs", strays)
	}
	return ""
}

// isKernelThread tells kernel threads from processes.
func isKernelThread(k kernel, pid int) bool {
	text, err := k.readFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	stat, err := parseTaskStat(text)
	return err == nil && stat.flags&flagKthread != 0
}

func (l *shieldLayer) state() LayerState {
	return LayerState{
		Layer: "shield", Asked: "true", Held: l.count > 0 && l.fault == "", Note: l.fault,
		Achieved: fmt.Sprintf("%s moved to %s; kernel threads that stay: %d", several(l.moved, "process", "processes"), named(l.cpus), l.stayed),
	}
}
