package host

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"goset/cpulist"
)

// Affinity reads the CPUs that thread tid may run on; 0 is the calling thread.
// The kernel refuses a buffer that is too short for all CPUs that could exist,
// so that the buffer grows until it fits (sched_getaffinity(2)).
func Affinity(tid int) (cpulist.Set, error) {
	for size := 1024; size <= 2*(cpulist.MaxCPU+1); size *= 2 {
		mask := unix.NewCPUSet(size)
		err := unix.SchedGetaffinityDynamic(tid, mask)
		if errors.Is(err, unix.EINVAL) {
			continue
		}
		if err != nil {
			return cpulist.Set{}, fmt.Errorf("cannot read the affinity of thread %d: %w", tid, err)
		}
		var cpus []int
		for cpu := range min(size, cpulist.MaxCPU+1) {
			if mask.IsSet(cpu) {
				cpus = append(cpus, cpu)
			}
		}
		return cpulist.Of(cpus...), nil
	}
	return cpulist.Set{}, fmt.Errorf("cannot read the affinity of thread %d: the kernel has more than %d CPUs", tid, cpulist.MaxCPU+1)
}
