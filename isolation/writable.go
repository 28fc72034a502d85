package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// writer is a layer that knows after its probe which kernel files and folders a
// run of it writes to.
type writer interface {
	layer
	writes(r *applied) []string
}

// closed refuses a layer one of whose files this process cannot write: containers
// mount /sys, the cgroups and parts of /proc read-only, and root without the
// capabilities is refused as anybody is. Nothing is written to find out. Files that
// are not there are the probe's business.
func (r *applied) closed(l layer) *Unsupported {
	w, ok := l.(writer)
	if !ok {
		return nil
	}
	for _, file := range w.writes(r) {
		err := r.kernel.writable(file)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		way := "run it as root of the machine, not of a container"
		if errors.Is(err, syscall.EROFS) {
			way = "run it on the host, or where that is mounted writable, as in docker run --privileged"
		}
		return &Unsupported{Reason: fmt.Sprintf("cannot write %s: %v", file, reasonFor(err)), Hint: fmt.Sprintf("%s; or leave %q out", way, l.key())}
	}
	return nil
}

// reasonFor is the cause of an error without its path.
func reasonFor(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func (l *cgroupLayer) writes(r *applied) []string {
	files := []string{l.sets.root}
	if l.sets.unified {
		files = append(files, controllerFile(r.kernel, l.sets.root, "cpuset")...)
	}
	// Isolated partitions take the workqueues along since 6.8; see moveKernel.
	if l.sets.unified && l.asked != cgroupRoot && l.asked != cgroupMember && exists(r.kernel, workqueueRequested) {
		return files
	}
	if mask, err := workersMask(r.kernel); err == nil && (r.fenced.Empty() || mask.Intersects(r.fenced) && !mask.SubsetOf(r.fenced)) {
		files = append(files, workqueueMask)
	}
	return files
}

// controllerFile is where a controller is switched on for the cgroups below; none
// where it is on.
func controllerFile(k kernel, dir, controller string) []string {
	file := dir + "/cgroup.subtree_control"
	if state, err := readController(k, file+"#"+controller); err == nil && state == valueOn {
		return nil
	}
	return []string{file}
}

func (l *shieldLayer) writes(*applied) []string {
	return []string{l.sets.root, l.sets.file(l.sets.root, "sched_load_balance")}
}

func (l *limitLayer) writes(r *applied) []string {
	files := []string{l.group.root}
	if l.group.unified {
		files = append(files, controllerFile(r.kernel, l.group.root, l.limit.controller)...)
	}
	return files
}

// writes of steering are the default mask and the mask of any interrupt: all lie
// on one mount, and which of them a run has to move is not known before it.
func (l *steerLayer) writes(r *applied) []string {
	files := []string{defaultMaskFile}
	if irqs, err := irqNumbers(r.kernel); err == nil && len(irqs) > 0 {
		files = append(files, affinityFile(irqs[0]))
	}
	return files
}

// writes of SMT are the switches of the CPUs that go offline, and interrupts that
// are bound to these alone.
func (l *smtOffLayer) writes(r *applied) []string {
	cores, _, err := readCores(r.kernel)
	if err != nil {
		return nil
	}
	off, u := siblingsToTake(cores, r.cpus)
	if u != nil || off.Empty() {
		return nil
	}
	var files []string
	for cpu := range off.All() {
		files = append(files, onlineFile(cpu))
	}
	irqs, err := irqNumbers(r.kernel)
	if err != nil {
		return files
	}
	for _, n := range irqs {
		if mask, err := readSet(r.kernel, affinityFile(n)); err == nil && !mask.Empty() && mask.SubsetOf(off) {
			files = append(files, affinityFile(n))
		}
	}
	return files
}

func (l *turboLayer) writes(r *applied) []string {
	switches, err := turboSwitches(r.kernel)
	if err != nil {
		return nil
	}
	var files []string
	for _, s := range switches {
		if now, err := r.kernel.readFile(s.file); err != nil || now != s.value(l.want) {
			files = append(files, s.file)
		}
	}
	return files
}

func (l *governorLayer) writes(r *applied) []string {
	policies, u := taskPolicies(r, l.key())
	if u != nil {
		return nil
	}
	var files []string
	for _, p := range policies {
		if p.governor != l.want {
			files = append(files, p.file("scaling_governor"))
		}
	}
	return files
}

func (l *frequencyLayer) writes(r *applied) []string {
	held, u := l.targets(r)
	if u != nil {
		return nil
	}
	var files []string
	for _, p := range held {
		if p.least != p.khz || p.most != p.khz {
			files = append(files, p.file("scaling_min_freq"), p.file("scaling_max_freq"))
		}
	}
	return files
}
