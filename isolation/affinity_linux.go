package isolation

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"goset/cpulist"
	"goset/host"
)

// maxMask bounds the mask that the kernel is asked for, in CPUs. Linux is built
// for 8,192 at most.
const maxMask = 1 << 20

// Allowed returns the CPUs that this process may use and that are online:
// sched_getaffinity of its main thread, which cpusets and containers narrow.
// While threads are kept off a task's CPUs (KeepOff), it is what they kept.
func Allowed() (cpulist.Set, error) {
	return host.Affinity(os.Getpid())
}

// usable returns the CPUs that a task may be given by name: Allowed, and the
// CPUs of isolcpus= where this process has the kernel's default mask. These are
// taken by whoever names them, and by nobody else.
func usable() (cpulist.Set, error) {
	allowed, err := Allowed()
	if err != nil {
		return allowed, err
	}
	top, err := host.Local.Arrangement()
	if err != nil {
		// Without sysfs (a bare container) nobody tells of isolated CPUs.
		return allowed, nil //nolint:nilerr // what is allowed is known all the same
	}
	return top.Reachable(allowed), nil
}

// affinity reads the mask of a thread; 0 is the calling one. The kernel refuses
// a mask that is narrower than its own, whose width it does not tell.
func affinity(tid int) (unix.CPUSetDynamic, error) {
	for width := 1024; ; width *= 2 {
		mask := unix.NewCPUSet(width)
		err := unix.SchedGetaffinityDynamic(tid, mask)
		if err == nil || !errors.Is(err, unix.EINVAL) || width >= maxMask {
			return mask, err
		}
	}
}

// setAffinity sets the mask of a thread; 0 is the calling one. CPUs that the
// kernel does not let it use drop out in silence, so who needs all of them
// reads back.
func setAffinity(tid int, mask unix.CPUSetDynamic) error {
	return unix.SchedSetaffinityDynamic(tid, mask)
}

// maskOf turns a set into the kernel's form.
func maskOf(s cpulist.Set) unix.CPUSetDynamic {
	cpus := s.CPUs()
	width := 1024
	if len(cpus) > 0 {
		width = max(width, cpus[len(cpus)-1]+1)
	}
	mask := unix.NewCPUSet(width)
	for _, cpu := range cpus {
		mask.Set(cpu)
	}
	return mask
}

// setOf turns the kernel's form into a set.
func setOf(mask unix.CPUSetDynamic) cpulist.Set {
	var cpus []int
	for left, cpu := mask.Count(), 0; left > 0; cpu++ {
		if mask.IsSet(cpu) {
			cpus = append(cpus, cpu)
			left--
		}
	}
	return cpulist.Of(cpus...)
}

// whyLacking says of CPUs that this process may not use which are not there,
// which are offline, and which are kept from it.
func whyLacking(lacking cpulist.Set) string {
	var parts []string
	say := func(s cpulist.Set, what string) {
		if !s.Empty() {
			verb := " are "
			if s.Len() == 1 {
				verb = " is "
			}
			parts = append(parts, named(s)+verb+what)
		}
	}
	top, err := host.Local.Topology()
	if err != nil || top.Present == nil {
		// Without sysfs (a bare container) the cause cannot be told.
		say(lacking, "not allowed")
		return strings.Join(parts, "; ")
	}
	absent := lacking.Minus(*top.Present)
	offline := lacking.Minus(absent).Minus(top.Online)
	say(absent, "not on this machine")
	say(offline, "offline")
	say(lacking.Minus(absent).Minus(offline), "not allowed to this process (its affinity or cpuset leaves them out)")
	return strings.Join(parts, "; ")
}
