package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"goset/cpulist"
)

// smtLayer leaves one hardware thread of every core online, that of the task
// where it has one.
//
// Every other thread goes offline by its own cpuN/online, not through
// smt/control: "on" there brings back CPUs that an administrator took offline,
// and "forceoff" can never be taken back. Going offline and coming back loses
// what named only that CPU: interrupts and threads are then let loose on all
// CPUs, cpusets of version 1 shrink. All of it goes into the journal before.
type smtLayer struct {
	want   bool
	off    cpulist.Set // taken offline
	before cpulist.Set // online before
	readings
}

func newSMTLayer(r *applied) layer {
	if r.mode.SMT == nil {
		return nil
	}
	if *r.mode.SMT {
		return &smtLayer{want: true}
	}
	return &smtOffLayer{smtLayer: smtLayer{want: false}}
}

// smtOffLayer is the one of the two that changes the machine.
type smtOffLayer struct {
	machineLayer
	smtLayer
}

func (*smtLayer) key() string { return "smt" }

func (l *smtLayer) probe(r *applied) *Unsupported {
	cores, _, err := readCores(r.kernel)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "smt" out`}
	}
	if l.want {
		return smtIsOn(r.kernel, cores)
	}
	off, u := siblingsToTake(cores, r.cpus)
	if u != nil || off.Empty() {
		return u
	}
	return canGoOffline(r.kernel, off)
}

// readCores groups the online CPUs by core.
func readCores(k kernel) (cores []cpulist.Set, online cpulist.Set, err error) {
	if online, err = readSet(k, cpuFolder+"/online"); err != nil {
		return nil, online, err
	}
	var seen cpulist.Set
	for cpu := range online.All() {
		if seen.Contains(cpu) {
			continue
		}
		core, err := siblingsOf(k, cpulist.Of(cpu))
		if err != nil {
			return nil, online, err
		}
		core = core.Intersect(online)
		cores = append(cores, core)
		seen = seen.Union(core)
	}
	return cores, online, nil
}

// siblingsOf adds the SMT siblings of every CPU; one whose topology the kernel
// does not tell has none.
func siblingsOf(k kernel, cpus cpulist.Set) (cpulist.Set, error) {
	all := cpus
	for cpu := range cpus.All() {
		file := fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuFolder, cpu)
		text, err := optionalFile(k, file)
		if err != nil {
			return all, err
		}
		siblings, err := cpulist.Parse(text)
		if err != nil {
			return all, fmt.Errorf("cannot read %s: %v", file, err)
		}
		all = all.Union(siblings)
	}
	return all, nil
}

// smtIsOn finds out whether cores run several threads. It is not switched on
// where it is off: who switched it off wants it so, and smt/control would bring
// other CPUs online with the siblings.
func smtIsOn(k kernel, cores []cpulist.Set) *Unsupported {
	if slices.ContainsFunc(cores, func(core cpulist.Set) bool { return core.Len() > 1 }) {
		return nil
	}
	control, err := optionalFile(k, smtControl)
	if err != nil {
		return &Unsupported{Reason: err.Error(), Hint: `leave "smt" out`}
	}
	if control == "off" {
		return &Unsupported{Reason: "SMT is switched off on this machine", Hint: "echo on > " + smtControl}
	}
	return &Unsupported{Reason: fmt.Sprintf("no core has a second thread (smt/control is %q)", control), Hint: `leave "smt" out`}
}

// siblingsToTake lists the CPUs that go offline: of every core all threads but
// one, which is the task's, or the first.
func siblingsToTake(cores []cpulist.Set, task cpulist.Set) (cpulist.Set, *Unsupported) {
	var off cpulist.Set
	for _, core := range cores {
		keep := core.First()
		if mine := core.Intersect(task); mine.Len() > 1 {
			return off, &Unsupported{Reason: fmt.Sprintf("%s of the task are threads of one core", named(mine)), Hint: "choose CPUs of different cores, or lower n"}
		} else if !mine.Empty() {
			keep = mine.First()
		}
		off = off.Union(core.Minus(cpulist.Of(keep)))
	}
	return off, nil
}

// canGoOffline refuses CPUs that have no switch, as the first one of x86.
func canGoOffline(k kernel, off cpulist.Set) *Unsupported {
	for cpu := range off.All() {
		if !exists(k, onlineFile(cpu)) {
			return &Unsupported{Reason: fmt.Sprintf("CPU %d cannot be taken offline", cpu), Hint: fmt.Sprintf("choose CPU %d for the task, rather than its sibling", cpu)}
		}
	}
	return nil
}

func onlineFile(cpu int) string { return fmt.Sprintf("%s/cpu%d/online", cpuFolder, cpu) }

func (l *smtLayer) enforce(r *applied) error {
	cores, online, err := readCores(r.kernel)
	if err != nil {
		return err
	}
	l.before = online
	if l.want {
		if u := smtIsOn(r.kernel, cores); u != nil {
			return u
		}
		return nil
	}
	off, u := siblingsToTake(cores, r.cpus)
	if u == nil && !off.Empty() {
		u = canGoOffline(r.kernel, off)
	}
	if u != nil {
		return u
	}
	if off.Empty() {
		return nil
	}
	h := hotplug{r: r, off: off, left: online.Minus(off)}
	if err := h.remember(); err != nil {
		return err
	}
	l.off = off
	for cpu := range off.All() {
		err := r.journal.SetAs(KindWords, onlineFile(cpu), "0", fmt.Sprintf("CPU %d", cpu))
		if errors.Is(err, syscall.EBUSY) {
			return &Unsupported{Reason: fmt.Sprintf("CPU %d cannot be taken offline now (%v)", cpu, err), Hint: "the kernel or a SCHED_DEADLINE task holds it"}
		}
		if err != nil {
			return err
		}
	}
	// No cpuset takes what is offline, and there is nothing left to fence.
	r.fenced = r.fenced.Minus(off)
	return nil
}

func (l *smtLayer) check(r *applied, _ moment) {
	online, err := readSet(r.kernel, cpuFolder+"/online")
	if l.want {
		cores, _, cerr := readCores(r.kernel)
		l.add(l.word(true), errors.Join(err, cerr), smtIsOn(r.kernel, cores) == nil, cpuFolder+"/smt")
		return
	}
	want := l.before.Minus(l.off)
	l.add(l.word(online.Intersects(l.off)), err, online.Equal(want), fmt.Sprintf("the online set, wanted %s,", want))
	if err == nil && !online.Equal(want) {
		l.readings.note = fmt.Sprintf("CPUs %s are online", online)
	}
}

func (*smtLayer) word(on bool) string { return strconv.FormatBool(on) }

func (l *smtLayer) state() LayerState {
	s := l.readings.state(l.key(), l.word(l.want))
	switch {
	case l.want:
	case l.off.Empty():
		s = s.with("no core has a second thread online")
	default:
		s = s.with(named(l.off) + " taken offline")
	}
	return s
}

// maxCgroups bounds a walk: a machine with more is not one that is measured.
const maxCgroups = 100_000
