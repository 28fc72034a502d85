package isolation

import (
	"fmt"
	"path"
	"strings"
	"time"

	"goset/cpulist"
	"goset/host"
)

// fenceLayer keeps the SMT siblings of the task's CPUs empty: they stand inside
// the task's partition, where nobody else may run and the task is not allowed
// to; where there is no partition, core scheduling makes the kernel leave a
// sibling idle rather than give it to somebody else while the task runs. Who is
// bound to the sibling then takes turns with the task (measured: each gets half of
// the core's time), which the task's run-queue delay shows.
type fenceLayer struct {
	how   fencing
	count int
	fault string
	busy  siblingTime
}

// fencing is what keeps the siblings empty.
type fencing int

const (
	fenceNeedless  fencing = iota // the CPUs have no siblings
	fencePartition                // inside the partition
	fenceCore                     // core scheduling
)

func newFenceLayer(r *applied) layer {
	if !r.mode.Fence {
		return nil
	}
	return &fenceLayer{}
}

func (l *fenceLayer) key() string { return "fence" }

func (l *fenceLayer) probe(r *applied) *Unsupported {
	if r.unpinned() {
		return &Unsupported{Reason: "a fence stands around CPUs, and this run has none", Hint: `add cpus = "quietest"`}
	}
	if r.unknownCores != nil {
		return &Unsupported{Reason: fmt.Sprintf("it is not known which CPUs are siblings: %v", r.unknownCores), Hint: `leave "fence" out`}
	}
	if !r.cpus.Empty() && r.fenced.Equal(r.cpus) || r.cpus.Empty() && !hasSMT(r.kernel) {
		return nil
	}
	sets, err := findCpusets(r.kernel)
	if err == nil && sets.unified && r.unjournaled == nil && r.hasCpuset() && r.mode.Cgroup != cgroupMember {
		return nil
	}
	return l.probeCore()
}

// hasSMT reports whether siblings are online. Kernels without the file have
// them or not; the run's own CPUs tell then.
func hasSMT(k kernel) bool {
	text, err := k.readFile("/sys/devices/system/cpu/smt/active")
	return err != nil || text != "0"
}

func (l *fenceLayer) probeCore() *Unsupported {
	if err := coreScheduling(); err != nil {
		return &Unsupported{
			Reason: fmt.Sprintf("the SMT siblings cannot be kept empty: no partition is asked for or to be had, and core scheduling is not either: %v", err),
			Hint:   `use cgroup = true on a host with cpusets of version 2 and kernel 6.1 or later, or smt = false`,
		}
	}
	return nil
}

func (l *fenceLayer) enforce(r *applied) error {
	l.busy.siblings = r.fenced.Minus(r.cpus)
	switch {
	case l.busy.siblings.Empty():
		l.how = fenceNeedless
	case r.partition == cgroupIsolated || r.partition == cgroupRoot:
		l.how = fencePartition
	default:
		if u := l.probeCore(); u != nil {
			if len(r.passed) > 0 {
				u.Reason += "; the partition is not " + strings.Join(r.passed, ", and not ")
			}
			return u
		}
		l.how = fenceCore
	}
	return nil
}

func (l *fenceLayer) birth(_ *applied, b *Birth) error {
	if l.how == fenceCore {
		b.Calls = append(b.Calls, coreCall())
	}
	return nil
}

func (l *fenceLayer) check(r *applied, at moment) {
	l.count++
	if err := l.busy.look(r.root, at.phase); err != nil && l.busy.err == nil {
		l.busy.err = err
	}
	if fault := l.look(r, at); fault != "" && l.fault == "" {
		l.fault = fault
	}
}

// look says what is wrong with the fence.
func (l *fenceLayer) look(r *applied, at moment) string {
	switch {
	case l.how == fencePartition:
		// The task's partition is directly below the root.
		outside := path.Join(path.Dir(path.Dir(r.cgroup)), "cpuset.cpus.effective")
		others, err := readSet(r.kernel, outside)
		if err != nil {
			return fmt.Sprintf("cannot tell who may use the siblings: %v", err)
		}
		if others.Intersects(r.fenced) {
			return fmt.Sprintf("others may run on %s", named(others.Intersect(r.fenced)))
		}
		if at.phase == afterRun {
			return intruder(r)
		}
	case l.how == fenceCore && at.phase == duringRun:
		cookie, err := coreCookie(at.pid)
		if err == nil && cookie == 0 {
			return fmt.Sprintf("process %d has no core scheduling cookie", at.pid)
		}
	}
	return ""
}

// intruder names a process outside that may run inside the fence after all: before
// kernel 6.2, one that is moved to the root cgroup gets all CPUs, those of
// partitions too (kernel/cgroup/cpuset.c: cpuset_attach). Threads of the kernel are
// passed over: it gives all CPUs to each that it makes.
func intruder(r *applied) string {
	rel, err := kernelRelease(r.kernel)
	if err != nil {
		return err.Error()
	}
	if !rel.before(6, 2) {
		return ""
	}
	found := ""
	err = eachTask(r.kernel, func(t task) error {
		if found != "" || t.flags&flagKthread != 0 || !t.cpus.Intersects(r.fenced) || ended(r.kernel, t.tid) {
			return nil
		}
		text, err := r.kernel.readFile(fmt.Sprintf("/proc/%d/cgroup", t.tid))
		if isGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if outside(r, text) != "" {
			found = fmt.Sprintf("process %d (%s) outside was allowed on %s", t.pid, t.name, named(t.cpus.Intersect(r.fenced)))
		}
		return nil
	})
	if err != nil {
		return fmt.Sprintf("cannot tell who may use the siblings: %v", err)
	}
	return found
}

func (l *fenceLayer) state() LayerState {
	s := LayerState{Layer: "fence", Asked: "true", Held: l.count > 0 && l.fault == ""}
	notes := []string{}
	switch l.how {
	case fenceNeedless:
		s.Achieved = "no siblings"
	case fencePartition:
		s.Achieved = "siblings " + l.busy.siblings.String() + " empty in the partition"
	case fenceCore:
		s.Achieved = "core scheduling on siblings " + l.busy.siblings.String() + ": others wait there while the task runs, and the task while they do"
	}
	if l.fault != "" {
		notes = append(notes, l.fault)
	}
	if text := l.busy.String(); text != "" {
		notes = append(notes, text)
	}
	s.Note = strings.Join(notes, "; ")
	return s
}

// siblingTime is how busy the siblings were while the run lasted.
type siblingTime struct {
	siblings      cpulist.Set
	before, after *host.Stat
	err           error
}

// look reads the times before and after the run.
func (t *siblingTime) look(root host.FS, at phase) error {
	if t.siblings.Empty() || at == duringRun {
		return nil
	}
	stat, err := root.Stat()
	if at == beforeRun {
		t.before = stat
	} else {
		t.after = stat
	}
	return err
}

// String says the share of the time that the siblings were busy, or nothing
// when it is not known: runs of some hundredths of a second have none.
func (t *siblingTime) String() string {
	if t.err != nil {
		return fmt.Sprintf("busy time of the siblings is not known: %v", t.err)
	}
	if t.before == nil || t.after == nil {
		return ""
	}
	var busy, all time.Duration
	for _, cpu := range t.siblings.CPUs() {
		before, ok := t.before.CPUs[cpu]
		after, still := t.after.CPUs[cpu]
		if !ok || !still {
			return ""
		}
		d := after.Since(before)
		busy, all = busy+d.Busy(), all+d.Busy()+d.Idle+d.IOWait
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("siblings busy %.1f%% of the run", 100*float64(busy)/float64(all))
}
