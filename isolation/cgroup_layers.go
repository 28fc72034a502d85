package isolation

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"goset/cpulist"
)

// cgroupLayer puts the task into a cpuset of its own: in version 2 a partition
// directly below the root, in version 1 a cpuset below the own one.
type cgroupLayer struct {
	machineLayer
	asked    string
	sets     cpusets
	dir, job string   // the partition; the cgroup inside in which the task runs
	want     string   // the partition word that holds; "" in version 1
	passed   []string // what was tried before it, and why it did not hold
	// knowsIsolated: the kernel took the word, whatever came of it.
	knowsIsolated bool
	unmoved       int         // kernel threads that stay on the CPUs
	lost          cpulist.Set // offline until the next boot: all threads lose them
	place         placement
	seen          cgroupSeen
}

// cgroupSeen is what the checks found.
type cgroupSeen struct {
	count    int
	fault    string // the first thing that was not as wanted
	achieved string
	caveat   string // who else may run there
	threads  int    // the most that the task had at once
	crowded  bool   // there were CPUs to spread them over
}

func newCgroupLayer(r *applied) layer {
	if r.mode.Cgroup == "" {
		return nil
	}
	return &cgroupLayer{asked: r.mode.Cgroup}
}

func (l *cgroupLayer) key() string { return "cgroup" }

func (l *cgroupLayer) probe(r *applied) *Unsupported {
	if r.unpinned() {
		return &Unsupported{Reason: "a cpuset needs CPUs, and this run has none", Hint: `add cpus = "quietest"`}
	}
	sets, err := findCpusets(r.kernel)
	var u *Unsupported
	if errors.As(err, &u) {
		return u
	}
	l.sets = sets
	if !sets.unified && (l.asked == cgroupRoot || l.asked == cgroupIsolated) {
		return &Unsupported{Reason: "cpusets of version 1 have no partitions", Hint: `use cgroup = true, and shield = true to keep others off, or boot with the unified hierarchy`}
	}
	return l.place.probe(sets.unified)
}

func (l *cgroupLayer) enforce(r *applied) error {
	id, err := newID()
	if err != nil {
		return err
	}
	l.dir = path.Join(l.sets.root, id)
	make := l.makeV1
	if l.sets.unified {
		make = l.makeV2
	}
	if err := make(r); err != nil {
		return err
	}
	r.cgroup, r.partition, r.passed = l.job, l.want, l.passed
	if l.unmoved, err = moveKernel(r, l.want); err != nil {
		return err
	}
	return l.place.open(r.kernel, l.job, l.sets.unified)
}

// makeV1 makes a cpuset of version 1. The nodes come before the CPUs, and both
// before the task: an empty cpuset takes nobody.
func (l *cgroupLayer) makeV1(r *applied) error {
	mems, err := r.kernel.readFile(l.sets.file(l.sets.root, "mems"))
	if err != nil {
		return fmt.Errorf("cannot read the memory nodes of the own cpuset: %w", err)
	}
	l.job = l.dir
	return firstError(
		func() error { return r.journal.SetAs(KindCgroup, l.dir, valuePresent, "of the task") },
		func() error { return r.journal.Set(KindAttribute, l.sets.file(l.dir, "mems"), mems) },
		func() error { return r.journal.Set(KindAttribute, l.sets.file(l.dir, "cpus"), r.cpus.String()) },
	)
}

// makeV2 makes the partition, tries the words that are wanted, strongest first,
// and makes the cgroup of the task inside.
func (l *cgroupLayer) makeV2(r *applied) error {
	if err := l.loss(r); err != nil {
		return err
	}
	if err := rememberBystanders(r, l.sets); err != nil {
		return err
	}
	control := func(dir string) string { return path.Join(dir, "cgroup.subtree_control") + "#cpuset" }
	err := firstError(
		func() error { return r.journal.Set(KindController, control(l.sets.root), valueOn) },
		func() error { return r.journal.SetAs(KindCgroup, l.dir, valuePresent, "the partition") },
		func() error { return r.journal.Set(KindAttribute, l.sets.file(l.dir, "cpus"), r.fenced.String()) },
		func() error { return l.partition(r) },
		// With the controller in use below it, nobody can take the partition
		// away by switching the controller off at the root, as systemd does
		// whenever it goes through its units: the kernel then says EBUSY.
		func() error { return r.journal.Set(KindController, control(l.dir), valueOn) },
	)
	if err != nil {
		return err
	}
	// Never a task in the partition itself: it would become a threaded domain
	// and the cgroup inside invalid.
	l.job = path.Join(l.dir, jobName)
	if err := r.journal.SetAs(KindCgroup, l.job, valuePresent, "of the task"); err != nil {
		return err
	}
	if r.cpus.Equal(r.fenced) {
		return nil
	}
	return r.journal.Set(KindAttribute, l.sets.file(l.job, "cpus"), r.cpus.String())
}

