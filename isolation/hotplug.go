package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"goset/cpulist"
)

// hotplug is a set of CPUs about to go offline, and what names them.
type hotplug struct {
	r         *applied
	off, left cpulist.Set
}

// remember puts everything into the journal that the kernel is about to
// overwrite, and moves interrupts away before it does. The journal is replayed
// backwards, so what stands here is put back when the CPUs are online again.
func (h *hotplug) remember() error {
	for _, step := range []func() error{h.threads, h.interrupts, h.cpusets} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// interrupts gives those that are bound to the CPUs alone the others. What the
// kernel would give them cannot be foreseen: the default mask, or, while a write
// waits for the next interrupt to be in force, the mask from before it
// (kernel/irq/migration.c: irq_fixup_move_pending). Of those that cannot be moved
// now it is taken to be the default.
func (h *hotplug) interrupts() error {
	irqs, err := irqNumbers(h.r.kernel)
	if err != nil {
		return err
	}
	for _, n := range irqs {
		file := affinityFile(n)
		mask, err := readSet(h.r.kernel, file)
		if isGone(err) || errors.Is(err, syscall.EIO) {
			continue
		}
		if err != nil {
			return err
		}
		if mask.Empty() || !mask.SubsetOf(h.off) {
			continue
		}
		err = h.r.journal.Set(KindIRQ, file, h.left.String())
		if isRefusal(err) {
			err = h.r.journal.Remember(KindSpread, file, h.left.String(), "")
		}
		if err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// threads remembers those that the kernel is about to give other CPUs; see loses.
func (h *hotplug) threads() error {
	rel, err := kernelRelease(h.r.kernel)
	if err != nil {
		return err
	}
	everybody := h.r.mode.Cgroup != "" && rel.before(6, 2)
	present, err := readSet(h.r.kernel, cpuFolder+"/present")
	if err != nil && !isGone(err) {
		return err
	}
	since, err := h.r.kernel.ticks()
	if err != nil {
		return err
	}
	some := !present.SubsetOf(h.off.Union(h.left))
	return eachTask(h.r.kernel, func(t task) error {
		kind := h.loses(t, everybody, some)
		if kind == "" {
			return nil
		}
		becomes, err := h.comesTo(t)
		if err == nil {
			err = h.r.journal.rememberTask(kind, t, becomes, since)
		}
		if isGone(err) {
			return nil
		}
		return err
	})
}

// loses says as what a thread goes into the journal; "": it comes out of it with
// the CPUs that it has.
//
// One that is bound to the CPUs alone does not. Nor do threads of the kernel that
// have not all CPUs, or all when some are offline before: whenever a CPU comes
// online, the kernel gives some of them those that are there, whatever they were
// bound to (mm/compaction.c: kcompactd_cpu_online; kernel/kthread.c:
// kthreads_online_cpu). And before kernel 6.2, where a cpuset is to be made while
// the CPUs are away (everybody), nor does anybody who may run on them: all threads
// get the CPUs that are there at that moment, for good. Threads of the kernel that
// stay with their CPU lose nothing, and the thread of an interrupt goes where its
// interrupt goes.
func (h *hotplug) loses(t task, everybody, someOffline bool) Kind {
	kernels := t.flags&flagKthread != 0
	switch {
	case t.bound() || t.cpus.Empty() || kernels && strings.HasPrefix(t.name, "irq/"):
		return ""
	case kernels && (someOffline || !h.off.Union(h.left).SubsetOf(t.cpus)):
		return KindKthread
	case t.cpus.SubsetOf(h.off) || everybody && t.cpus.Intersects(h.off):
		return KindStranded
	}
	return ""
}

// comesTo says what a thread has in the end, as KindStranded has it: all CPUs
// of its cpuset that are left, or what is left of its own. A cpuset of which
// nothing is left hands its threads to its parent's CPUs, and at last to all.
func (h *hotplug) comesTo(t task) (string, error) {
	home, err := cpusetOf(h.r.kernel, t.tid)
	if err != nil {
		return "", err
	}
	least := home.Intersect(h.left)
	if least.Empty() {
		least = h.left
	}
	becomes := least.String()
	if rest := t.cpus.Intersect(h.left); !rest.Empty() {
		becomes += ";" + rest.String()
	}
	return becomes, nil
}

// cpusetOf reads the CPUs that the cpuset of a thread has; empty: it has no
// cpuset of its own, or none that can be seen.
func cpusetOf(k kernel, tid int) (cpulist.Set, error) {
	text, err := k.readFile(fmt.Sprintf("/proc/%d/cgroup", tid))
	if isGone(err) {
		return cpulist.Set{}, nil
	}
	if err != nil {
		return cpulist.Set{}, err
	}
	mounts, err := cgroupMounts(k)
	if err != nil {
		return cpulist.Set{}, err
	}
	for _, m := range mounts {
		controller := ""
		if !m.unified {
			controller = "cpuset"
		}
		dir, err := cgroupPath(text, controller)
		if err != nil || !m.unified && !m.has("cpuset") {
			continue
		}
		// The file of version 2 is missing where the controller is not on:
		// then the next ancestor decides.
		for ; ; dir = path.Dir(dir) {
			for _, name := range []string{"cpuset.cpus.effective", "cpuset.effective_cpus"} {
				set, err := readSet(k, m.file(dir, name))
				if err == nil && !set.Empty() {
					return set, nil
				}
				if err != nil && !isGone(err) {
					return set, err
				}
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return cpulist.Set{}, nil
}

// cpusets remembers the cpusets of version 1 that have the CPUs: they lose them
// for good. Children go into the journal before their parents, so that the undo
// widens parents first, as the kernel wants it.
func (h *hotplug) cpusets() error {
	mounts, err := cgroupMounts(h.r.kernel)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		switch {
		case m.unified:
			err = h.partitions(m.path)
		case m.has("cpuset"):
			// The root of the hierarchy follows the machine by itself.
			err = h.children(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// children remembers the cpusets below one, the deepest first.
func (h *hotplug) children(m cgroupMount) error {
	name := "/cpuset.cpus"
	if m.has("noprefix") {
		name = "/cpus"
	}
	return eachCgroupBelow(h.r.kernel, m.path, func(child string) error {
		file := child + name
		cpus, err := readSet(h.r.kernel, file)
		if isGone(err) || err == nil && !cpus.Intersects(h.off) {
			return nil
		}
		if err != nil {
			return err
		}
		if cpus.SubsetOf(h.off) {
			return &Unsupported{Reason: fmt.Sprintf("cpuset %s has no other CPUs than %s, and would lose its tasks when they go offline", child, cpus), Hint: "widen or remove it"}
		}
		return h.r.journal.Remember(KindCPUs, file, cpus.Minus(h.off).String(), "")
	})
}

// partitions refuses to touch the CPUs of other people's partitions: they come
// back with a CPU in two cpusets.
func (h *hotplug) partitions(dir string) error {
	return eachCgroupBelow(h.r.kernel, dir, func(child string) error {
		state, err := h.r.kernel.readFile(child + "/cpuset.cpus.partition")
		if err != nil || sameWords(state, "member") {
			return nil
		}
		cpus, err := readSet(h.r.kernel, child+"/cpuset.cpus.effective")
		if isGone(err) || err == nil && !cpus.Intersects(h.off) {
			return nil
		}
		if err != nil {
			return err
		}
		return &Unsupported{Reason: fmt.Sprintf("%s is a cpuset partition with %s, which would not survive that they go offline", child, named(cpus.Intersect(h.off))), Hint: "remove it first"}
	})
}

// eachCgroupBelow visits the cgroups below a folder, children before parents.
func eachCgroupBelow(k kernel, dir string, do func(dir string) error) error {
	visited := 0
	var walk func(dir string) error
	walk = func(dir string) error {
		if visited++; visited > maxCgroups {
			return fmt.Errorf("there are more than %d cgroups", maxCgroups)
		}
		names, err := k.entries(dir)
		if isGone(err) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			// Only folders have this file in them.
			child := dir + "/" + name
			if _, err := k.readFile(child + "/cgroup.procs"); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				continue
			}
			if err := walk(child); err != nil {
				return err
			}
			if err := do(child); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(dir)
}
