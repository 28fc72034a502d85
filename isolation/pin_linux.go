package isolation

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"goset/cpulist"
)

// pin is a set of CPUs in the kernel's form, with what a read-back needs.
type pin struct {
	cpus cpulist.Set
	mask unix.CPUSetDynamic
	got  unix.CPUSetDynamic // scratch
	// narrow is true when the last read-back met a thread with a part of the
	// CPUs.
	narrow bool
}

// newPin sizes the scratch after the kernel's mask, so that a read-back costs
// one call.
func newPin(cpus cpulist.Set) pin {
	p := pin{cpus: cpus, mask: maskOf(cpus)}
	if own, err := affinity(0); err == nil && len(own) > len(p.mask) {
		wide := make(unix.CPUSetDynamic, len(own))
		copy(wide, p.mask)
		p.mask = wide
	}
	p.got = make(unix.CPUSetDynamic, len(p.mask))
	return p
}

// enter sets the mask of the calling thread and returns the way back.
func (p *pin) enter() (restore func() error, err error) {
	old, err := affinity(0)
	if err != nil {
		return nil, err
	}
	if err := setAffinity(0, p.mask); err != nil {
		return nil, err
	}
	return func() error { return setAffinity(0, old) }, nil
}

// readBack reads the mask of every thread of a process.
func (p *pin) readBack(pid int, seen *readBacks) {
	p.narrow = false
	p.readThreads(pid, seen)
	if p.narrow && seen.elsewhere == "" {
		seen.elsewhere = p.withheld(pid)
	}
}

func (p *pin) readThreads(pid int, seen *readBacks) {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		// Without its folder (gone, or hidden by hidepid) the main thread
		// may still answer.
		p.readThread(pid, pid, seen)
		return
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil || len(names) == 0 {
		p.readThread(pid, pid, seen)
		return
	}
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			p.readThread(pid, tid, seen)
		}
	}
}

// withheld says which of the CPUs a process cannot have, whatever it asks for:
// they went offline, or its cpuset leaves them out. The kernel then narrows masks
// in silence, as a task does that binds its own threads. "": none, or it cannot
// be told.
func (p *pin) withheld(pid int) string {
	k := machine{}
	online, err := everyone(k)
	if err == nil && !p.cpus.SubsetOf(online) {
		return fmt.Sprintf("%s offline", isOrAre(p.cpus.Minus(online)))
	}
	if home, err := cpusetOf(k, pid); err == nil && !home.Empty() && !p.cpus.SubsetOf(home) {
		return fmt.Sprintf("the cpuset of process %d has no %s", pid, named(p.cpus.Minus(home)))
	}
	return ""
}

// readThread reads the mask of one thread; one that has ended has none.
func (p *pin) readThread(pid, tid int, seen *readBacks) {
	clear(p.got)
	if err := unix.SchedGetaffinityDynamic(tid, p.got); err != nil {
		return
	}
	seen.count++
	if slices.Equal(p.got, p.mask) {
		if !seen.whole {
			seen.whole = true
			seen.achieved = seen.achieved.Union(p.cpus)
		}
		return
	}
	got := setOf(p.got)
	seen.achieved = seen.achieved.Union(got)
	switch {
	case !got.Minus(p.cpus).Empty():
		if seen.elsewhere == "" {
			seen.elsewhere = fmt.Sprintf("thread %d of process %d was allowed on %s", tid, pid, named(got))
		}
	default:
		p.narrow = true
		if seen.narrowed != "" {
			return
		}
		seen.narrowed = fmt.Sprintf("thread %d of process %d kept to %s", tid, pid, named(got))
	}
}

// calls is how a child sets its own mask.
func (p *pin) calls() []Call {
	mask := slices.Clone(p.mask)
	return []Call{{
		Layer: layerCPUs, What: "set the affinity to " + p.cpus.String(), Nr: unix.SYS_SCHED_SETAFFINITY,
		Args: [5]uintptr{0, uintptr(len(mask)) * unsafe.Sizeof(mask[0]), uintptr(unsafe.Pointer(&mask[0]))}, Hold: mask,
	}}
}