// partition writes the strongest word that holds. A write that succeeds says
// nothing: the kernel takes the word and shows "isolated invalid (reason)".
func (l *cgroupLayer) partition(r *applied) error {
	words := []string{l.asked}
	if l.asked == cgroupTrue {
		words = []string{cgroupIsolated, cgroupRoot, cgroupMember}
	}
	for _, word := range words {
		harm, err := l.harm(r, word)
		if err != nil {
			return err
		}
		if harm != "" {
			l.passed = append(l.passed, fmt.Sprintf("%s: %s", word, harm))
			continue
		}
		mark := r.journal.Mark()
		why, err := l.try(r, word)
		if err != nil {
			return err
		}
		if why == "" {
			l.want = word
			return nil
		}
		l.passed = append(l.passed, fmt.Sprintf("%s: %s", word, why))
		if u := r.journal.UndoTo(mark); u.Err != nil {
			return u.Err
		}
	}
	return &Unsupported{Reason: "the kernel makes no partition of " + named(r.fenced) + ": " + strings.Join(l.passed, "; "), Hint: partitionHint(l.passed)}
}

// harm says what making a partition would break for good.
//
// Kernels before 6.1 change the CPUs of everybody outside, those of the workers
// that belong to a CPU too, and nobody can bind these again (seen on 5.10). What
// mended it came with the word "isolated", so that a kernel that knows the word
// does no harm. Kernels before 6.8 change those of unbound workers that isolcpus=,
// nohz_full= or an administrator keeps off some CPUs (seen on 6.1); from 6.8 on
// workers follow partitions. Kernels from 6.17 to 7.1 forget with a partition of
// CPUs of isolcpus= that these are isolated without it, too (cpuset.cpus.isolated
// of the root; seen on 6.17, 6.18, 6.19, 7.0 and 7.1). Earlier ones make none of
// such CPUs, and later ones remember.
func (l *cgroupLayer) harm(r *applied, word string) (string, error) {
	if word == cgroupMember {
		return "", nil
	}
	rel, err := kernelRelease(r.kernel)
	if err != nil {
		return "", err
	}
	if word == cgroupRoot && rel.before(6, 1) && !l.knowsIsolated {
		return "a kernel before 6.1 would let its workers leave their CPUs for good", nil
	}
	if !rel.before(6, 17) && rel.before(7, 2) {
		return forgotten(r)
	}
	if exists(r.kernel, workqueueRequested) {
		return "", nil
	}
	kept, err := keptFromWorkers(r.kernel)
	if err != nil || kept.Empty() {
		return "", err
	}
	return fmt.Sprintf("a kernel before 6.8 would let its workers onto %s for good, which they are kept off", named(kept)), nil
}

// forgotten says which CPUs of a run are isolated since boot, and would not be
// any more.
func forgotten(r *applied) (string, error) {
	text, err := optionalFile(r.kernel, cpuFolder+"/isolated")
	if err != nil {
		return "", err
	}
	isolated, err := cpulist.Parse(text)
	if lost := isolated.Intersect(r.fenced); err == nil && !lost.Empty() {
		return "a kernel before 7.2 would forget the isolation since boot of " + named(lost), nil
	}
	return "", err
}

// try writes one word and says why it does not hold; "" when it does.
func (l *cgroupLayer) try(r *applied, word string) (why string, err error) {
	err = r.journal.Set(KindPartition, l.sets.file(l.dir, "cpus.partition"), word)
	var refused *SetError
	switch {
	case errors.As(err, &refused) && refused.Got != "":
		l.knowsIsolated = l.knowsIsolated || word == cgroupIsolated
		return reasonOf(refused.Got), nil
	case errors.As(err, &refused):
		return refused.Err.Error(), nil
	case err != nil:
		return "", err
	}
	effective, err := readSet(r.kernel, l.sets.file(l.dir, "cpus.effective"))
	if err != nil {
		return "", err
	}
	if !effective.Equal(r.fenced) {
		// Kernels from 7 on make a partition of what is left of the CPUs.
		return fmt.Sprintf("it would have only %s", named(effective)), nil
	}
	return "", nil
}

// reasonOf takes the reason out of "isolated invalid (reason)".
func reasonOf(text string) string {
	_, rest, ok := strings.Cut(text, "(")
	if !ok {
		return text
	}
	return strings.TrimSuffix(rest, ")")
}

// partitionHint knows the way out for the reasons that have one.
func partitionHint(reasons []string) string {
	all := strings.Join(reasons, " ")
	switch {
	case strings.Contains(all, "not exclusive"):
		return "a cgroup beside it names some of these CPUs: see AllowedCPUs= of the slices in systemd, or choose other CPUs"
	case strings.Contains(all, "unable to distribute"):
		return "leave a CPU to the rest of the machine: lower n"
	case strings.Contains(all, "housekeeping"), strings.Contains(all, "since boot"):
		return `CPUs of isolcpus= are kept free by the kernel already: use cgroup = true or "member"`
	case strings.Contains(all, "before 6.8"):
		return `use cgroup = true or "member"`
	case strings.Contains(all, "before 6.1"), strings.Contains(all, "invalid argument"):
		return `this kernel has no partitions that are safe to make: use cgroup = true or "member", or kernel 6.1 or later`
	}
	return "use cgroup = true for the strongest that holds"
}

func (l *cgroupLayer) check(r *applied, at moment) {
	l.seen.count++
	l.seen.caveat = l.caveat(r)
	fault := l.look(r, at)
	if fault != "" && l.seen.fault == "" {
		l.seen.fault = fault
	}
}

// look compares what is in force with what was wanted, and says what is not.
func (l *cgroupLayer) look(r *applied, at moment) string {
	want, name := r.cpus, "cpus.effective"
	if l.sets.unified {
		want = r.fenced
		text, err := r.kernel.readFile(l.sets.file(l.dir, "cpus.partition"))
		if err != nil {
			return fmt.Sprintf("the partition is gone: %v", err)
		}
		l.seen.achieved = text
		if !sameWords(text, l.want) {
			return fmt.Sprintf("the partition became %q", text)
		}
	} else {
		l.seen.achieved = "cpuset of version 1"
		if !r.shielded {
			l.seen.achieved += ", open to others"
		}
		if !exists(r.kernel, l.sets.file(l.dir, name)) {
			name = "effective_cpus"
		}
	}
	effective, err := readSet(r.kernel, l.sets.file(l.dir, name))
	switch {
	case err != nil:
		return fmt.Sprintf("its CPUs cannot be read: %v", err)
	case !effective.Equal(want):
		return fmt.Sprintf("its CPUs became %s", named(effective))
	}
	if at.phase == duringRun {
		return l.inside(r, at.pid)
	}
	return ""
}

// inside says whether the child is where it belongs.
func (l *cgroupLayer) inside(r *applied, pid int) string {
	text, err := r.kernel.readFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || ended(r.kernel, pid) {
		return "" // in version 1 one that has ended is at the root
	}
	controller, root := "", l.sets.root
	if !l.sets.unified {
		controller, root = "cpuset", l.sets.mount
	}
	p, err := cgroupPath(text, controller)
	if err != nil {
		return err.Error()
	}
	if p = strings.TrimSuffix(p, " (deleted)"); !strings.HasSuffix(p, strings.TrimPrefix(l.job, root)) {
		return fmt.Sprintf("process %d was moved to cgroup %q", pid, p)
	}
	if threads, err := r.kernel.readFile(path.Join(l.job, l.threadsFile())); err == nil {
		l.seen.threads = max(l.seen.threads, len(strings.Fields(threads)))
		l.seen.crowded = l.seen.threads > 1 && r.cpus.Len() > 1
	}
	return ""
}

// ended tells a process that has ended, reaped or not.
func ended(k kernel, pid int) bool {
	text, err := k.readFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	stat, err := parseTaskStat(text)
	return err == nil && stat.ended
}

// threadsFile lists the threads of a cgroup.
func (l *cgroupLayer) threadsFile() string {
	if l.sets.unified {
		return "cgroup.threads"
	}
	return "tasks"
}

func (l *cgroupLayer) state() LayerState {
	s := LayerState{Layer: "cgroup", Asked: l.asked, Achieved: l.seen.achieved, Held: l.seen.count > 0 && l.seen.fault == ""}
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if l.seen.fault != "" {
		note("%s", l.seen.fault)
	}
	for _, p := range l.passed {
		note("not %s", p)
	}
	if !l.lost.Empty() {
		note("%s off until the next boot, and no longer in the masks of threads", isOrAre(l.lost))
	}
	if l.unmoved > 0 {
		note("%s cannot leave the CPUs", counted(l.unmoved, "kernel thread"))
	}
	if l.seen.caveat != "" {
		note("%s", l.seen.caveat)
	}
	s.Note, s.Warning = strings.Join(notes, "; "), l.seen.caveat
	if l.want == cgroupIsolated && l.seen.crowded {
		s.Warning = fmt.Sprintf("the task has %d threads in an isolated partition, in which the kernel does not spread them over the CPUs: let it pin each, or use cgroup = \"root\"", l.seen.threads)
	}
	return s
}

func (l *cgroupLayer) birth(r *applied, b *Birth) error {
	l.place.birth(b)
	return nil
}

func (l *cgroupLayer) close() error { return l.place.close() }

// firstError does one thing after the other until one fails.
func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// placement is how a child gets into a cgroup: born there where the kernel can
// (clone3 with CLONE_INTO_CGROUP, 5.7), else by writing itself into it before
// its exec.
type placement struct {
	born  bool
	dir   *os.File // the cgroup, to be born in
	procs *os.File // its cgroup.procs, to write to
	zero  []byte
}

func (p *placement) close() error {
	var errs []error
	for _, f := range []*os.File{p.dir, p.procs} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	p.dir, p.procs = nil, nil
	return errors.Join(errs...)
}

// everyone is the CPUs that are there for all.
func everyone(k kernel) (cpulist.Set, error) { return readSet(k, "/sys/devices/system/cpu/online") }
